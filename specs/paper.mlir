// The recipe of the paper with its RowNorm head (arXiv:2608.22253): Muon on the
// matrices of the blocks, AdamW on the input embedding, RowNorm on the head.
// specs/paper_adamw.mlir is the same with an AdamW head, the baseline.
//
// Learning rates are those of the 190m model (d = 512); a trainer may override
// each group's. The schedule scales all of them; gradients are clipped together
// by their global norm before any rule sees them, and a step whose gradient is
// not finite leaves weights and state as they are and says which parameter.

optim.spec @paper schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                  clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @muon    lr 8.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw   lr 4.0e-3 wd 0.1

  // The head is untied, has no bias and feeds a softmax: the rows of its
  // gradient sum to zero, and a common shift of its rows changes no
  // probability. Under these two facts both projections of the common ball are
  // redundant, and what is compiled is plain RowNorm. For a tied head, or with
  // a z-loss, leave them out, and the centring is compiled. No weight decay.
  optim.group @head      ["lm_head.weight"] uses @rownorm lr 3.2e-3
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

// B <- 0.95 B + 0.05 G, C = B / (1 - 0.95^t); S minimises <C, S> over all S
// whose rows lie in one ball of radius lr, so that D(S) <= 2 lr.
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
