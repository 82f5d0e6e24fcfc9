// MuonEq: rows of the momentum are brought to one length before they are
// orthogonalised (MuonEq, arXiv:2603.28254; its form R, the default for hidden
// matrices). With D = diag(sum_j M_ij^2):
//
//   B <- 0.95 B + G,  M = G + 0.95 B
//   W <- W (1 - lr wd) - lr 0.2 sqrt(max(m, n)) NS5(D^(-1/2) M)
//
// The paper's eps stands under the root, sum + eps; here it is added to the root,
// and a zero row stays zero. Rows of one length leave Newton-Schulz a smaller
// spread of singular values. Normalising rows *after* the oracle instead (Muon+,
// arXiv:2602.21545) is the same spec with geo.max_row behind geo.spectral.

optim.spec @muon_eq schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>)
                    clip(#optim.global_norm<1.0>) {
  optim.group @backbone  ["blocks.*"]       uses @spectral lr 3.0e-3 wd 0.1
  optim.group @embedding ["embed.weight"]   uses @adamw    lr 3.0e-3 wd 0.1
  optim.group @head      ["lm_head.weight"] uses @adamw    lr 3.0e-3 wd 0.1
}

optim.rule @spectral(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %e  = geo.normalize_rows %n {eps = 1.0e-8}
  %r  = geo.shape_scale %lr, %w {kind = "match_rms_adamw"}
  %s  = geo.spectral %e radius(%r) {schedule = "you", steps = 5,
      normalization = "scale_free", form = "auto"}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}

// torch.optim.AdamW.
optim.rule @adamw(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "exp_avg": tensor<?x?xf32>, %v "exp_avg_sq": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s, %m1, %v1 = geo.adamw %m, %v, %gc lr(%lr) step(%t)
      {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1
}
