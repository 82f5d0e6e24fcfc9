// RUN: %limit steep-opt %s --verify-roundtrip | FileCheck %s

// The type of a spec's matrices is not spelled out.
// CHECK-LABEL: func.func @spec
func.func @spec(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %b: tensor<?x?xf32>,
                %lr: f32, %wd: f32, %clip: f32, %t: i64) {
  // CHECK-NEXT: %[[G:.*]] = geo.scale %{{.*}}, %{{.*}}{{$}}
  %gc = geo.scale %g, %clip
  // CHECK-NEXT: geo.ema %{{.*}}, %[[G]] {beta = 0.95}{{$}}
  %b1 = geo.ema %b, %gc {beta = 0.95}
  // CHECK-NEXT: geo.momentum %{{.*}}, %{{.*}} {beta = 0.95}{{$}}
  %b2 = geo.momentum %b, %gc {beta = 0.95}
  // CHECK-NEXT: %{{.*}}, %{{.*}} = geo.momentum %{{.*}}, %{{.*}} {beta = 0.95, nesterov}{{$}}
  %b3, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  // CHECK-NEXT: geo.correct_bias %{{.*}}, %{{.*}} {beta = 0.95}{{$}}
  %c = geo.correct_bias %b1, %t {beta = 0.95}
  // CHECK-NEXT: geo.correct_bias %{{.*}}, %{{.*}} {ahead = 1, beta = 0.95}{{$}}
  %ahead = geo.correct_bias %b1, %t {beta = 0.95, ahead = 1}
  // CHECK-NEXT: geo.center %{{.*}}{{$}}
  %p = geo.center %c
  // CHECK-NEXT: geo.normalize_rows %{{.*}} {eps = 1.0e-08}{{$}}
  %r = geo.normalize_rows %p {eps = 1.0e-8}
  // CHECK-NEXT: geo.normalize_rows %{{.*}}{{$}}
  %r0 = geo.normalize_rows %p {eps = 0.0}
  // CHECK-NEXT: geo.max_row %{{.*}} radius(%{{.*}}) {eps = 1.0e-08}{{$}}
  %s0 = geo.max_row %c radius(%lr) {eps = 1.0e-8}
  // CHECK-NEXT: geo.common_ball %{{.*}} radius(%{{.*}}) {eps = 1.0e-08}{{$}}
  %s1 = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
  // CHECK-NEXT: geo.shape_scale %{{.*}}, %{{.*}}{{$}}
  %radius = geo.shape_scale %lr, %w {kind = "original"}
  // CHECK-NEXT: geo.shape_scale %{{.*}}, %{{.*}} {kind = "match_rms_adamw"}{{$}}
  %radius2 = geo.shape_scale %lr, %w {kind = "match_rms_adamw"}
  // CHECK-NEXT: geo.spectral %{{.*}} radius(%{{.*}}) {eps = 1.0e-05, schedule = "jordan", steps = 5}{{$}}
  %s2 = geo.spectral %n radius(%radius) {schedule = "jordan", steps = 5, eps = 1.0e-5}
  // CHECK-NEXT: geo.spectral %{{.*}} radius(%{{.*}}) dot(bf16) {safety = 1.05, schedule = "polar_express", steps = 7}{{$}}
  %s3 = geo.spectral %n radius(%radius) dot(bf16) {schedule = "polar_express", steps = 7, safety = 1.05}
  // CHECK-NEXT: geo.spectral %{{.*}} radius(%{{.*}}) {schedule = "cubic", steps = 12}{{$}}
  %s4 = geo.spectral %n radius(%radius) dot(ieee) {schedule = "cubic", steps = 12}
  // CHECK-NEXT: geo.adamw %{{.*}}, %{{.*}}, %{{.*}} lr(%{{.*}}) step(%{{.*}}) {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}{{$}}
  %s5, %m1, %v1 = geo.adamw %b, %b, %g lr(%lr) step(%t) {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10}
  // CHECK-NEXT: geo.apply %{{.*}}, %{{.*}} decay(%{{.*}}, %{{.*}}){{$}}
  %u0 = geo.apply %w, %s0 decay(%lr, %wd)
  // CHECK-NEXT: geo.apply %{{.*}}, %{{.*}}{{$}}
  %u1 = geo.apply %w, %s0
  // CHECK-NEXT: geo.row_squares %{{.*}}{{$}}
  %sq = geo.row_squares %g
  return
}

// CHECK-LABEL: func.func @static
func.func @static(%w: tensor<64x24xf32>, %g: tensor<64x24xf32>, %lr: f32, %t: i64) -> tensor<64xf64> {
  // CHECK-NEXT: geo.ema %{{.*}}, %{{.*}} {beta = 0.95} : tensor<64x24xf32>
  %0 = geo.ema %w, %g {beta = 0.95} : tensor<64x24xf32>
  // CHECK-NEXT: geo.momentum %{{.*}}, %{{.*}} {beta = 0.95, nesterov} : tensor<64x24xf32>
  %1:2 = geo.momentum %w, %g {beta = 0.95, nesterov} : tensor<64x24xf32>
  // CHECK-NEXT: geo.max_row %{{.*}} radius(%{{.*}}) : tensor<64x24xf32>
  %2 = geo.max_row %g radius(%lr) : tensor<64x24xf32>
  // CHECK-NEXT: geo.adamw %{{.*}} : tensor<64x24xf32>
  %3:3 = geo.adamw %w, %w, %g lr(%lr) step(%t) {beta1 = 0.9, beta2 = 0.999, eps = 1.0e-10} : tensor<64x24xf32>
  // CHECK-NEXT: geo.row_squares %{{.*}} : tensor<64x24xf32>
  %4 = geo.row_squares %g : tensor<64x24xf32>
  return %4 : tensor<64xf64>
}

// CHECK-LABEL: func.func @facts
// CHECK-SAME: {geo.facts = [#geo.shift_invariant]}
// CHECK-SAME: {geo.facts = [#geo.zero_column_sum]}
// CHECK-SAME: {geo.facts = []}
func.func @facts(%u: tensor<8x4xf32> {geo.facts = [#geo.shift_invariant]},
                 %g: tensor<8x4xf32> {geo.facts = [#geo.zero_column_sum]},
                 %b: tensor<8x4xf32> {geo.facts = []}) {
  return
}
