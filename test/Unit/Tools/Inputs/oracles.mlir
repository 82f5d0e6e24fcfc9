// The three forms of the row diameter; the radius of the first is lr rho, rho = 3.

optim.spec @oracles {
  optim.group @exact  ["exact.*"]  uses @exact  lr 1.0
  optim.group @repair ["repair.*"] uses @repair lr 1.0
  optim.group @relax  ["relax.*"]  uses @relax  lr 1.0
}

optim.rule @exact(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.5}
  %rho = arith.constant 3.0 : f32
  %r = arith.mulf %lr, %rho : f32
  %s, %lower, %upper = geo.row_diameter %b1 radius(%r) {form = "exact"}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}

// Fed by the gradient itself, clipped.
optim.rule @repair(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %lower, %upper = geo.row_diameter %gc radius(%lr) {form = "repair", steps = 3}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @relax(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %lower, %upper = geo.row_diameter %gc radius(%lr) {form = "relax"}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}
