// SAMuon-lite (Wu, Yu, Zhang, Woodland, arXiv:2608.25990): Muon whose step is ten
// times as large everywhere but in the leading singular direction of the momentum,
// which keeps its own. One pair, found by ten rounds of power iteration.
//
// Constants are those of specs/samuon.mlir, with the gain 10 that the paper finds best
// for the 124M model. Power iteration starts from the same vector at every step,
// which the paper leaves open. warmup_steps is 0.3 of 7083 updates: for a run of
// another length it has to be changed.

optim.spec @samuon_lite schedule(#optim.warmup_cosine<warmup = 0.0, floor = 0.1>) {
  optim.group @backbone  ["blocks.*"]       uses @allocated_muon lr 1.22e-2
  optim.group @embedding ["embed.weight"]   uses @adamw          lr 4.0e-3 wd 0.1
  optim.group @head      ["lm_head.weight"] uses @adamw          lr 4.0e-3 wd 0.1
}

// M <- mu M + (1 - mu) G, O = NS(M), O_SA = g O - (g - 1) u_1 v_1^T with the leading pair
// of M; W <- W - lr kappa O_SA.
optim.rule @allocated_muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %m1 = geo.ema %m, %gc {beta = 0.9}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %o  = geo.spectral %m1 radius(%r) {schedule = "samuon", steps = 4, eps = 1.0e-7}
  %s  = geo.allocate %o, %m1 radius(%r) step(%t)
      {gain = 10.0, rank = 1, rounds = 10, warmup_steps = 2125}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1
}

// torch.optim.AdamW: decoupled decay, bias correction of both averages.
optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1
}
