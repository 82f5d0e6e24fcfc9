optim.spec @names {
  optim.group @all ["*"] uses @rownorm lr 3.2e-3
    facts(#geo.zero_column_sum, #geo.shift_invariant)
}
optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %c  = geo.correct_bias %b1, %t {beta = 0.95}
  %s  = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1, %b1
}
