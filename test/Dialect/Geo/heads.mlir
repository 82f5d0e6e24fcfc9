// RUN: %limit steep-opt %s --verify-roundtrip | FileCheck %s
// RUN: %limit steep-opt %s --canonicalize | FileCheck %s --check-prefix=LAW

// CHECK-LABEL: func.func @heads
func.func @heads(%g: tensor<?x?xf32>, %r: f32) {
  // CHECK: geo.clipped_row %{{.*}} radius(%{{.*}}) {clip = 3.0}{{$}}
  %0 = geo.clipped_row %g radius(%r) {clip = 3}
  // CHECK: geo.equalize %{{.*}} radius(%{{.*}}) {floor = 1.0e-07}{{$}}
  %1 = geo.equalize %g radius(%r) {floor = 1.0e-7}
  // CHECK: geo.equalize %{{.*}} radius(%{{.*}}) {order = "columns_rows"}{{$}}
  %2 = geo.equalize %g radius(%r) {order = "columns_rows"}
  // CHECK: geo.equidistant %{{.*}} radius(%{{.*}}) {rounds = 5, steps = 6}{{$}}
  %3 = geo.equidistant %g radius(%r)
  %c = tensor.cast %g : tensor<?x?xf32> to tensor<65x64xf32>
  // CHECK: geo.equidistant %{{.*}} radius(%{{.*}}) dot(bf16) {rounds = 2, steps = 8} : tensor<65x64xf32>
  %4 = geo.equidistant %c radius(%r) dot(bf16) {rounds = 2, steps = 8} : tensor<65x64xf32>
  // CHECK: geo.equidistant %{{.*}} radius(%{{.*}}) {distance = 1.0, repulsion = 3, rounds = 5, steps = 6}{{$}}
  %5 = geo.equidistant %g radius(%r) {repulsion = 3, distance = 1}
  return
}

// The clipped row's oracle does not see a positive factor.
// LAW-LABEL: func.func @factor
// LAW-SAME: %[[G:.*]]: tensor<?x?xf32>, %{{.*}}: f32, %{{.*}}: i64
// LAW-NEXT: geo.clipped_row %[[G]]
func.func @factor(%g: tensor<?x?xf32>, %r: f32, %t: i64) -> tensor<?x?xf32> {
  %0 = geo.correct_bias %g, %t {beta = 0.95}
  %1 = geo.clipped_row %0 radius(%r) {clip = 3.0}
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @allocations
func.func @allocations(%m: tensor<?x?xf32>, %r: f32, %t: i64) {
  %s = geo.spectral %m radius(%r) {schedule = "samuon", steps = 4}
  // CHECK: geo.allocate %{{.*}}, %{{.*}} radius(%{{.*}}) step(%{{.*}}) {gain = 7.07, rank = 32, rounds = 12, warmup_steps = 2125}{{$}}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 7.07, rank = 32, rounds = 12, warmup_steps = 2125}
  // CHECK: geo.allocate {{.*}} {gain = 1.0e+01, rank = 1, rounds = 10}{{$}}
  %1 = geo.allocate %s, %m radius(%r) step(%t) {gain = 10, rank = 1, rounds = 10}
  return
}

// Without a gain there is nothing to allocate.
// LAW-LABEL: func.func @no_gain
// LAW-NEXT: %[[S:.*]] = geo.spectral
// LAW-NEXT: return %[[S]]
func.func @no_gain(%m: tensor<?x?xf32>, %r: f32, %t: i64) -> tensor<?x?xf32> {
  %s = geo.spectral %m radius(%r) {schedule = "jordan", steps = 5}
  %0 = geo.allocate %s, %m radius(%r) step(%t) {gain = 1.0, rank = 3, rounds = 4}
  return %0 : tensor<?x?xf32>
}

// A factor that the spectral oracle does not see, and the vectors do not either.
// LAW-LABEL: func.func @factor_before_allocation
// LAW: geo.correct_bias
// LAW-NEXT: geo.spectral
// LAW-NEXT: geo.allocate
func.func @factor_before_allocation(%m: tensor<?x?xf32>, %r: f32, %t: i64) -> tensor<?x?xf32> {
  %c = geo.correct_bias %m, %t {beta = 0.9}
  %s = geo.spectral %c radius(%r) {schedule = "samuon", steps = 4}
  %0 = geo.allocate %s, %c radius(%r) step(%t) {gain = 2.0, rank = 1, rounds = 4}
  return %0 : tensor<?x?xf32>
}
