// Rules whose inputs broke other libraries: groups by the first part of a name.

optim.spec @known_failures {
  optim.group @muon    ["muon.*"]    uses @muon    lr 1.0e-2
  optim.group @exact   ["exact.*"]   uses @exact   lr 1.0
  optim.group @adamw   ["adamw.*"]   uses @adamw   lr 1.0e-2
  optim.group @rownorm ["rownorm.*"] uses @rownorm lr 1.0
  optim.group @ball    ["ball.*"]    uses @ball    lr 1.0
}

optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %s  = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}

// No eps: blind to the scale of the gradient.
optim.rule @exact(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "jordan", steps = 5, eps = 0.0}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1
}

optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %c  = geo.correct_bias %b1, %t {beta = 0.95}
  %s  = geo.max_row %c radius(%lr) {eps = 0.0}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1, %b1
}

// No facts: both projections are compiled.
optim.rule @ball(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.common_ball %gc radius(%lr) {eps = 1.0e-8}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1
}
