// Muon for the matrices of all layers, which lie stacked in one tensor a kind,
// and AdamW for embedding and head; the rules are those of muon_adamw.mlir.

optim.spec @llm clip(#optim.global_norm<1.0>) {
  optim.group @layers ["layers.*"]      uses @muon  lr 1.0e-2 wd 0.1 stacked
  optim.group @ends   ["embed", "head"] uses @adamw lr 1.0e-2
}

// B <- 0.95 B + G, N = G + 0.95 B; five steps of Polar Express, arXiv:2505.16932.
optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r  = geo.shape_scale %lr, %w {kind = "match_rms_adamw"}
  %s  = geo.spectral %n radius(%r) {schedule = "polar_express", steps = 5,
      safety = 1.01, normalization = "scale_free", form = "auto"}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
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
