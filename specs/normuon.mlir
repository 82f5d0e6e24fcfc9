// NorMuon: Muon whose rows are balanced by their history (Z. Li et al., NorMuon:
// Making Muon more efficient and scalable, arXiv:2510.05491).
//
//   B <- 0.95 B + 0.05 G,  O = NS5(B)
//   v_i <- 0.95 v_i + 0.05 mean_j O_ij^2,  Y_ij = O_ij / (sqrt(v_i) + eps)
//   W <- W (1 - lr wd) - 0.2 lr sqrt(m n) Y / ||Y||_F
//
// The last line is the Frobenius ball's oracle of Y with radius 0.2 lr sqrt(m n),
// an increment of RMS 0.2 lr. The state has one moment a row.

optim.spec @normuon schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                    clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @spectral lr 3.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw    lr 3.0e-3 wd 0.1
  optim.group @head      ["lm_head.weight"] uses @adamw    lr 3.0e-3 wd 0.1
}

optim.rule @spectral(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>,
          %v "second_momentum_buffer": tensor<?x1xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  // An oracle's answer points downhill; of radius -1 it is the polar factor.
  %minus = arith.constant -1.0 : f32
  %o  = geo.spectral %b1 radius(%minus) {schedule = "jordan", steps = 5,
      normalization = "scale_free", form = "auto"}
  %y, %v1 = geo.row_moment %o, %v {beta = 0.95, eps = 1.0e-8}
  %rms = arith.constant 0.2 : f32
  %size = arith.mulf %lr, %rms : f32
  %r  = geo.shape_scale %size, %w {kind = "rms"}
  %s  = geo.frobenius %y radius(%r)
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1, %v1 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x1xf32>
}

// torch.optim.AdamW.
optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1
}
