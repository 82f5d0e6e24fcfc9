// Lion: the sign of an interpolation between momentum and gradient (X. Chen et
// al., Symbolic discovery of optimization algorithms, arXiv:2302.06675): the
// oracle of the largest entry, with decoupled decay.
//
//   C = 0.9 M + 0.1 G,  M <- 0.99 M + 0.01 G
//   W <- W (1 - lr wd) - lr sign(C)
//
// Clipping changes the sign of nothing, but weighs gradients against each other
// in the average.

optim.spec @lion schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                 clip(#optim.global_norm<1.0>) {
  optim.group @all ["*"] uses @signs lr 3.0e-4 wd 1.0
}

optim.rule @signs(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %c  = geo.ema %m, %gc {beta = 0.9}
  %m1 = geo.ema %m, %gc {beta = 0.99}
  %s  = geo.sign %c radius(%lr)
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1
}
