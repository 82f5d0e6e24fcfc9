// One rule a geometry, fed by the gradient alone: what bench/GeometryTable
// compares. Of all, the increment is what counts; the weight is in the way.

optim.spec @geometries {
  optim.group @unused ["unused"] uses @common_ball lr 1.0
}

optim.rule @common_ball(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.common_ball %gc radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @row_diameter_exact(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s:3 = geo.row_diameter %gc radius(%lr) {form = "exact"}
  %w1 = geo.apply %w, %s#0
  optim.yield %w1
}

optim.rule @row_diameter_repair(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s:3 = geo.row_diameter %gc radius(%lr) {form = "repair", steps = 3}
  %w1 = geo.apply %w, %s#0
  optim.yield %w1
}

optim.rule @max_row(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.max_row %gc radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @max_column(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.max_column %gc radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @sign(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.sign %gc radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @frobenius(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.frobenius %gc radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @equalize(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.equalize %gc radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @clipped_row(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.clipped_row %gc radius(%lr) {clip = 3.0}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @equidistant(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %c  = geo.center %gc
  %s  = geo.equidistant %c radius(%lr) {rounds = 5, steps = 6}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @spectral_jordan(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "jordan", steps = 5}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @spectral_polar(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "polar_express", steps = 10, safety = 1.01}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// Muon-eq: rows of one length before the oracle.
optim.rule @spectral_rows_before(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %e  = geo.normalize_rows %gc
  %s  = geo.spectral %e radius(%lr) {schedule = "jordan", steps = 5}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// NorMuon's first step: rows of one length behind it.
optim.rule @spectral_rows_after(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %minus = arith.constant -1.0 : f32
  %o  = geo.spectral %gc radius(%minus) {schedule = "jordan", steps = 5}
  %s  = geo.max_row %o radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// SAMuon-lite, past its warm-up.
optim.rule @spectral_allocated(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %o  = geo.spectral %gc radius(%lr) {schedule = "samuon", steps = 4}
  %s  = geo.allocate %o, %gc radius(%lr) step(%t) {gain = 10.0, rank = 1, rounds = 10}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// The first step of AdamW is nearly the oracle of the largest entry.
optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
  %w1 = geo.apply %w, %s
  optim.yield %w1, %m1, %v1
}
