// Muon on every matrix (K. Jordan et al., Muon: An optimizer for hidden layers,
// 2024, https://kellerjordan.github.io/posts/muon; the momentum of its code, as
// in torch.optim.Muon). For models whose embedding and head are updated by
// another optimizer; specs/muon_adamw.mlir gives them AdamW.
//
//   B <- 0.95 B + 0.05 G,  N = 0.95 B + 0.05 G         (average, Nesterov)
//   W <- W (1 - lr wd) - lr sqrt(max(1, m/n)) NS5(N / ||N||_F)
//
// The sum form of the momentum (specs/paper.mlir) gives the same directions, and
// other checkpoints: the manifest says which one it is. Normalisation is free of
// scale, so that no eps eats a small gradient; wide matrices are iterated by
// their Gram matrix, which is the same up to rounding and takes half the work.

optim.spec @muon schedule(#optim.warmup_cosine<warmup = 0.1, floor = 0.1>) {
  optim.group @all ["*"] uses @spectral lr 2.0e-2 wd 0.01
}

optim.rule @spectral(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0.95}
  %n  = geo.ema %b1, %gc {beta = 0.95}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %s  = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5,
      normalization = "scale_free", form = "auto"}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}
