optim.spec @triangles {
  optim.group @all ["*"] uses @triangle lr 0.1
}
optim.rule @triangle(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.common_ball %gc radius(%lr)
  %w1 = geo.apply %w, %s
  %ratio, %rows = geo.measure_certificate %gc
  %d = geo.measure_diameter %s
  %decrease = geo.measure_decrease %g, %s
  optim.yield %w1 measures(%ratio "certificate", %d "diameter", %decrease "decrease")
}
