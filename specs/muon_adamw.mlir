// Muon on the matrices of the blocks, AdamW on embedding and head (K. Jordan et
// al., Muon, 2024: "embeddings and the final layer are best left to AdamW").
// Scales of Muon's step are matched to AdamW's by 0.2 sqrt(max(m, n)) (J. Liu et
// al., Muon is scalable for LLM training, arXiv:2502.16982), so that one
// learning rate and one decay serve both rules.

optim.spec @muon_adamw schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                       clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @muon  lr 3.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw lr 3.0e-3 wd 0.1
  optim.group @head      ["lm_head.weight"] uses @adamw lr 3.0e-3 wd 0.1
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
