// RUN: %limit steep-opt %s --pass-pipeline="builtin.module(func.func(geo-relax-row-diameter))" | FileCheck %s
// RUN: %limit steep-opt %s --pass-pipeline="builtin.module(func.func(geo-relax-row-diameter,geo-infer-centering))" | FileCheck %s --check-prefix=CENTER

// The guarantee is sqrt((k+1)/(2k)), k = 8, and travels with the ball.
// CHECK-LABEL: func.func @relaxed(
// CHECK-SAME:    attributes {geo.guarantee = 7.500000e-01 : f64}
// CHECK:         %[[S:.*]] = geo.common_ball %{{.*}} radius(%{{.*}}) {geo.guarantee = 0.75} : tensor<64x8xf32>
// CHECK-NEXT:    return %[[S]]
// CENTER-LABEL: func.func @relaxed(
// CENTER:         geo.max_row %{{.*}} radius(%{{.*}}) {geo.guarantee = 0.75}
func.func @relaxed(%g: tensor<64x8xf32>, %r: f32) -> tensor<64x8xf32> {
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<64x8xf32>
  return %s#0 : tensor<64x8xf32>
}

// Bounds that are asked for are those of projected RowNorm.
// CHECK-LABEL: func.func @bounds(
// CHECK:         geo.common_ball
// CHECK:         %[[L:.*]], %[[U:.*]] = geo.measure_tension %{{.*}} : tensor<64x8xf32>
// CHECK-NEXT:    return %{{.*}}, %[[L]], %[[U]]
func.func @bounds(%g: tensor<64x8xf32>, %r: f32) -> (tensor<64x8xf32>, tensor<f64>, tensor<f64>) {
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<64x8xf32>
  return %s#0, %s#1, %s#2 : tensor<64x8xf32>, tensor<f64>, tensor<f64>
}

// Nothing is relaxed that was not allowed to be.
// CHECK-LABEL: func.func @exact(
// CHECK-NOT:     geo.guarantee
// CHECK:         geo.row_diameter
func.func @exact(%g: tensor<64x8xf32>, %r: f32) -> tensor<64x8xf32> {
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact"} : tensor<64x8xf32>
  return %s#0 : tensor<64x8xf32>
}

// A computed radius that is negative, infinite or NaN has no answer.
// CHECK-LABEL: func.func @computed(
// CHECK-SAME:    %{{.*}}, %[[R:.*]]: f32)
// CHECK-DAG:     %[[LEAST:.*]] = arith.cmpf oge, %[[R]], %{{.*}} : f32
// CHECK-DAG:     %[[MOST:.*]] = arith.cmpf ole, %[[R]], %{{.*}} : f32
// CHECK:         %[[BOTH:.*]] = arith.andi %[[LEAST]], %[[MOST]]
// CHECK:         %[[CHECKED:.*]] = arith.select %[[BOTH]], %[[R]], %{{.*}} : f32
// CHECK:         geo.common_ball %{{.*}} radius(%[[CHECKED]])
func.func @computed(%g: tensor<64x8xf32>, %r: f32) -> tensor<64x8xf32> {
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<64x8xf32>
  return %s#0 : tensor<64x8xf32>
}

// A constant has been checked.
// CHECK-LABEL: func.func @constant(
// CHECK-NOT:     arith.select
// CHECK:         geo.common_ball
func.func @constant(%g: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %r = arith.constant 2.0 : f32
  %s:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<64x8xf32>
  return %s#0 : tensor<64x8xf32>
}
