// RUN: %limit steep-opt %s --geo-expand-spectral="pad-to=1" --split-input-file | FileCheck %s
// RUN: %limit steep-opt %s --geo-expand-spectral --split-input-file --remarks-filter=geo-expand-spectral 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=REMARK

// REMARK: [Analysis] Schedule | {{.*}} Function=gram | Remark="singular values in [0.01, 1] go to [0.065{{.*}}, 1], Gram form, restarts after step 1"
// CHECK-LABEL: func.func @gram
// CHECK-SAME: (%[[N:.*]]: tensor<64x16xf32>
// The first step needs R^2 alone, being the last of its segment.
// CHECK: %[[X:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<64x16xf32>)
// CHECK: %[[R:.*]] = linalg.matmul {{.*}} ins(%[[X]], %[[X]] : tensor<64x16xf32>, tensor<64x16xf32>)
// CHECK: linalg.matmul {geo.symmetric} ins(%[[R]], %[[R]] : tensor<16x16xf32>, tensor<16x16xf32>)
// CHECK: linalg.matmul ins(%[[X]], %{{.*}} : tensor<64x16xf32>, tensor<16x16xf32>)
// CHECK: %[[X1:.*]] = linalg.generic {{.*}} ins(%[[X]], %{{.*}} : tensor<64x16xf32>, tensor<64x16xf32>)
// Then R anew, and R^2, R Z, Z T, R^2, N Z for two steps at once.
// CHECK: %[[R1:.*]] = linalg.matmul {{.*}} {geo.symmetric} ins(%[[X1]], %[[X1]] : tensor<64x16xf32>, tensor<64x16xf32>)
// CHECK-COUNT-5: linalg.matmul {geo.symmetric} ins({{.*}} : tensor<16x16xf32>, tensor<16x16xf32>)
// CHECK: linalg.matmul ins(%[[X1]], %{{.*}} : tensor<64x16xf32>, tensor<16x16xf32>)
// CHECK-NOT: linalg.matmul
func.func @gram(%n: tensor<64x16xf32>, %r: f32) -> tensor<64x16xf32> {
  %s = geo.spectral %n radius(%r) {schedule = "cubic", steps = 3, form = "gram", restarts = [1]} : tensor<64x16xf32>
  return %s : tensor<64x16xf32>
}

// -----

// By cost: square matrices keep the standard form, wide ones do not.
// REMARK: Function=square | Remark="singular values in [0.01, 1] go to [0.68{{.*}}, 1.13{{.*}}], standard form"
// CHECK-LABEL: func.func @square
// CHECK-COUNT-15: linalg.matmul
// CHECK-NOT: linalg.matmul
func.func @square(%n: tensor<16x16xf32>, %r: f32) -> tensor<16x16xf32> {
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, form = "auto"} : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

// -----

// REMARK: Function=wide | Remark="{{.*}}, Gram form"
// CHECK-LABEL: func.func @wide
// CHECK-COUNT-19: linalg.matmul
// CHECK-NOT: linalg.matmul
func.func @wide(%n: tensor<16x64xf32>, %r: f32) -> tensor<16x64xf32> {
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 5, form = "auto"} : tensor<16x64xf32>
  return %s : tensor<16x64xf32>
}

// -----

// On BF16 operands auto is the standard form.
// REMARK: Function=wide_bf16 | Remark="{{.*}}, standard form"
// CHECK-LABEL: func.func @wide_bf16
// CHECK-COUNT-15: linalg.matmul
// CHECK-NOT: linalg.matmul
func.func @wide_bf16(%n: tensor<16x64xf32>, %r: f32) -> tensor<16x64xf32> {
  %s = geo.spectral %n radius(%r) dot(bf16) {schedule = "jordan", steps = 5, form = "auto"} : tensor<16x64xf32>
  return %s : tensor<16x64xf32>
}

// -----

// Free of scale: the quotient is formed in f64.
// CHECK-LABEL: func.func @scale_free
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<f64>)
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NEXT: arith.mulf %{{.*}} : f64
// CHECK-NEXT: arith.truncf %{{.*}} : f64 to f32
func.func @scale_free(%n: tensor<16x16xf32>, %r: f32) -> tensor<16x16xf32> {
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 1, normalization = "scale_free"} : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

// -----

// So it is where no eps keeps the inverse norm within f32.
// CHECK-LABEL: func.func @no_eps
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<f64>)
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NEXT: arith.mulf %{{.*}} : f64
// CHECK-NEXT: arith.truncf %{{.*}} : f64 to f32
func.func @no_eps(%n: tensor<16x16xf32>, %r: f32) -> tensor<16x16xf32> {
  %s = geo.spectral %n radius(%r) {schedule = "jordan", steps = 1, eps = 1.0e-45} : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

// -----

// Another geometry that needs a whole sum is expanded by the same pass.
// CHECK-LABEL: func.func @frobenius
// CHECK: geo.row_squares
// CHECK-NOT: geo.frobenius
func.func @frobenius(%n: tensor<16x16xf32>, %r: f32) -> tensor<16x16xf32> {
  %s = geo.frobenius %n radius(%r) : tensor<16x16xf32>
  return %s : tensor<16x16xf32>
}

// -----

// CHECK-LABEL: func.func @max_column
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : tensor<16x12xf32>) outs(%{{.*}} : tensor<12xf64>)
// CHECK-NOT: geo.max_column
func.func @max_column(%n: tensor<16x12xf32>, %r: f32) -> tensor<16x12xf32> {
  %s = geo.max_column %n radius(%r) : tensor<16x12xf32>
  return %s : tensor<16x12xf32>
}
