// The sides of matrices, with as little arithmetic as sees them all.

optim.spec @known_pairs {
  optim.group @spectral ["spectral.*"] uses @spectral lr 1.0
  optim.group @rows     ["rows.*"]     uses @rows     lr 1.0
}

optim.rule @spectral(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.spectral %gc radius(%lr) {schedule = "cubic", steps = 1}
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

optim.rule @rows(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) state() {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.max_row %gc radius(%lr)
  %w1 = geo.apply %w, %s
  optim.yield %w1
}
