// Of a matrix of one column the second moment has the shape of the weight.
optim.spec @columns {
  optim.group @all ["*"] uses @moments lr 0.5 wd 0.1
}

optim.rule @moments(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%v "second_momentum_buffer": tensor<?x1xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %y, %v1 = geo.row_moment %gc, %v {beta = 0.95, eps = 1.0e-8}
  %s = geo.frobenius %y radius(%lr)
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %v1 : tensor<?x?xf32>, tensor<?x1xf32>
}
