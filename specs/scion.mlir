// Scion: one rule of momentum, and the ball that suits the layer (T. Pethick et
// al., Training deep learning models with norm-constrained LMOs,
// arXiv:2502.07529, table of norm choices; unconstrained, so without decay).
//
//   B <- 0.9 B + 0.1 G,  W <- W - lr rho LMO(B), rho the ball's radius:
//
// | layer | ball | oracle | radius |
// | --- | --- | --- | --- |
// | hidden | spectral | polar(B) | 50 sqrt(m/n) |
// | input embedding | largest row | b_i / ||b_i|| | 50 sqrt(d): rows of RMS 1 |
// | head | largest entry | sign(B) | 3000 / d |
//
// The table's first layer takes one-hot inputs, one *column* each of a d x V
// matrix; here the embedding is V x d, and they are its rows. lr is 2^-12; the
// radii are part of the groups' rules. There is no clipping: every oracle is
// blind to the size of the gradient.

optim.spec @scion schedule(#optim.warmup_cosine<warmup = 0.0, floor = 0.0>) {
  optim.group @hidden    ["blocks.*"]       uses @spectral lr 2.44140625e-4
  optim.group @embedding ["embed.weight"]   uses @rows     lr 2.44140625e-4
  optim.group @head      ["lm_head.weight"] uses @signs    lr 2.44140625e-4
}

optim.rule @spectral(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %rho = arith.constant 50.0 : f32
  %size = arith.mulf %lr, %rho : f32
  %r  = geo.shape_scale %size, %w {kind = "ratio"}
  %s  = geo.spectral %b1 radius(%r) {schedule = "jordan", steps = 5,
      normalization = "scale_free", form = "auto"}
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}

optim.rule @rows(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %rho = arith.constant 50.0 : f32
  %size = arith.mulf %lr, %rho : f32
  %r  = geo.shape_scale %size, %w {kind = "row_rms"}
  %s  = geo.max_row %b1 radius(%r)
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}

optim.rule @signs(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.9}
  %rho = arith.constant 3000.0 : f32
  %size = arith.mulf %lr, %rho : f32
  %r  = geo.shape_scale %size, %w {kind = "mean"}
  %s  = geo.sign %b1 radius(%r)
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
}
