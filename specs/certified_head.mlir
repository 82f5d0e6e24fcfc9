// The paper's recipe (arXiv:2608.22253) with a head that says how good its step is.
// The geometry that is asked for is the row diameter; the spec allows it to be
// relaxed to the common ball, whose oracle is projected RowNorm, at the price of a
// row update. Two guarantees come with that:
//
// * for every gradient, sqrt((k + 1)/(2 k)) of the exact decrease, k the rank (by
//   Jung's theorem): in the IR (geo.guarantee), in `steepc --explain`, in the manifest;
// * for the gradient at hand, 1/sqrt(2 (1 - 1/V_eff)), with V_eff = (sum n_i)^2 / sum
//   n_i^2 the effective number of rows: the certificate, computed beside the step.
//
// `steep-train --measures-every 1` prints both beside each step, with bounds of the
// exact decrease at D(S) <= 1, and writes them to metrics.jsonl. A step that is not
// measured computes none of it. On a gradient whose columns do not sum to zero, which
// contradicts the fact below, the certificate and both bounds are NaN.
//
// specs/row_diameter_exact.mlir has the exact oracle, for small vocabularies.

optim.spec @certified_head schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                           clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @muon      lr 8.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw     lr 4.0e-3 wd 0.1
  // Under these facts both projections are redundant: what is compiled is RowNorm.
  optim.group @head      ["lm_head.weight"] uses @certified lr 3.2e-3
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

// B <- 0.95 B + 0.05 G; S = -lr RN(B), which has D(S) <= 2 lr. The guarantees are of
// exact normalisation, so there is no eps; nor is there a bias to correct, since the
// oracle does not see a positive factor.
optim.rule @certified(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %s, %lower, %upper = geo.row_diameter %b1 radius(%lr) {form = "relax"}
  %u1 = geo.apply %u, %s decay(%lr, %wd)
  %ratio, %rows = geo.measure_certificate %b1
  optim.yield %u1, %b1 measures(%ratio "certificate", %rows "effective_rows",
                                %lower "tension_lower", %upper "tension_upper")
}
