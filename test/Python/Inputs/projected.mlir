// RowNorm with both projections: the mean row of the average is carried.
optim.spec @projected {
  optim.group @head ["*"] uses @rownorm lr 1.0e-2
}
optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %s  = geo.common_ball %b1 radius(%lr)
  %u1 = geo.apply %u, %s
  optim.yield %u1, %b1
}
