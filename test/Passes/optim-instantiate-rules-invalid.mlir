// RUN: %limit steep-opt %s --split-input-file --verify-diagnostics --optim-instantiate-rules

optim.spec @unbound {
  optim.group @a ["*"] uses @r lr 0.1
  // expected-error@+1 {{'x' has no group: expected optim-bind-parameters to run first}}
  optim.parameter "x" : tensor<8x4xf32>
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %w, %g
  optim.yield %w1
}

// -----

optim.spec @other_shape {
  optim.group @a ["*"] uses @r lr 0.1
  // expected-error@+1 {{'x' has type 'tensor<4x8xf32>', but rule @r of group @a updates 'tensor<8x4xf32>'}}
  optim.parameter "x" : tensor<4x8xf32> in @a
}
optim.rule @r(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %w, %g : tensor<8x4xf32>
  optim.yield %w1 : tensor<8x4xf32>
}

// -----

optim.spec @vector {
  optim.group @a ["*"] uses @r lr 0.1
  // expected-error@+1 {{'x' has type 'tensor<8xf32>', but rules update matrices: expected rank 2, not rank 1}}
  optim.parameter "x" : tensor<8xf32> in @a
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %w, %g
  optim.yield %w1
}

// -----

optim.spec @unapplied {
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x4xf32> in @a
}
// expected-error@+1 {{@r expected to yield, as the new weight, a geo.apply to the weight that it is given}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  optim.yield %w
}

// -----

optim.spec @applied_to_the_gradient {
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x4xf32> in @a
}
// expected-error@+1 {{@r expected to yield, as the new weight, a geo.apply to the weight that it is given}}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %g, %w
  optim.yield %w1
}

// -----

optim.spec @twice {
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x4xf32> in @a
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  // expected-error@+1 {{is the second of rule @r: expected one increment an update}}
  %s = geo.apply %g, %w
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

optim.spec @effects {
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "x" : tensor<8x4xf32> in @a
}
func.func private @print()
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  // expected-error@+1 {{has side effects, which rule @r cannot have}}
  func.call @print() : () -> ()
  %w1 = geo.apply %w, %g
  optim.yield %w1
}

// -----

optim.spec @no_fact {
  // expected-error@+1 {{@a states "untied", which is no fact about a weight or a gradient}}
  optim.group @a ["*"] uses @r lr 0.1 facts("untied")
  optim.parameter "x" : tensor<8x4xf32> in @a
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %w, %g
  optim.yield %w1
}

// -----

// What an op cannot serve is said once, with the parameter.
optim.spec @large {
  optim.group @a ["*"] uses @r lr 0.1
  optim.parameter "lm_head.weight" : tensor<5000x64xf32> in @a
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  // expected-error@+1 {{with form = "exact" serves at most 4096 rows and 4096 columns, but got 5000x64; alternatives are form = "repair", feasible in a few sweeps over all pairs, and form = "relax", the common ball with its guarantee; parameter 'lm_head.weight'}}
  %s:3 = geo.row_diameter %g radius(%lr) {form = "exact"}
  %w1 = geo.apply %w, %s#0
  optim.yield %w1
}
