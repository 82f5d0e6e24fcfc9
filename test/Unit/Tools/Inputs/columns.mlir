// Parameters whose matrices stand side by side, and the same matrices as
// parameters of their own.

optim.spec @columns clip(#optim.global_norm<1000.0>) {
  optim.group @qkv     ["qkv.*"]     uses @muon    lr 0.1 split [12, 5, 5] axis 1
  optim.group @heads   ["heads.*"]   uses @normuon lr 0.1 per_head 5 axis 1
  optim.group @experts ["experts.*"] uses @normuon lr 0.1 split [4, 6] axis 1 stacked
  optim.group @conv    ["conv.*"]    uses @normuon lr 0.1 split [4, 8] axis 1 convolution
  optim.group @single  ["single.*"]  uses @muon    lr 0.1
  optim.group @alone   ["alone.*"]   uses @normuon lr 0.1
}

// B <- 0.95 B + G, N = G + 0.95 B; W <- W (1 - lr wd) - lr sqrt(max(1, m/n)) NS5(N).
optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %s  = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  %d  = geo.dual_norm %n {ball = "frobenius"}
  optim.yield %w1, %b1 measures(%d "norm")
}

// A state of each size: one like the weight, one with a number a row.
optim.rule @normuon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>,
          %v "second_momentum_buffer": tensor<?x1xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.5}
  %minus = arith.constant -1.0 : f32
  %o  = geo.spectral %b1 radius(%minus) {schedule = "jordan", steps = 5}
  %y, %v1 = geo.row_moment %o, %v {beta = 0.5, eps = 1.0e-8}
  %r  = geo.shape_scale %lr, %w {kind = "rms"}
  %s  = geo.frobenius %y radius(%r)
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1, %v1 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x1xf32>
}
