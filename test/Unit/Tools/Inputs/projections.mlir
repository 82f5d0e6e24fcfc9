// RowNorm with both projections, and with either where a fact spares the other.

optim.spec @projections {
  optim.group @both  ["both.*"]  uses @rownorm lr 0.01
  optim.group @inner ["inner.*"] uses @rownorm lr 0.01 facts(#geo.shift_invariant)
  optim.group @outer ["outer.*"] uses @rownorm lr 0.01 facts(#geo.zero_column_sum)
}

optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %c  = geo.correct_bias %b1, %t {beta = 0.9}
  %s  = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1, %b1
}
