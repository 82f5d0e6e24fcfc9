// One rule a coefficient schedule, with the constants of newton_schulz: no
// momentum, eps 1e-7, 12 cubic steps. With learning rate 1 the update is -O.

optim.spec @newton_schulz {
  optim.group @jordan        ["jordan"]        uses @jordan        lr 1.0
  optim.group @you           ["you"]           uses @you           lr 1.0
  optim.group @polar_express ["polar_express"] uses @polar_express lr 1.0
  optim.group @cubic         ["cubic"]         uses @cubic         lr 1.0
}

optim.rule @jordan(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s = geo.spectral %gc radius(%lr) {schedule = "jordan", steps = 5, eps = 1.0e-7}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @you(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s = geo.spectral %gc radius(%lr) {schedule = "you", steps = 5, eps = 1.0e-7}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @polar_express(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s = geo.spectral %gc radius(%lr) {schedule = "polar_express", steps = 5, safety = 1.05, eps = 1.0e-7}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}

optim.rule @cubic(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s = geo.spectral %gc radius(%lr) {schedule = "cubic", steps = 12, eps = 1.0e-7}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1
}
