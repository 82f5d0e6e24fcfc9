// RUN: %limit steep-opt %s | steep-opt | FileCheck %s

// An integer stands for the float; attributes of other dialects stay.
// CHECK-LABEL: func.func @settings
func.func @settings(%w: tensor<?x?xf32>, %r: f32) {
  // CHECK: geo.ema %{{.*}}, %{{.*}} {beta = 0.0}{{$}}
  %0 = geo.ema %w, %w {beta = 0}
  // CHECK-NEXT: geo.max_row %{{.*}} radius(%{{.*}}){{$}}
  %1 = geo.max_row %w radius(%r) {eps = 0}
  // CHECK-NEXT: geo.center %{{.*}} {tensor.note = 1}{{$}}
  %2 = geo.center %w {tensor.note = 1}
  // CHECK-NEXT: geo.center %{{.*}}{{$}}
  %3 = geo.center %w {}
  return
}
