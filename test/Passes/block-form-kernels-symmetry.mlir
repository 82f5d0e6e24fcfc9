// RUN: %limit steep-opt %s --split-input-file --block-form-kernels | FileCheck %s

// A target mirrors all that a kernel with a symmetric product stores, so what is
// not made of symmetric matrices alone takes the mark away: here the weight.
// CHECK-LABEL: func.func @mixed_k0(
// CHECK:         linalg.matmul ins(
func.func @mixed(%w: tensor<8x8xf32> {optim.role = "weight"}, %x: tensor<8x8xf32> {optim.role = "gradient"})
    -> (tensor<8x8xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = linalg.matmul {geo.symmetric} ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.add ins(%w, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Multiples and sums of symmetric matrices are symmetric.
// CHECK-LABEL: func.func @multiple_k0(
// CHECK:         linalg.matmul {geo.symmetric} ins(
func.func @multiple(%w: tensor<8x8xf32> {optim.role = "weight"}, %x: tensor<8x8xf32> {optim.role = "gradient"})
    -> (tensor<8x8xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = linalg.matmul {geo.symmetric} ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.add ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
