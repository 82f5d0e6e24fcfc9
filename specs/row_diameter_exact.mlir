// The paper's recipe (arXiv:2608.22253) with the exact row-diameter oracle on the
// head: the steepest step among all increments S with D(S) <= 2 lr, where
// RowNorm takes at least 1/sqrt(2) of it. For vocabularies of some hundred
// tokens, on a CPU: a step solves a convex problem to a certified relative gap.
//
// `form = "repair"` serves large vocabularies in a few sweeps over all pairs of
// rows, `form = "relax"` is the common ball with its guarantee.

optim.spec @row_diameter_exact
    schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
    clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @muon         lr 8.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw        lr 4.0e-3 wd 0.1
  optim.group @head      ["lm_head.weight"] uses @row_diameter lr 3.2e-3
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
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}

// torch.optim.AdamW.
optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1
}

// B <- 0.95 B + 0.05 G; S minimises <B, S> over D(S) <= 2 lr. The oracle does
// not see a positive factor, so there is no bias to correct.
optim.rule @row_diameter(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %s, %lower, %upper = geo.row_diameter %b1 radius(%lr)
      {form = "exact", tolerance = 1.0e-6, steps = 200}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  optim.yield %u1, %b1
}
