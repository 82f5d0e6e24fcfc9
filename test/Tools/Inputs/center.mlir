// A step whose increment is the gradient without its mean row.

optim.spec @mean { optim.group @all ["*"] uses @center lr 1.0 }
optim.rule @center(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.center %gc
  %w1 = geo.apply %w, %s
  optim.yield %w1
}
