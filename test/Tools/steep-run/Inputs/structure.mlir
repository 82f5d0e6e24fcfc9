// One rule, two structures.
optim.spec @structure {
  optim.group @experts ["*.experts"] uses @rows lr 1.0 stacked
  optim.group @kernels ["*.conv"] uses @rows lr 2 convolution
}

optim.rule @rows(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.5}
  %s = geo.max_row %b1 radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}
