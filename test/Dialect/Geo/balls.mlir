// RUN: %limit steep-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @spec
func.func @spec(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %v: tensor<?x1xf32>,
                %lr: f32, %wd: f32) {
  // CHECK-NEXT: geo.sign %{{.*}} radius(%{{.*}}){{$}}
  %s0 = geo.sign %g radius(%lr)
  // CHECK-NEXT: geo.sign %{{.*}} radius(%{{.*}}) {eps = 1.0e-08}{{$}}
  %s1 = geo.sign %g radius(%lr) {eps = 1.0e-8}
  // CHECK-NEXT: geo.frobenius %{{.*}} radius(%{{.*}}) {eps = 1.0e-08}{{$}}
  %s2 = geo.frobenius %g radius(%lr) {eps = 1.0e-8}
  // CHECK-NEXT: geo.max_column %{{.*}} radius(%{{.*}}) {eps = 1.0e-08}{{$}}
  %s3 = geo.max_column %g radius(%lr) {eps = 1.0e-8}
  // CHECK-NEXT: %{{.*}}, %{{.*}} = geo.row_moment %{{.*}}, %{{.*}} {beta = 0.95, eps = 1.0e-08}{{$}}
  %y, %v1 = geo.row_moment %g, %v {beta = 0.95, eps = 1.0e-8}
  // CHECK-NEXT: geo.apply %{{.*}}, %{{.*}} decay(%{{.*}}, %{{.*}}) {cautious}{{$}}
  %w1 = geo.apply %w, %s0 decay(%lr, %wd) {cautious}
  // CHECK-NEXT: geo.shape_scale %{{.*}}, %{{.*}} {kind = "ratio"}{{$}}
  %r0 = geo.shape_scale %lr, %w {kind = "ratio"}
  // CHECK-NEXT: geo.shape_scale %{{.*}}, %{{.*}} {kind = "mean"}{{$}}
  %r1 = geo.shape_scale %lr, %w {kind = "mean"}
  return
}

// CHECK-LABEL: func.func @static
func.func @static(%g: tensor<4x3xf32>, %v: tensor<4x1xf32>, %lr: f32) {
  // CHECK-NEXT: geo.sign %{{.*}} radius(%{{.*}}) : tensor<4x3xf32>
  %s0 = geo.sign %g radius(%lr) : tensor<4x3xf32>
  // CHECK-NEXT: geo.frobenius %{{.*}} radius(%{{.*}}) : tensor<4x3xf32>
  %s1 = geo.frobenius %g radius(%lr) : tensor<4x3xf32>
  // CHECK-NEXT: geo.row_moment %{{.*}}, %{{.*}} {beta = 0.95, eps = 1.0e-08} : tensor<4x3xf32>, tensor<4x1xf32>
  %y, %v1 = geo.row_moment %g, %v {beta = 0.95, eps = 1.0e-8} : tensor<4x3xf32>, tensor<4x1xf32>
  return
}

// CHECK-LABEL: func.func @spectral_family
func.func @spectral_family(%n: tensor<?x?xf32>, %r: f32) {
  // CHECK-NEXT: geo.spectral %{{.*}} radius(%{{.*}}) {form = "gram", normalization = "scale_free", restarts = [2, 5], schedule = "you", steps = 8}{{$}}
  %0 = geo.spectral %n radius(%r) {schedule = "you", steps = 8, form = "gram",
      restarts = [2, 5], normalization = "scale_free"}
  // CHECK-NEXT: geo.spectral %{{.*}} radius(%{{.*}}) {form = "auto", schedule = "jordan", steps = 5}{{$}}
  %1 = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, form = "auto", normalization = "frobenius"}
  // CHECK-NEXT: geo.spectral %{{.*}} radius(%{{.*}}) {schedule = {{\[\[}}2.0, -1.5, 0.5{{\]\]}}, steps = 8, then = "cubic"}{{$}}
  %2 = geo.spectral %n radius(%r) {schedule = [[2.0, -1.5, 0.5]], steps = 8, then = "cubic", form = "standard"}
  return
}
