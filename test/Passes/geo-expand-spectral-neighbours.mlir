// RUN: %limit steep-opt %s --geo-expand-spectral | FileCheck %s

// A round is a polar factor, a centre, rows of length one; polar factors are
// expanded in turn.
// CHECK-LABEL: func.func @equidistant
// CHECK: geo.normalize_rows %{{.*}} : tensor<9x4xf32>
// CHECK-COUNT-15: linalg.matmul
// CHECK-NOT: linalg.matmul
// CHECK: %[[C1:.*]] = geo.center
// CHECK-NEXT: geo.normalize_rows %[[C1]]
// CHECK-COUNT-15: linalg.matmul
// CHECK-NOT: linalg.matmul
// CHECK: %[[C2:.*]] = geo.center
// CHECK-NEXT: %[[X:.*]] = geo.normalize_rows %[[C2]]
// CHECK-NEXT: %[[R:.*]] = arith.negf
// CHECK-NEXT: %[[S:.*]] = geo.scale %[[X]], %[[R]]
// CHECK-NEXT: return %[[S]]
func.func @equidistant(%c: tensor<9x4xf32>, %r: f32) -> tensor<9x4xf32> {
  %s = geo.equidistant %c radius(%r) {rounds = 2, steps = 5} : tensor<9x4xf32>
  return %s : tensor<9x4xf32>
}

// A sweep of repulsion is the cosines of all pairs, and their forces times X.
// CHECK-LABEL: func.func @repulsion
// CHECK: %[[C:.*]] = geo.center
// CHECK: %[[X:.*]] = geo.normalize_rows %[[C]]
// CHECK: linalg.matmul {geo.symmetric} ins(%[[X]], %{{.*}} : tensor<9x4xf32>, tensor<4x9xf32>)
// CHECK: linalg.matmul ins(%{{.*}}, %[[X]] : tensor<9x9xf32>, tensor<9x4xf32>)
// CHECK: geo.center
// CHECK-NEXT: geo.normalize_rows
func.func @repulsion(%c: tensor<9x4xf32>, %r: f32) -> tensor<9x4xf32> {
  %s = geo.equidistant %c radius(%r) {rounds = 1, repulsion = 1} : tensor<9x4xf32>
  return %s : tensor<9x4xf32>
}

// The precision that the user bounds reaches every product.
// CHECK-LABEL: func.func @precision
// CHECK-COUNT-17: geo.dot = #geo<dot bf16>
func.func @precision(%c: tensor<9x4xf32>, %r: f32) -> tensor<9x4xf32> {
  %s = geo.equidistant %c radius(%r) dot(bf16) {rounds = 1, steps = 5, repulsion = 1} : tensor<9x4xf32>
  return %s : tensor<9x4xf32>
}

// The gain, then one pair: M z and M^T (M z) a round, and M z at the end. No product of
// matrices beyond those of the spectral step.
// CHECK-LABEL: func.func @allocation
// CHECK-COUNT-12: linalg.matmul
// CHECK-NOT: linalg.matmul
// CHECK-COUNT-8: math.fma %{{.*}}, %{{.*}}, %{{.*}} : f64
// CHECK-NOT: math.fma %{{.*}} : f64
// CHECK: return
func.func @allocation(%m: tensor<9x4xf32>, %r: f32, %t: i64) -> tensor<9x4xf32> {
  %o = geo.spectral %m radius(%r) {schedule = "samuon", steps = 4} : tensor<9x4xf32>
  %s = geo.allocate %o, %m radius(%r) step(%t) {gain = 2.0, rank = 1, rounds = 3} : tensor<9x4xf32>
  return %s : tensor<9x4xf32>
}

// Sums of squares over rows, then over columns of what that makes.
// CHECK-LABEL: func.func @equalize
// CHECK: geo.row_squares
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: geo.scale
func.func @equalize(%g: tensor<9x4xf32>, %r: f32) -> tensor<9x4xf32> {
  %s = geo.equalize %g radius(%r) : tensor<9x4xf32>
  return %s : tensor<9x4xf32>
}
