// Oracles and settings that no shipped spec has; a group for each rule, by the
// first part of a name. No rule has momentum: an update is the oracle's answer.

optim.spec @geometries {
  optim.group @sign      ["sign.*"]      uses @sign      lr 0.5
  optim.group @frobenius ["frobenius.*"] uses @frobenius lr 0.5
  optim.group @column    ["column.*"]    uses @column    lr 0.5
  optim.group @standard  ["standard.*"]  uses @standard  lr 0.5
  optim.group @gram      ["gram.*"]      uses @gram      lr 0.5
  optim.group @steep     ["steep.*"]     uses @steep     lr 0.5
  optim.group @table     ["table.*"]     uses @table     lr 0.5
  optim.group @safe      ["safe.*"]      uses @safe      lr 0.5
  optim.group @free      ["free.*"]      uses @free      lr 0.5
  optim.group @plus      ["plus.*"]      uses @plus      lr 0.5
  optim.group @cautious  ["cautious.*"]  uses @cautious  lr 0.5 wd 0.2
}

optim.rule @sign(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.sign %gc radius(%lr) {eps = 0.25}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @frobenius(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.frobenius %gc radius(%lr) {eps = 0.25}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @column(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.max_column %gc radius(%lr) {eps = 1.0e-8}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @standard(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "jordan", steps = 5}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @gram(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "jordan", steps = 5, form = "gram"}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @steep(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "polar_express", steps = 10, safety = 1.05, form = "gram"}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @table(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = [[3.4445, -4.7750, 2.0315], [2.5, -2.0, 0.6]],
      steps = 4, then = "cubic", form = "gram", restarts = [1, 3]}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @safe(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "polar_express", steps = 5, safety = 1.01,
      normalization = "safety", eps = 1.0e-3}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @free(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "you", steps = 7,
      normalization = "scale_free", eps = 1.0e-3}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

// Muon+: rows are normalised behind the oracle.
optim.rule @plus(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %minus = arith.constant -1.0 : f32
  %o  = geo.spectral %gc radius(%minus) {schedule = "cubic", steps = 12}
  %s  = geo.max_row %o radius(%lr) {eps = 1.0e-7}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @cautious(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.sign %gc radius(%lr)
  %w1 = geo.apply %w, %s decay(%lr, %wd) {cautious}
  optim.yield %w1
}
