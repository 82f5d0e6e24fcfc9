// optax.contrib.muon with its defaults: matrices are stored inputs x outputs, and
// the average of Nesterov's look-ahead is corrected as of the next update.
//
//   m <- 0.95 m + 0.05 g
//   n  = 0.95 m / (1 - 0.95^(t+1)) + 0.05 g / (1 - 0.95^t)
//   w <- w (1 - lr wd) - lr sqrt(max(1, outputs/inputs)) NS5(n / (||n||_F + 1e-8))

optim.spec @optax_muon {
  optim.group @all ["*"] uses @muon lr 2.0e-2 wd 0.1
}

optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %m1 = geo.ema %m, %gc {beta = 0.95}
  %mc = geo.correct_bias %m1, %t {beta = 0.95, ahead = 1}
  %gd = geo.correct_bias %gc, %t {beta = 0.95}
  %n  = geo.ema %mc, %gd {beta = 0.95}
  %r  = geo.shape_scale %lr, %w {kind = "original_columns"}
  %s  = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-8}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1
}
