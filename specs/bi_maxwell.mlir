// Bi-Maxwell (Hu, Xiang, Gong, Yu, arXiv:2608.22994): Muon whose momentum is, from
// update 1000 on, a mixture of a fast and a slow average. Until then both are
// Muon's own average, and the step is Muon's bit for bit.
//
// Constants of the paper and of its modded-nanogpt record: mu 0.95, fast 0.85,
// slow 0.98, weight of the fast one 0.4385, switch at 1000; Muon's learning rate
// 0.025, decay 0.05. The record's polar factor is 12 steps of (2, -1.5, 0.5); a
// schedule that reaches the same band in five is used here. Embedding and head
// are AdamW with the learning rates of the paper recipe (arXiv:2608.22253), and
// its schedule, without the warm-up: the record's are those of its own model.

optim.spec @bi_maxwell schedule(#optim.warmup_cosine<warmup = 0.0, floor = 0.1>) {
  optim.group @backbone  ["blocks.*"]       uses @mixed_muon lr 2.5e-2 wd 5.0e-2
  optim.group @embedding ["embed.weight"]   uses @adamw      lr 4.0e-3 wd 1.0e-3
  optim.group @head      ["lm_head.weight"] uses @adamw      lr 4.0e-3 wd 1.0e-3
}

// M_f <- b_f M_f + (1 - b_f) G, M_s <- b_s M_s + (1 - b_s) G, where both rates are
// mu up to the switch; M_eff = w M_f + (1 - w) M_s; R = (1 - mu) G + mu M_eff;
// W <- W (1 - lr wd) - lr sqrt(max(1, m/n)) NS(R).
optim.rule @mixed_muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%f "fast_average": tensor<?x?xf32>, %s "slow_average": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %f1 = geo.switched_ema %f, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.85}
  %s1 = geo.switched_ema %s, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.98}
  %e  = geo.mix %f1, %s1 {weights = [0.4385, 0.5615]}
  // The look-ahead takes the gradient itself, whatever is averaged.
  %r  = geo.ema %e, %gc {beta = 0.95}
  %radius = geo.shape_scale %lr, %w {kind = "original"}
  %d  = geo.spectral %r radius(%radius)
      {schedule = "polar_express", steps = 5, safety = 1.01, eps = 1.0e-7}
  %w1 = geo.apply %w, %d decay(%lr, %wd)
  optim.yield %w1, %f1, %s1
}

// torch.optim.AdamW, with the betas of the record.
optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.8, beta2 = 0.95, eps = 1.0e-10}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1
}
