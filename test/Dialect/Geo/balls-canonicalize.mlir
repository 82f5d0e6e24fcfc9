// RUN: %limit steep-opt %s --canonicalize | FileCheck %s

// A positive factor before a homogeneous oracle vanishes; before one with eps it
// moves into eps.
// CHECK-LABEL: func.func @factors
// CHECK-SAME: (%[[G:.*]]: tensor<4x3xf32>,
func.func @factors(%g: tensor<4x3xf32>, %r: f32, %t: i64)
    -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %c = arith.constant 4.0 : f32
  %0 = geo.scale %g, %c : tensor<4x3xf32>
  // CHECK-NEXT: geo.sign %[[G]] radius(%{{.*}}) : tensor<4x3xf32>
  %1 = geo.sign %0 radius(%r) : tensor<4x3xf32>
  // CHECK-NEXT: geo.frobenius %[[G]] radius(%{{.*}}) {eps = 0.0625} : tensor<4x3xf32>
  %2 = geo.frobenius %0 radius(%r) {eps = 0.25} : tensor<4x3xf32>
  %3 = geo.correct_bias %g, %t {beta = 0.9} : tensor<4x3xf32>
  // CHECK-NEXT: geo.frobenius %[[G]] radius(%{{.*}}) : tensor<4x3xf32>
  %4 = geo.frobenius %3 radius(%r) : tensor<4x3xf32>
  // CHECK-NEXT: geo.correct_bias
  // CHECK-NEXT: geo.sign
  %5 = geo.correct_bias %g, %t {beta = 0.9} : tensor<4x3xf32>
  %6 = geo.sign %5 radius(%r) {eps = 0.5} : tensor<4x3xf32>
  // Free of scale, with eps too.
  // CHECK-NEXT: geo.spectral %[[G]] radius(%{{.*}}) {eps = 1.0e-05, normalization = "scale_free"
  %7 = geo.spectral %0 radius(%r) {schedule = "jordan", steps = 5, eps = 1.0e-5, normalization = "scale_free"} : tensor<4x3xf32>
  return %1, %2, %4, %6, %7 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @column_factor
// CHECK-SAME: (%[[G:.*]]: tensor<4x3xf32>,
// CHECK-NEXT: geo.max_column %[[G]] radius(%{{.*}}) : tensor<4x3xf32>
func.func @column_factor(%g: tensor<4x3xf32>, %r: f32) -> tensor<4x3xf32> {
  %c = arith.constant 4.0 : f32
  %0 = geo.scale %g, %c : tensor<4x3xf32>
  %1 = geo.max_column %0 radius(%r) : tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @shape_scales
// CHECK-DAG: arith.constant 2.000000e+00 : f32
// CHECK-DAG: arith.constant 8.000000e+00 : f32
// CHECK-DAG: arith.constant 1.600000e+01 : f32
// CHECK-DAG: arith.constant 3.125000e-02 : f32
// CHECK-DAG: arith.constant 5.000000e-01 : f32
// CHECK-NOT: geo.shape_scale
func.func @shape_scales(%r: f32, %tall: tensor<16x4xf32>, %wide: tensor<4x64xf32>, %long: tensor<8x32xf32>)
    -> (f32, f32, f32, f32, f32) {
  %0 = geo.shape_scale %r, %tall {kind = "ratio"} : tensor<16x4xf32>
  %1 = geo.shape_scale %r, %wide {kind = "row_rms"} : tensor<4x64xf32>
  %2 = geo.shape_scale %r, %long {kind = "rms"} : tensor<8x32xf32>
  %3 = geo.shape_scale %r, %long {kind = "mean"} : tensor<8x32xf32>
  %4 = geo.shape_scale %r, %long {kind = "ratio"} : tensor<8x32xf32>
  return %0, %1, %2, %3, %4 : f32, f32, f32, f32, f32
}

// A convolution's kernel of 64 x 32 x 3 x 3.
// CHECK-LABEL: func.func @convolution
// CHECK-SAME: (%[[R:.*]]: f32,
// CHECK-DAG: arith.constant 0.471404{{[0-9]*}} : f32
// CHECK-DAG: arith.constant 3.3941{{[0-9]*}} : f32
// CHECK: return %[[R]],
func.func @convolution(%r: f32, %w: tensor<64x288xf32>) -> (f32, f32, f32) {
  %0 = geo.shape_scale %r, %w {kind = "original"} : tensor<64x288xf32>
  %1 = geo.shape_scale %r, %w {kind = "ratio"} : tensor<64x288xf32>
  %2 = geo.shape_scale %r, %w {kind = "match_rms_adamw"} : tensor<64x288xf32>
  return %0, %1, %2 : f32, f32, f32
}

// CHECK-LABEL: func.func @no_decay
// CHECK-NEXT: geo.apply %{{.*}}, %{{.*}} : tensor<4x3xf32>
func.func @no_decay(%w: tensor<4x3xf32>, %s: tensor<4x3xf32>, %lr: f32) -> tensor<4x3xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = geo.apply %w, %s decay(%lr, %zero) {cautious} : tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
