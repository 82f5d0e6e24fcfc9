// Mean rows that follow from those of the gradient and of states are carried,
// and projections with them become subtractions.

// RUN: steep-opt %s --split-input-file --geo-carry-means | FileCheck %s
// RUN: steep-opt %s --split-input-file --geo-carry-means \
// RUN:   --remarks-filter=geo-carry-means 2>&1 >/dev/null \
// RUN: | FileCheck %s --check-prefix=REMARK

// CHECK: optim.batch @head update @head_update squares @squares_mean refresh @head_refresh ["a"]
optim.spec @both {
  optim.bound_group @all uses "rownorm" lr 0.1 wd 0.0
  optim.parameter "a" : tensor<64x8xf32> in @all
  optim.batch @head update @head_update squares @squares ["a"]
}

// The row of the average: that of the step before, and the gradient's, scaled
// and averaged alike; numbers that it needs come first.
// CHECK-LABEL: func.func @head(
// CHECK-SAME: %[[U:[a-z0-9_]+]]: tensor<64x8xf32> {optim.role = "weight"}
// CHECK-SAME: %[[G:[a-z0-9_]+]]: tensor<64x8xf32> {optim.role = "gradient"}
// CHECK-SAME: %[[B:[a-z0-9_]+]]: tensor<64x8xf32>
// CHECK-SAME: %[[MEAN:[a-z0-9_]+]]: tensor<1x8xf32> {optim.convention = "mean", optim.role = "state", optim.state = "momentum_buffer_mean"}
// CHECK-SAME: %[[GMEAN:[a-z0-9_]+]]: tensor<8xf32> {optim.role = "gradient_mean"}
// CHECK-SAME: %[[CLIP:[a-z0-9_]+]]: f32 {optim.role = "clip"}
// CHECK-SAME: -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"}, tensor<1x8xf32> {optim.role = "state"})
// CHECK: %[[GROW:[a-z0-9_]+]] = tensor.expand_shape %[[GMEAN]]
// CHECK: %[[TWICE:[a-z0-9_]+]] = arith.addf %[[CLIP]], %[[CLIP]] : f32
// CHECK: %[[SROW:[a-z0-9_]+]] = geo.scale %[[GROW]], %[[TWICE]] : tensor<1x8xf32>
// CHECK: %[[ROW:[a-z0-9_]+]] = geo.ema %[[MEAN]], %[[SROW]] {beta = 0.95} : tensor<1x8xf32>
// CHECK: %[[CROW:[a-z0-9_]+]] = geo.correct_bias %[[ROW]], %{{.*}} {beta = 0.95} : tensor<1x8xf32>
// CHECK: %[[S:[a-z0-9_]+]] = geo.scale %[[G]], %[[TWICE]]
// CHECK: %[[B1:[a-z0-9_]+]] = geo.ema %[[B]], %[[S]]
// CHECK: %[[C:[a-z0-9_]+]] = geo.correct_bias %[[B1]]
// CHECK: %[[V:[a-z0-9_]+]] = tensor.collapse_shape %[[CROW]]
// CHECK: linalg.generic {{.*}} ins(%[[C]], %[[V]] : tensor<64x8xf32>, tensor<8xf32>)
// CHECK: arith.subf
// What follows an oracle is not linear in it.
// CHECK: geo.max_row
// CHECK: geo.center
// CHECK: return %{{.*}}, %[[B1]], %[[ROW]]
// REMARK: remark: {{.*}}MeanCarried{{.*}}the mean row follows from the gradient's, and that of momentum_buffer, a state
func.func @head(%u: tensor<64x8xf32> {optim.role = "weight"}, %g: tensor<64x8xf32> {optim.role = "gradient"},
    %b: tensor<64x8xf32> {optim.role = "state", optim.state = "momentum_buffer", optim.convention = "ema"},
    %lr: f32 {optim.role = "lr"}, %clip: f32 {optim.role = "clip"}, %t: i64 {optim.role = "step"})
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"}) {
  %twice = arith.addf %clip, %clip : f32
  %s = geo.scale %g, %twice : tensor<64x8xf32>
  %b1 = geo.ema %b, %s {beta = 0.95} : tensor<64x8xf32>
  %c = geo.correct_bias %b1, %t {beta = 0.95} : tensor<64x8xf32>
  %p = geo.center %c : tensor<64x8xf32>
  %r = geo.max_row %p radius(%lr) : tensor<64x8xf32>
  %q = geo.center %r : tensor<64x8xf32>
  %u1 = geo.apply %u, %q : tensor<64x8xf32>
  return %u1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>
}

// From the states alone; the states that are no mean rows stay as they are.
// CHECK-LABEL: func.func @head_refresh(
// CHECK-SAME: %[[B:[a-z0-9_]+]]: tensor<64x8xf32>
// CHECK-SAME: %{{.*}}: tensor<1x8xf32> {optim.convention = "mean"
// CHECK: linalg.generic {{.*}} ins(%[[B]] : tensor<64x8xf32>)
// CHECK: %[[NEW:[a-z0-9_]+]] = tensor.expand_shape
// CHECK: return %[[B]], %[[NEW]] : tensor<64x8xf32>, tensor<1x8xf32>

// Without a projection, the states are the same.
// CHECK-LABEL: func.func @head_update(
// CHECK-SAME: "momentum_buffer_mean"
// CHECK-SAME: "gradient_mean"
func.func @head_update(%u: tensor<64x8xf32> {optim.role = "weight"}, %g: tensor<64x8xf32> {optim.role = "gradient"},
    %b: tensor<64x8xf32> {optim.role = "state", optim.state = "momentum_buffer", optim.convention = "ema"},
    %lr: f32 {optim.role = "lr"}, %clip: f32 {optim.role = "clip"}, %t: i64 {optim.role = "step"})
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"}, tensor<64x8xf32> {optim.role = "update"}) {
  %b1 = geo.ema %b, %g {beta = 0.95} : tensor<64x8xf32>
  %u1 = geo.apply %u, %b1 : tensor<64x8xf32>
  return %u1, %b1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>
}

// CHECK-LABEL: func.func @squares_mean(
// CHECK-SAME: %[[G:[a-z0-9_]+]]: tensor<64x8xf32> {optim.role = "gradient"}
// CHECK-SAME: -> (tensor<64xf64> {optim.role = "squares"}, tensor<8xf32> {optim.role = "gradient_mean"})
// CHECK: %[[Q:[a-z0-9_]+]] = geo.row_squares %[[G]]
// CHECK: %[[SUMS:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%[[G]] : tensor<64x8xf32>)
// CHECK: return %[[Q]], %{{.*}}
func.func @squares(%g: tensor<64x8xf32> {optim.role = "gradient"}) -> (tensor<64xf64> {optim.role = "squares"}) {
  %q = geo.row_squares %g : tensor<64x8xf32>
  return %q : tensor<64xf64>
}

// -----

// A projection of the gradient itself needs no state.
// CHECK-LABEL: optim.spec @gradient
// CHECK: optim.batch @center update @center squares @squares_mean ["a"]
// CHECK-LABEL: func.func @center(
// CHECK-SAME: %{{.*}}: tensor<8xf32> {optim.role = "gradient_mean"}) -> (tensor<64x8xf32> {optim.role = "weight"})
// CHECK-NOT: geo.center
optim.spec @gradient {
  optim.bound_group @all uses "center" lr 0.1 wd 0.0
  optim.parameter "a" : tensor<64x8xf32> in @all
  optim.batch @center update @center squares @squares ["a"]
}
func.func @center(%u: tensor<64x8xf32> {optim.role = "weight"}, %g: tensor<64x8xf32> {optim.role = "gradient"})
    -> (tensor<64x8xf32> {optim.role = "weight"}) {
  %c = geo.center %g : tensor<64x8xf32>
  %u1 = geo.apply %u, %c : tensor<64x8xf32>
  return %u1 : tensor<64x8xf32>
}
func.func @squares(%g: tensor<64x8xf32> {optim.role = "gradient"}) -> (tensor<64xf64> {optim.role = "squares"}) {
  %q = geo.row_squares %g : tensor<64x8xf32>
  return %q : tensor<64xf64>
}

// -----

// What stays: a state that is not linear in the gradient. A part of a parameter
// has a row of its own.
// CHECK-LABEL: optim.spec @kept
// CHECK: optim.batch @state update @state squares @squares ["a"]
// CHECK: optim.batch @part update @part squares @squares_mean ["b", "b"] rows [0, 64]
optim.spec @kept {
  optim.bound_group @all uses "center" lr 0.1 wd 0.0
  optim.parameter "a" : tensor<64x8xf32> in @all
  optim.parameter "b" : tensor<128x8xf32> in @all
  optim.batch @state update @state squares @squares ["a"]
  optim.batch @part update @part squares @squares ["b", "b"] rows [0, 64]
}
// CHECK-LABEL: func.func @state(
// CHECK: geo.center
func.func @state(%u: tensor<64x8xf32> {optim.role = "weight"}, %g: tensor<64x8xf32> {optim.role = "gradient"},
    %b: tensor<64x8xf32> {optim.role = "state", optim.state = "b", optim.convention = "ema"}, %lr: f32 {optim.role = "lr"})
    -> (tensor<64x8xf32> {optim.role = "weight"}, tensor<64x8xf32> {optim.role = "state"}) {
  %r = geo.max_row %g radius(%lr) : tensor<64x8xf32>
  %b1 = geo.ema %b, %r {beta = 0.95} : tensor<64x8xf32>
  %c = geo.center %b1 : tensor<64x8xf32>
  %u1 = geo.apply %u, %c : tensor<64x8xf32>
  return %u1, %b1 : tensor<64x8xf32>, tensor<64x8xf32>
}
// CHECK-LABEL: func.func @part(
// CHECK-SAME: "gradient_mean"
// CHECK-NOT: geo.center
func.func @part(%u: tensor<64x8xf32> {optim.role = "weight"}, %g: tensor<64x8xf32> {optim.role = "gradient"})
    -> (tensor<64x8xf32> {optim.role = "weight"}) {
  %c = geo.center %g : tensor<64x8xf32>
  %u1 = geo.apply %u, %c : tensor<64x8xf32>
  return %u1 : tensor<64x8xf32>
}
func.func @squares(%g: tensor<64x8xf32> {optim.role = "gradient"}) -> (tensor<64xf64> {optim.role = "squares"}) {
  %q = geo.row_squares %g : tensor<64x8xf32>
  return %q : tensor<64xf64>
}
