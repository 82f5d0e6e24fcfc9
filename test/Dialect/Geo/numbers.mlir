// How numbers may be spelt: a decimal, an integer, the bits of a double; rates
// and settings alike.
// RUN: %limit steep-opt %s --verify-roundtrip
// RUN: %limit steep-opt %s | FileCheck %s

// CHECK: lr 1.0 wd 2.0
optim.spec @s {
  optim.group @a ["*"] uses @r lr 1 wd 0x4000000000000000
}
// CHECK: geo.ema {{.*}} {beta = 0.0}
// CHECK: geo.max_row {{.*}} {eps = 0.5}
// CHECK: geo.max_row {{.*}} {eps = 0.01}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1 = geo.ema %b, %gc {beta = 0}
  %r  = geo.max_row %b1 radius(%lr) {eps = 0x3FE0000000000000}
  %s  = geo.max_row %r radius(%lr) {eps = 1.0e-2}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}
