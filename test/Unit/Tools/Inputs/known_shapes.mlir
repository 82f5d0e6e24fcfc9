// Rules for the shapes and layouts that broke other libraries: groups by the first
// part of a name.

optim.spec @known_shapes {
  optim.group @conv    ["conv.*"]    uses @exact   lr 1.0 convolution
  optim.group @single  ["single.*"]  uses @exact   lr 1.0
  optim.group @cube    ["cube.*"]    uses @cube    lr 1.0
  optim.group @center  ["center.*"]  uses @center  lr 1.0
  optim.group @padded  ["padded.*"]  uses @ball    lr 1.0 split [50, 14]
  optim.group @head    ["head.*"]    uses @ball    lr 1.0
  optim.group @average ["average.*"] uses @average lr 1.0
}

optim.rule @exact(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %r  = geo.shape_scale %lr, %w {kind = "match_rms_adamw"}
  %s  = geo.spectral %gc radius(%r) {schedule = "jordan", steps = 2}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// (1/4 + X X^T) X of X = G / ||G||: a symmetric product, and one with its result.
optim.rule @cube(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = [[0.25, 1.0, 0.0]], steps = 1}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @center(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %c  = geo.center %gc
  %s  = geo.scale %c, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @ball(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.common_ball %gc radius(%lr) {eps = 1.0e-8}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @average(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %s  = geo.max_row %b1 radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}
