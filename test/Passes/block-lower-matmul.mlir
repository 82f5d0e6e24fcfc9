// RUN: %limit steep-opt %s --block-to-gpu --block-lower-matmul --verify-each | FileCheck %s

// X^T X: three blocks make the lower half of 2x2 tiles; one that is not on the diagonal
// writes its mirror image too. Two buffers a tile, one barrier a step.

// CHECK-DAG:   llvm.mlir.global internal @gram_left() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<2176 x f32>
// CHECK-DAG:   llvm.mlir.global internal @gram_right()
// CHECK-LABEL: llvm.func @gram(
// CHECK-SAME:    block.grid = 3 : i64
// CHECK:         nvvm.barrier0
// CHECK:         scf.for {{.*}} -> (vector<4xf32>
// CHECK:           llvm.load {{.*}} : !llvm.ptr<1> -> vector<4xf32>
// CHECK:           math.fma {{.*}} : vector<4xf32>
// CHECK:           llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<3>
// CHECK-COUNT-1:   nvvm.barrier0
// CHECK:           scf.yield
// CHECK:         llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<1>
// CHECK:         arith.xori
// CHECK-NEXT:    scf.if
func.func @gram(%x: memref<96x128xf32>, %y: memref<128x128xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [64, 64, 16], warps = 2, stages = 2>} {
  %xt = bufferization.to_tensor %x restrict : memref<96x128xf32> to tensor<96x128xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x128xf32>) -> tensor<128x128xf32>
  %p = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%xt, %xt : tensor<96x128xf32>, tensor<96x128xf32>) outs(%f : tensor<128x128xf32>) -> tensor<128x128xf32>
  bufferization.materialize_in_destination %p in restrict writable %y : (tensor<128x128xf32>, memref<128x128xf32>) -> ()
  return
}
