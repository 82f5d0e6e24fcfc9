// RUN: %limit steep-opt %s --geo-round-operands | FileCheck %s
// RUN: %limit steep-opt %s --geo-round-operands | steep-opt --geo-round-operands | FileCheck %s

// An operand is rounded once, where it is made; other readers have it as it was, and
// products of another precision stay as they are.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK:         %[[XB:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
// CHECK-NOT:     linalg.generic
// CHECK:         %[[A:.*]] = linalg.matmul indexing_maps = {{.*}} {geo.dot = #geo<dot bf16>, geo.symmetric} ins(%[[XB]], %[[XB]] : tensor<8x4xbf16>, tensor<8x4xbf16>) outs(%{{.*}} : tensor<4x4xf32>)
// CHECK:         %[[AB:.*]] = linalg.generic {{.*}} ins(%[[A]] : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xbf16>)
// CHECK:         %[[Q:.*]] = linalg.matmul {geo.dot = #geo<dot bf16>} ins(%[[XB]], %[[AB]] : tensor<8x4xbf16>, tensor<4x4xbf16>) outs(%{{.*}} : tensor<8x4xf32>)
// CHECK:         %[[P:.*]] = linalg.matmul ins(%[[X]], %[[A]] : tensor<8x4xf32>, tensor<4x4xf32>)
// CHECK:         return %[[Q]], %[[P]]
func.func @chain(%x: tensor<8x4xf32>, %zs: tensor<4x4xf32>, %zb: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %a = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      {geo.dot = #geo<dot bf16>, geo.symmetric} ins(%x, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%zs : tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = linalg.matmul {geo.dot = #geo<dot bf16>} ins(%x, %a : tensor<8x4xf32>, tensor<4x4xf32>) outs(%zb : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = linalg.matmul ins(%x, %a : tensor<8x4xf32>, tensor<4x4xf32>) outs(%zb : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %q, %p : tensor<8x4xf32>, tensor<8x4xf32>
}
