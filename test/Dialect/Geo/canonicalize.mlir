// RUN: %limit steep-opt %s --canonicalize --split-input-file | FileCheck %s

//===----------------------------------------------------------------------===//
// Centring
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @center_is_idempotent
// CHECK-NEXT: %[[C:.*]] = geo.center
// CHECK-NEXT: return %[[C]]
func.func @center_is_idempotent(%g: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = geo.center %g
  %1 = geo.center %0
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @center_after_common_ball
// CHECK-NEXT: %[[S:.*]] = geo.common_ball
// CHECK-NEXT: return %[[S]]
func.func @center_after_common_ball(%g: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  %0 = geo.common_ball %g radius(%r) {eps = 1.0e-8}
  %1 = geo.center %0
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @common_ball_after_center
// CHECK-SAME: (%[[G:.*]]: tensor<?x?xf32>,
// CHECK-NEXT: geo.common_ball %[[G]]
func.func @common_ball_after_center(%g: tensor<?x?xf32>, %r: f32) -> tensor<?x?xf32> {
  %0 = geo.center %g
  %1 = geo.common_ball %0 radius(%r) {eps = 1.0e-8}
  return %1 : tensor<?x?xf32>
}

// Rows of length one need not sum to zero, and these oracles see common shifts.
// CHECK-LABEL: func.func @centers_that_stay
// CHECK: geo.normalize_rows
// CHECK-NEXT: geo.center
// CHECK: geo.max_row
// CHECK-NEXT: geo.center
// CHECK: geo.center
// CHECK-NEXT: geo.max_row
// CHECK: geo.center
// CHECK-NEXT: geo.spectral
func.func @centers_that_stay(%g: tensor<?x?xf32>, %r: f32)
    -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = geo.normalize_rows %g
  %1 = geo.center %0
  %2 = geo.max_row %g radius(%r)
  %3 = geo.center %2
  %4 = geo.max_row %3 radius(%r)
  %5 = geo.center %4
  %6 = geo.max_row %5 radius(%r)
  %7 = geo.center %6
  %8 = geo.spectral %7 radius(%r) {schedule = "jordan", steps = 5}
  return %1, %3, %6, %8 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @scale_by_one
// CHECK-SAME: (%[[G:.*]]: tensor<?x?xf32>)
// CHECK-NEXT: return %[[G]]
func.func @scale_by_one(%g: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %one = arith.constant 1.0 : f32
  %0 = geo.scale %g, %one
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @scale_of_scale
// CHECK-SAME: (%[[G:.*]]: tensor<?x?xf32>, %[[C:.*]]: f32, %[[D:.*]]: f32)
// CHECK-NEXT: %[[CD:.*]] = arith.mulf %[[C]], %[[D]] : f32
// CHECK-NEXT: geo.scale %[[G]], %[[CD]]
func.func @scale_of_scale(%g: tensor<?x?xf32>, %c: f32, %d: f32) -> tensor<?x?xf32> {
  %0 = geo.scale %g, %c
  %1 = geo.scale %0, %d
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @scale_by_two_stays
// CHECK: geo.scale
func.func @scale_by_two_stays(%g: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %two = arith.constant 2.0 : f32
  %0 = geo.scale %g, %two
  return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @no_bias
// CHECK-SAME: (%[[B:.*]]: tensor<?x?xf32>, %{{.*}}: i64)
// CHECK-NEXT: return %[[B]]
func.func @no_bias(%b: tensor<?x?xf32>, %t: i64) -> tensor<?x?xf32> {
  %0 = geo.correct_bias %b, %t {beta = 0.0}
  return %0 : tensor<?x?xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Positive factors before homogeneous maps
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @positive_factor
// CHECK-SAME: (%[[G:.*]]: tensor<?x?xf32>,
// CHECK-NEXT: geo.max_row %[[G]] radius(%{{.*}}){{$}}
// CHECK-NEXT: geo.common_ball %[[G]] radius(%{{.*}}){{$}}
// CHECK-NEXT: geo.spectral %[[G]] radius(%{{.*}}) {schedule
// CHECK-NEXT: geo.normalize_rows %[[G]]{{$}}
func.func @positive_factor(%g: tensor<?x?xf32>, %r: f32, %t: i64)
    -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %c = arith.constant 2.5 : f32
  %0 = geo.scale %g, %c
  %1 = geo.correct_bias %0, %t {beta = 0.95}
  %2 = geo.max_row %1 radius(%r)
  %3 = geo.common_ball %1 radius(%r)
  %4 = geo.spectral %1 radius(%r) {schedule = "jordan", steps = 5}
  %5 = geo.normalize_rows %1
  return %2, %3, %4, %5 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}

// With eps > 0 a constant moves into it: ||4 g|| + eps = 4 (||g|| + eps/4).
// CHECK-LABEL: func.func @factor_into_eps
// CHECK-SAME: (%[[G:.*]]: tensor<?x?xf32>,
// CHECK-NEXT: geo.max_row %[[G]] radius(%{{.*}}) {eps = 0.03125}
// CHECK-NEXT: geo.spectral %[[G]] radius(%{{.*}}) {eps = 0.0625, schedule
// CHECK-NEXT: geo.normalize_rows %[[G]] {eps = 0.125}
func.func @factor_into_eps(%g: tensor<?x?xf32>, %r: f32)
    -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %c = arith.constant 4.0 : f32
  %0 = geo.scale %g, %c
  %1 = geo.max_row %0 radius(%r) {eps = 0.125}
  %2 = geo.spectral %0 radius(%r) {schedule = "jordan", steps = 5, eps = 0.25}
  %3 = geo.normalize_rows %0 {eps = 0.5}
  return %1, %2, %3 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}

// A factor that is not known to be positive, one that is not known where eps
// would have to take it, and ones that would push eps out of f32 or over 1.
// CHECK-LABEL: func.func @factors_that_stay
// CHECK: geo.scale
// CHECK-NEXT: geo.max_row
// CHECK-NEXT: geo.scale
// CHECK-NEXT: geo.max_row
// CHECK-NEXT: geo.correct_bias
// CHECK-NEXT: geo.max_row
// CHECK-NEXT: geo.scale
// CHECK-NEXT: geo.max_row
// CHECK-NEXT: geo.scale
// CHECK-NEXT: geo.max_row {{.*}} {eps = 1.0e-08}
func.func @factors_that_stay(%g: tensor<?x?xf32>, %c: f32, %r: f32, %t: i64)
    -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = geo.scale %g, %c
  %1 = geo.max_row %0 radius(%r)
  %minus = arith.constant -2.0 : f32
  %2 = geo.scale %g, %minus
  %3 = geo.max_row %2 radius(%r)
  %4 = geo.correct_bias %g, %t {beta = 0.95}
  %5 = geo.max_row %4 radius(%r) {eps = 1.0e-8}
  %huge = arith.constant 1.0e+35 : f32
  %6 = geo.scale %g, %huge
  %7 = geo.max_row %6 radius(%r) {eps = 1.0e-8}
  %tiny = arith.constant 1.0e-9 : f32
  %8 = geo.scale %g, %tiny
  %9 = geo.max_row %8 radius(%r) {eps = 1.0e-8}
  return %1, %3, %5, %7, %9 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}

// CHECK-LABEL: func.func @normalize_twice
// CHECK-NEXT: %[[N:.*]] = geo.normalize_rows
// CHECK-NEXT: %[[E:.*]] = geo.normalize_rows %[[N]] {eps = 1.0e-08}
// CHECK-NEXT: return %[[N]], %[[E]]
func.func @normalize_twice(%g: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = geo.normalize_rows %g
  %1 = geo.normalize_rows %0
  %2 = geo.normalize_rows %0 {eps = 1.0e-8}
  return %1, %2 : tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Shapes and decay
//===----------------------------------------------------------------------===//

// sqrt(512/128) = 2, sqrt(max(1, 1/4)) = 1, 0.2 sqrt(400) = 4.
// CHECK-LABEL: func.func @shape_scale
// CHECK-SAME: (%[[R:.*]]: f32,
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4.0{{.*}} : f32
// CHECK: %[[TALL:.*]] = arith.mulf %[[R]], %[[TWO]] : f32
// CHECK: %[[RMS:.*]] = arith.mulf %[[R]], %[[FOUR]] : f32
// CHECK: %[[WIDE:.*]] = arith.mulf %[[R]], %[[TWO]] : f32
// CHECK: return %[[TALL]], %[[R]], %[[RMS]], %[[WIDE]]
func.func @shape_scale(%r: f32, %tall: tensor<512x128xf32>, %wide: tensor<128x512xf32>,
                       %w: tensor<100x400xf32>) -> (f32, f32, f32, f32) {
  %0 = geo.shape_scale %r, %tall : tensor<512x128xf32>
  %1 = geo.shape_scale %r, %wide : tensor<128x512xf32>
  %2 = geo.shape_scale %r, %w {kind = "match_rms_adamw"} : tensor<100x400xf32>
  %3 = geo.shape_scale %r, %wide {kind = "original_columns"} : tensor<128x512xf32>
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// A convolution of 64 x 32 x 3 x 3 is a matrix of 64 x 288.
// CHECK-LABEL: func.func @convolution_scale
// CHECK-SAME:    %[[R:.*]]: f32, %{{.*}}: tensor<64x288xf32>
// CHECK-DAG:     %[[RATIO:.*]] = arith.constant 0.471404{{[0-9]*}} : f32
// CHECK-DAG:     %[[RMS:.*]] = arith.constant 3.39411{{[0-9]*}} : f32
// CHECK-DAG:     %[[A:.*]] = arith.mulf %[[R]], %[[RATIO]] : f32
// CHECK-DAG:     %[[B:.*]] = arith.mulf %[[R]], %[[RMS]] : f32
// CHECK:         return %[[R]], %[[A]], %[[B]]
func.func @convolution_scale(%r: f32, %w: tensor<64x288xf32>) -> (f32, f32, f32) {
  %0 = geo.shape_scale %r, %w : tensor<64x288xf32>
  %1 = geo.shape_scale %r, %w {kind = "ratio"} : tensor<64x288xf32>
  %2 = geo.shape_scale %r, %w {kind = "match_rms_adamw"} : tensor<64x288xf32>
  return %0, %1, %2 : f32, f32, f32
}

// CHECK-LABEL: func.func @dynamic_shape_scale
// CHECK-NEXT: geo.shape_scale
func.func @dynamic_shape_scale(%r: f32, %w: tensor<?x?xf32>) -> f32 {
  %0 = geo.shape_scale %r, %w
  return %0 : f32
}

// CHECK-LABEL: func.func @no_decay
// CHECK-SAME: (%[[U:.*]]: tensor<?x?xf32>, %[[S:.*]]: tensor<?x?xf32>,
// CHECK-NEXT: geo.apply %[[U]], %[[S]]{{$}}
func.func @no_decay(%u: tensor<?x?xf32>, %s: tensor<?x?xf32>, %lr: f32) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = geo.apply %u, %s decay(%lr, %zero)
  return %0 : tensor<?x?xf32>
}
