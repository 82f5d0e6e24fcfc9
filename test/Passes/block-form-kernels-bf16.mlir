// RUN: %limit steep-opt %s --split-input-file '--block-form-kernels=panel=48' | FileCheck %s
// RUN: %limit steep-opt %s --split-input-file '--block-form-kernels=panel=48 amx=true' | FileCheck %s --check-prefix=AMX

// Where a product may round its operands, they are rounded by the kernel that
// makes them: X twice, in rows for the product that reads it along its rows and
// with its rows in pairs for the one that reads it across. A stays FP32 as well,
// since it is added to its square.
// CHECK-LABEL: func.func @chain_k0(
// CHECK-SAME:    %[[X:[a-z0-9]*]]: memref<96x64xf32>
// CHECK-DAG:     memref<2x96x48xbf16>
// CHECK-DAG:     memref<2x48x48x2xbf16>
// CHECK:         arith.bitcast %{{.*}} : i16 to bf16
// CHECK-DAG:     linalg.pack {{.*}} inner_dims_pos = [1] inner_tiles = [48]
// CHECK-DAG:     linalg.pack {{.*}} inner_dims_pos = [1, 0] inner_tiles = [48, 2]
// CHECK-LABEL: func.func @chain_k1(
// CHECK-SAME:    memref<2x48x48x2xbf16>, %{{.*}}: memref<64x64xf32>, %{{.*}}: memref<2x32x48x2xbf16>)
// CHECK:         linalg.unpack {{.*}} inner_dims_pos = [1, 0] inner_tiles = [48, 2]
// CHECK:         linalg.generic {{.*}} ins(%[[L:.*]], %[[L]] : tensor<96x64xbf16>, tensor<96x64xbf16>) {{.*}}geo.symmetric
// CHECK:           arith.extf
// CHECK:           arith.mulf
// CHECK-LABEL: func.func @chain(

// AMX reads left operands along their rows, so of X^T X it is X^T that is
// rounded in rows, by a kernel of its own; panels have 32 columns, as its parts.
// Its processors round in one instruction.
// AMX-LABEL: func.func @chain_k0(
// AMX-DAG:     memref<2x96x32xbf16>
// AMX-DAG:     memref<2x48x32x2xbf16>
// AMX:         arith.truncf %{{.*}} : f32 to bf16
// AMX-LABEL: func.func @chain_k1(
// AMX-SAME:    memref<96x64xf32>, %{{.*}}: memref<3x64x32xbf16>)
// AMX-LABEL: func.func @chain_k2(
// AMX-SAME:    memref<3x64x32xbf16>, %{{.*}}: memref<2x48x32x2xbf16>, %{{.*}}: memref<64x64xf32>, %{{.*}}: memref<2x32x32x2xbf16>)
// AMX:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<64x96xbf16>, tensor<96x64xbf16>) {{.*}}geo.symmetric
func.func @chain(%w: tensor<96x64xf32> {optim.role = "weight"}, %x: tensor<96x64xf32> {optim.role = "gradient"},
    %s: tensor<64x64xf32> {optim.role = "state"}) -> (tensor<96x64xf32> {optim.role = "weight"}, tensor<64x64xf32> {optim.role = "state"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      {geo.symmetric, geo.dot = #geo<dot bf16>} ins(%x, %x : tensor<96x64xf32>, tensor<96x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = tensor.empty() : tensor<96x64xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<96x64xf32>) -> tensor<96x64xf32>
  %y = linalg.matmul {geo.dot = #geo<dot bf16>} ins(%x, %a : tensor<96x64xf32>, tensor<64x64xf32>) outs(%h : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %y, %a : tensor<96x64xf32>, tensor<64x64xf32>
}

// -----

// An odd depth has no pairs: the product is FP32, which is better than asked for.
// CHECK-LABEL: func.func @odd_k1(
// CHECK-NOT:     bf16xf32
// CHECK:         linalg.matmul {{.*}} ins(%{{.*}}, %{{.*}} : tensor<8x7xf32>, tensor<7x8xf32>)
// CHECK-LABEL: func.func @odd(
func.func @odd(%w: tensor<8x8xf32> {optim.role = "weight"}, %a: tensor<8x7xf32> {optim.role = "gradient"}, %b: tensor<7x8xf32> {optim.role = "state"})
    -> (tensor<8x8xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.matmul {geo.dot = #geo<dot bf16>} ins(%a, %b : tensor<8x7xf32>, tensor<7x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
