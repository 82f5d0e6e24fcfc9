// Rules that no shipped spec has.

optim.spec @rules {
  optim.group @center   ["center.*"]   uses @center   lr 1.0
  optim.group @previous ["previous.*"] uses @previous lr 1.0
}

// The increment is the gradient without its mean row.
optim.rule @center(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.center %gc
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// States that remember the weight, the gradient and another state.
optim.rule @previous(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%a "last_gradient": tensor<?x?xf32>, %b "last_weight": tensor<?x?xf32>,
          %c "gradient_before": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.momentum %b, %c {beta = 0.5}
  %w1 = geo.apply %w, %s
  optim.yield %w1, %gc, %w, %a
}
