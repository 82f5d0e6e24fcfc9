// RUN: %limit steep-opt %s --verify-roundtrip
// RUN: %limit steep-opt %s | FileCheck %s
// RUN: %limit steep-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// CHECK-LABEL: func.func @forms(
// CHECK:         geo.row_diameter %{{.*}} radius(%{{.*}}) {form = "exact", steps = 50, tolerance = 1.0e-08} : tensor<64x8xf32>
// CHECK:         geo.row_diameter %{{.*}} radius(%{{.*}}) {form = "repair"} : tensor<64x8xf32>
// CHECK:         geo.row_diameter %{{.*}} radius(%{{.*}}) {form = "relax"} : tensor<64x8xf32>
func.func @forms(%g: tensor<64x8xf32>, %r: f32)
    -> (tensor<64x8xf32>, tensor<f64>, tensor<f64>, tensor<64x8xf32>, tensor<64x8xf32>) {
  %s, %lower, %upper = geo.row_diameter %g radius(%r)
      {form = "exact", tolerance = 1.0e-8, steps = 50} : tensor<64x8xf32>
  %p:3 = geo.row_diameter %g radius(%r) {form = "repair"} : tensor<64x8xf32>
  %q:3 = geo.row_diameter %g radius(%r) {form = "relax"} : tensor<64x8xf32>
  return %s, %lower, %upper, %p#0, %q#0 : tensor<64x8xf32>, tensor<f64>, tensor<f64>, tensor<64x8xf32>, tensor<64x8xf32>
}

// Specs do not spell out tensor<?x?xf32>.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         geo.row_diameter %{{.*}} radius(%{{.*}}) {form = "exact"}{{$}}
func.func @dynamic(%g: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  %s:3 = geo.row_diameter %g radius(%r) {form = "exact"}
  return %s#0 : tensor<?x?xf32>
}

// A radius in memory, for a function of the host.
// CHECK-LABEL: func.func @stored(
// CHECK:         geo.row_diameter %{{.*}} radius(%{{.*}} : tensor<f32>) {form = "exact"} : tensor<64x8xf32>
func.func @stored(%g: tensor<64x8xf32>, %r: tensor<f32>) -> tensor<64x8xf32> {
  %s:3 = geo.row_diameter %g radius(%r : tensor<f32>) {form = "exact"} : tensor<64x8xf32>
  return %s#0 : tensor<64x8xf32>
}

// The answer does not depend on scale or common row of its gradient, and is
// centred.
// CANON-LABEL: func.func @laws(
// CANON-SAME:      %[[G:.*]]: tensor<64x8xf32>, %[[R:.*]]: f32
// CANON-NEXT:    %[[S:.*]], %{{.*}}, %{{.*}} = geo.row_diameter %[[G]] radius(%[[R]])
// CANON-NEXT:    return %[[S]]
func.func @laws(%g: tensor<64x8xf32>, %r: f32, %t: i64) -> tensor<64x8xf32> {
  %c = geo.correct_bias %g, %t {beta = 0.9} : tensor<64x8xf32>
  %p = geo.center %c : tensor<64x8xf32>
  %s:3 = geo.row_diameter %p radius(%r) {form = "exact"} : tensor<64x8xf32>
  %q = geo.center %s#0 : tensor<64x8xf32>
  return %q : tensor<64x8xf32>
}
