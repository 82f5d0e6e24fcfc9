// RUN: %limit steep-opt %s --split-input-file --optim-instantiate-rules | FileCheck %s

// One pair of functions for each rule, shape and set of facts; one batch for
// each parameter. Neither groups nor rules are left.

// CHECK-LABEL: optim.spec @shapes
// CHECK-NEXT:    optim.bound_group @blocks uses "muon" lr 0.008 wd 0.1
// CHECK-NEXT:    optim.bound_group @head uses "rownorm" lr 0.0032
// CHECK-NOT:     optim.group
// CHECK:         optim.batch @muon_8x4 update @muon_8x4_update squares @squares_8x4 ["a"]
// CHECK-NEXT:    optim.batch @muon_4x8 update @muon_4x8_update squares @squares_4x8 ["b"]
// CHECK-NEXT:    optim.batch @muon_8x4 update @muon_8x4_update squares @squares_8x4 ["c"]
// CHECK-NEXT:    optim.batch @rownorm_8x4 update @rownorm_8x4_update squares @squares_8x4 ["d"]
// CHECK-NEXT:  }
// CHECK-NOT:   optim.rule
optim.spec @shapes {
  optim.group @blocks ["unused"] uses @muon lr 8.0e-3 wd 0.1
  optim.group @head ["unused"] uses @rownorm lr 3.2e-3
    facts(#geo.zero_column_sum, #geo.shift_invariant)
  optim.parameter "a" : tensor<8x4xf32> in @blocks
  optim.parameter "b" : tensor<4x8xf32> in @blocks
  optim.parameter "c" : tensor<8x4xf32> in @blocks
  optim.parameter "d" : tensor<8x4xf32> in @head
}

// The scalars are arguments; every matrix has the shape of the weight.
// CHECK-LABEL: func.func @muon_8x4(
// CHECK-SAME:    %[[W:[^:]*]]: tensor<8x4xf32> {optim.role = "weight"}
// CHECK-SAME:    %[[G:[^:]*]]: tensor<8x4xf32> {optim.role = "gradient"}
// CHECK-SAME:    %[[B:[^:]*]]: tensor<8x4xf32> {optim.beta = 0.94{{[0-9]+}} : f64, optim.convention = "sum", optim.role = "state", optim.state = "momentum_buffer"}
// CHECK-SAME:    %[[LR:[^:]*]]: f32 {optim.role = "lr"}
// CHECK-SAME:    %[[WD:[^:]*]]: f32 {optim.role = "wd"}
// CHECK-SAME:    %[[CLIP:[^:]*]]: f32 {optim.role = "clip"}
// CHECK-SAME:    %[[T:[^:]*]]: i64 {optim.role = "step"}
// CHECK-SAME:    -> (tensor<8x4xf32> {optim.role = "weight"}, tensor<8x4xf32> {optim.role = "state"})
// CHECK-SAME:    attributes {optim.count = 1 : i64, optim.rule = "muon"} {
// CHECK-NEXT:    %[[GC:.*]] = geo.scale %[[G]], %[[CLIP]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[B1:.*]], %[[N:.*]] = geo.momentum %[[B]], %[[GC]] {beta = 0.95, nesterov} : tensor<8x4xf32>
// CHECK-NEXT:    %[[R:.*]] = geo.shape_scale %[[LR]], %[[W]] : tensor<8x4xf32>
// CHECK-NEXT:    %[[S:.*]] = geo.spectral %[[N]] radius(%[[R]])
// CHECK-NEXT:    %[[W1:.*]] = geo.apply %[[W]], %[[S]] decay(%[[LR]], %[[WD]]) : tensor<8x4xf32>
// CHECK-NEXT:    return %[[W1]], %[[B1]] : tensor<8x4xf32>, tensor<8x4xf32>

// The variant for measurements returns the increment as well.
// CHECK-LABEL: func.func @muon_8x4_update(
// CHECK-SAME:    -> (tensor<8x4xf32> {optim.role = "weight"}, tensor<8x4xf32> {optim.role = "state"}, tensor<8x4xf32> {optim.role = "update"})
// CHECK-SAME:    attributes {optim.count = 1 : i64, optim.rule = "muon"} {
// CHECK:         %[[S:.*]] = geo.spectral
// CHECK-NEXT:    %[[W1:.*]] = geo.apply
// CHECK-NEXT:    return %[[W1]], %{{.*}}, %[[S]] :

// CHECK-LABEL: func.func @squares_8x4(
// CHECK-SAME:    %[[G:.*]]: tensor<8x4xf32> {optim.role = "gradient"}) -> (tensor<8xf64> {optim.role = "squares"}) {
// CHECK-NEXT:    %[[Q:.*]] = geo.row_squares %[[G]] : tensor<8x4xf32>
// CHECK-NEXT:    return %[[Q]] : tensor<8xf64>

// CHECK-LABEL: func.func @muon_4x8(
// CHECK-LABEL: func.func @muon_4x8_update(
// CHECK-LABEL: func.func @squares_4x8(

// Each fact goes to the argument it is about.
// CHECK-LABEL: func.func @rownorm_8x4(
// CHECK-SAME:    {geo.facts = [#geo.shift_invariant], optim.role = "weight"}
// CHECK-SAME:    {geo.facts = [#geo.zero_column_sum], optim.role = "gradient"}
// CHECK-SAME:    {optim.beta = 0.94{{[0-9]+}} : f64, optim.convention = "ema", optim.role = "state", optim.state = "momentum_buffer"}
// CHECK-LABEL: func.func @rownorm_8x4_update(
// CHECK-SAME:    {geo.facts = [#geo.shift_invariant], optim.role = "weight"}
// CHECK-NOT:   func.func

optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r = geo.shape_scale %lr, %w {kind = "original"}
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}
optim.rule @rownorm(%u: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %b1 = geo.ema %b, %g {beta = 0.95}
  %s = geo.max_row %b1 radius(%lr) {eps = 1.0e-8}
  %u1 = geo.apply %u, %s
  optim.yield %u1, %b1
}

// -----

// Two groups differ only in facts: two instances, the second with a number.
// An alias is updated through its owner.
// CHECK-LABEL: optim.spec @facts
// CHECK:         optim.batch @sgd_8x4 update @sgd_8x4_update squares @squares_8x4 ["a"]
// CHECK-NEXT:    optim.batch @sgd_8x4_2 update @sgd_8x4_2_update squares @squares_8x4 ["b"]
// CHECK-NEXT:  }
optim.spec @facts {
  optim.group @a ["unused"] uses @sgd lr 0.1
  optim.group @b ["unused"] uses @sgd lr 0.1 facts(#geo.zero_column_sum)
  optim.parameter "a" : tensor<8x4xf32> in @a
  optim.parameter "b" : tensor<8x4xf32> in @b
  optim.parameter "tied" : tensor<8x4xf32> in @a aliases "a"
}
optim.rule @sgd(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %s = geo.scale %g, %lr
  %w1 = geo.apply %w, %s
  optim.yield %w1
}

// -----

// Names of the user's are not taken.
// CHECK-LABEL: optim.spec @taken
// CHECK:         optim.batch @r_8x4_2 update @r_8x4_2_update squares @[[SQUARES:.*]] ["a"]
// CHECK:       func.func private @squares_8x4()
// CHECK:       func.func private @r_8x4_update()
// CHECK:       func.func @r_8x4_2(
// CHECK:       func.func @r_8x4_2_update(
// CHECK:       func.func @[[SQUARES]](
optim.spec @taken {
  optim.group @a ["unused"] uses @r lr 0.1
  optim.parameter "a" : tensor<8x4xf32> in @a
}
func.func private @squares_8x4()
func.func private @r_8x4_update()
optim.rule @r(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %h: !optim.scalars) {
  %w1 = geo.apply %w, %g : tensor<8x4xf32>
  optim.yield %w1 : tensor<8x4xf32>
}

// -----

// Results are inferred where an op can do so, and other conventions are named.
// CHECK-LABEL: func.func @r_8x4(
// CHECK-SAME:    {optim.beta = 9.000000e-01 : f64, optim.convention = "adam", optim.role = "state", optim.state = "m"}
// CHECK-SAME:    {optim.beta = 0.998{{9+}} : f64, optim.convention = "adam", optim.role = "state", optim.state = "v"}
// CHECK-SAME:    {optim.convention = "other", optim.role = "state", optim.state = "last"}
// CHECK:         geo.row_squares %{{.*}} : tensor<8x4xf32>
// CHECK-NEXT:    tensor.dim %{{.*}}, %{{.*}} : tensor<8xf64>
// CHECK:         tensor.cast %{{.*}} : tensor<8x4xf32> to tensor<8x4xf32>
optim.spec @inferred {
  optim.group @a ["unused"] uses @r lr 0.1
  optim.parameter "a" : tensor<8x4xf32> in @a
}
optim.rule @r(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%m "m": tensor<?x?xf32>, %v "v": tensor<?x?xf32>,
          %last "last": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %c0 = arith.constant 0 : index
  %q = geo.row_squares %g
  %d = tensor.dim %q, %c0 : tensor<?xf64>
  %g1 = tensor.cast %last : tensor<?x?xf32> to tensor<?x?xf32>
  %s, %m1, %v1 = geo.adamw %m, %v, %g1 lr(%lr) step(%t)
    {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %m1, %v1, %g
}
