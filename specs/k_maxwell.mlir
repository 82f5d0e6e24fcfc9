// K-Maxwell (modded-nanogpt records of August 2026, K = 8): Muon whose momentum is,
// from update 1000 on, a mixture of eight averages, and whose weights drift from
// old averages to young ones over the 2250 updates that follow. Until the switch
// every average is Muon's own, and the step is Muon's bit for bit.
//
// Ages tau_k, log-spaced from 3 to 64, give rates tau/(tau + 1); weights are
// w_k = c k for k < 8 and the rest for the last, with mean age 58 at the switch and
// 26 at the end. The tables below are those of the record. Eight states a matrix:
// each is a parameter-shaped buffer of the checkpoint by its own name.
//
// The rest is specs/bi_maxwell.mlir, which is this with K = 2 and fixed weights.

optim.spec @k_maxwell schedule(#optim.warmup_cosine<warmup = 0.0, floor = 0.1>) {
  optim.group @backbone  ["blocks.*"]       uses @mixed_muon lr 2.5e-2 wd 5.0e-2
  optim.group @embedding ["embed.weight"]   uses @adamw      lr 4.0e-3 wd 1.0e-3
  optim.group @head      ["lm_head.weight"] uses @adamw      lr 4.0e-3 wd 1.0e-3
}

// M_k <- b_k M_k + (1 - b_k) G; M_eff = sum_k w_k(t) M_k; R = (1 - mu) G + mu M_eff;
// W <- W (1 - lr wd) - lr sqrt(max(1, m/n)) NS(R).
optim.rule @mixed_muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m1 "average_1": tensor<?x?xf32>, %m2 "average_2": tensor<?x?xf32>,
          %m3 "average_3": tensor<?x?xf32>, %m4 "average_4": tensor<?x?xf32>,
          %m5 "average_5": tensor<?x?xf32>, %m6 "average_6": tensor<?x?xf32>,
          %m7 "average_7": tensor<?x?xf32>, %m8 "average_8": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %n1 = geo.switched_ema %m1, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.75}
  %n2 = geo.switched_ema %m2, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.822852}
  %n3 = geo.switched_ema %m3, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.877930}
  %n4 = geo.switched_ema %m4, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.917599}
  %n5 = geo.switched_ema %m5, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.945181}
  %n6 = geo.switched_ema %m6, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.963894}
  %n7 = geo.switched_ema %m7, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.976379}
  %n8 = geo.switched_ema %m8, %gc step(%t) {beta = 0.95, switch_step = 1000, after = 0.984615}
  %e  = geo.mix %n1, %n2, %n3, %n4, %n5, %n6, %n7, %n8 step(%t)
      {weights = [0.005094, 0.010188, 0.015282, 0.020376, 0.025470, 0.030564, 0.035658, 0.857369],
       end_weights = [0.032262, 0.064524, 0.096786, 0.129047, 0.161309, 0.193571, 0.225833, 0.096669],
       start = 1000, anneal_steps = 2250}
  // The look-ahead takes the gradient itself, whatever is averaged.
  %r  = geo.ema %e, %gc {beta = 0.95}
  %radius = geo.shape_scale %lr, %w {kind = "original"}
  %d  = geo.spectral %r radius(%radius)
      {schedule = "polar_express", steps = 5, safety = 1.01, eps = 1.0e-7}
  %w1 = geo.apply %w, %d decay(%lr, %wd)
  optim.yield %w1, %n1, %n2, %n3, %n4, %n5, %n6, %n7, %n8
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
