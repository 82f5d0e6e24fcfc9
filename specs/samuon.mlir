// SAMuon (Wu, Yu, Zhang, Woodland, arXiv:2608.25990): Muon whose step keeps its
// size in the leading singular direction of the momentum and grows with the rank
// in the directions after it, up to 7.07 times from rank 32 on.
//
// Constants of the paper at width 512: rank floor(32 sqrt(512/512)) = 32 (39, 50, 71
// at widths 768, 1280, 2560), gain 7.07, the momentum an average with rate 0.9
// without look-ahead, no decay, no clipping. Learning rate 0.0122 = 50 * 2^-12, times
// sqrt(m/n), as in the Scion code that it builds on. Its four-step polynomial is within
// 0.007 of 1 from 0.02 on: a gain enlarges the error of the head by as much, so that
// a coarser one is refused. The gain is reached over the first 30 % of the updates:
// warmup_steps is 0.3 of 7083, for a run of another length it has to be changed.
//
// Pairs come one after the other, each by 12 rounds of power iteration, where the
// paper has torch.svd_lowrank. Embedding and head have AdamW as in specs/paper_adamw.mlir;
// the paper has Scion's sign update there.

optim.spec @samuon schedule(#optim.warmup_cosine<warmup = 0.0, floor = 0.1>) {
  optim.group @backbone  ["blocks.*"]       uses @allocated_muon lr 1.22e-2
  optim.group @embedding ["embed.weight"]   uses @adamw          lr 4.0e-3 wd 0.1
  optim.group @head      ["lm_head.weight"] uses @adamw          lr 4.0e-3 wd 0.1
}

// M <- mu M + (1 - mu) G, O = NS(M), O_SA = g O - sum_{i <= k} (g - s_i) u_i v_i^T with the
// leading pairs of M; W <- W - lr kappa O_SA.
optim.rule @allocated_muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %m1 = geo.ema %m, %gc {beta = 0.9}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %o  = geo.spectral %m1 radius(%r) {schedule = "samuon", steps = 4, eps = 1.0e-7}
  %s  = geo.allocate %o, %m1 radius(%r) step(%t)
      {gain = 7.07, rank = 32, rounds = 12, warmup_steps = 2125}
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
