// SCALE: column normalisation (A. Glentis et al., arXiv:2506.16659): the oracle
// of the largest column norm.
//
//   B <- 0.9 B + 0.1 G,  W_:j <- W_:j - lr B_:j / (||B_:j|| + eps)
//
// The paper normalises over the output dimension, so each *column* of a weight
// whose rows are outputs. It keeps momentum on the last layer only; here every
// matrix has it. No decay.

optim.spec @scale schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>) {
  optim.group @all ["*"] uses @columns lr 1.0e-3
}

optim.rule @columns(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %s  = geo.max_column %b1 radius(%lr) {eps = 1.0e-8}
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}
