// The baseline of the paper (arXiv:2608.22253): the recipe of specs/paper.mlir
// with AdamW on the head as well.
//
// Learning rates are those of the 190m model (d = 512); a trainer may override
// each group's. The head has its own group, though it uses the embedding's
// rule: at every other size its learning rate is another one.

optim.spec @paper_adamw schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                        clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @muon  lr 8.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw lr 4.0e-3 wd 0.1
  optim.group @head      ["lm_head.weight"] uses @adamw lr 4.0e-3 wd 0.1
}

// B <- 0.95 B + G, N = G + 0.95 B (Nesterov);
// W <- W (1 - lr wd) - lr sqrt(max(1, m/n)) NS5(N / (||N||_F + 1e-5)).
optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %s  = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  // The decay takes the learning rate before the shape factor.
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
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
