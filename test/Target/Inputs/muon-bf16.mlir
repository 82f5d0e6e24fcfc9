optim.spec @rounded { optim.group @all ["*"] uses @muon lr 8.0e-3 wd 0.1 }

optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %s  = geo.spectral %n radius(%r) dot(bf16) {schedule = "jordan", steps = 2, eps = 1.0e-5}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}
