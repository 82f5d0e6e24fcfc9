// Passes on functions find nothing in a spec; the pipeline says what it wants.
// RUN: %limit steep-opt %s --optim-verify-bound --verify-diagnostics
// RUN: not steep-opt %s --steep-bound-to-geo 2>&1 | FileCheck %s
// CHECK: is not bound to parameters: expected a module at the bound level or below, as --steep-spec-to-bound gives it

optim.spec @s {
  // expected-error @+1 {{is not bound to parameters: expected a module at the bound level or below}}
  optim.group @a ["*"] uses @r lr 0.1
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %w1 = geo.apply %w, %g decay(%lr, %wd)
  optim.yield %w1
}
