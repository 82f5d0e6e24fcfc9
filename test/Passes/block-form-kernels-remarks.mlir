// RUN: %limit steep-opt %s --block-form-kernels --remarks-filter=block-form-kernels -o %t 2>&1 | FileCheck %s

// Every fusion is told, and every one that was not possible with the reason.

#id = affine_map<(i, j) -> (i, j)>
func.func @told(%w: tensor<32x32xf32> {optim.role = "weight"}, %g: tensor<32x32xf32> {optim.role = "gradient"}, %c: f32)
    -> (tensor<32x32xf32> {optim.role = "weight"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %0 = geo.scale %w, %c : tensor<32x32xf32>
  // CHECK: :[[#@LINE+1]]:8: remark: [Passed] Fused | Category:block-form-kernels | Function=told | Remark="geo.normalize_rows joins the kernel of geo.scale"
  %1 = geo.normalize_rows %0 {eps = 1.0e-8} : tensor<32x32xf32>
  // CHECK: :[[#@LINE+1]]:8: remark: [Missed] NotFused | Category:block-form-kernels | Function=told | Reason="its blocks are cut along other dimensions", Remark="linalg.matmul starts after the kernel of geo.normalize_rows"
  %2 = linalg.matmul ins(%1, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  // CHECK: :[[#@LINE+1]]:8: remark: [Missed] NotFused | Category:block-form-kernels | Function=told | Reason="a kernel holds one product", Remark="linalg.matmul starts after the kernel of linalg.matmul"
  %3 = linalg.matmul ins(%2, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  // CHECK: :[[#@LINE+1]]:8: remark: [Passed] Fused | Category:block-form-kernels | Function=told | Remark="geo.apply joins the kernel of linalg.matmul"
  %4 = geo.apply %g, %3 : tensor<32x32xf32>
  // CHECK: :[[#@LINE-1]]:8: remark: [Missed] NotInPlace | Category:block-form-kernels | Function=told | Reason="what it replaces is still read when it is made", Remark="the weight is copied home at the end"
  return %4 : tensor<32x32xf32>
}
