// The recipe of the paper (arXiv:2608.22253) with the equidistant head of its first
// version: rows of the head's step have one length, and are as far from one another
// as rounds of (polar, centre, normalise rows) bring them. On a head gradient of 3000
// tokens the smallest distance of two rows becomes 0.64 of the largest, where it is
// 0.09 with RowNorm.
//
// Learning rates are those of specs/paper.mlir. A round is twelve products of the size
// V x d x d: it suits small vocabularies and studies, not a vocabulary of 50257 on a
// CPU.

optim.spec @equidistant_head schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                             clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @muon        lr 8.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw       lr 4.0e-3 wd 0.1
  // Columns of the gradient sum to zero, so the centring is left out.
  optim.group @head      ["lm_head.weight"] uses @equidistant lr 3.2e-3
    facts(#geo.zero_column_sum, #geo.shift_invariant)
}

// B <- 0.95 B + G, N = G + 0.95 B (Nesterov);
// W <- W (1 - lr wd) - lr sqrt(max(1, m/n)) NS5(N / (||N||_F + 1e-5)).
optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %s  = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  // The decay takes the learning rate before the shape factor.
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}

// torch.optim.AdamW: decoupled decay, bias correction of both averages.
optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1
}

// B <- 0.95 B + 0.05 G; X = RN(P B), five times X <- RN(P polar(X)); U <- U - lr X. All rows
// of the step have length lr, so D(S) <= 2 lr. The bias correction of the average is a
// positive factor, which this oracle does not see.
optim.rule @equidistant(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %c  = geo.center %b1
  %s  = geo.equidistant %c radius(%lr) {rounds = 5, steps = 6}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1, %b1
}
