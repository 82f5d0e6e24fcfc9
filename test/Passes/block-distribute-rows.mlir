// RUN: %limit steep-opt %s --block-to-gpu --block-distribute-rows --verify-each | FileCheck %s

// Only two divides a row of 130 floats: a lane holds vectors of
// two, two whole chunks and a masked one. Four warps, a row each; ten rows are no
// whole number of blocks.

// CHECK-LABEL: llvm.func @negate(
// CHECK-SAME:    %[[X:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %[[Y:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %{{.*}}: i64)
// CHECK-SAME:    block.grid = 3 : i64, block.single, nvvm.kernel, nvvm.reqntid = array<i32: 32, 4>
// CHECK:         nvvm.read.ptx.sreg.tid.x
// CHECK:         nvvm.read.ptx.sreg.tid.y
// CHECK:         nvvm.read.ptx.sreg.ctaid.x
// CHECK:         arith.cmpi ult, %{{.*}}, %c10_i64
// CHECK:         scf.if
// CHECK:         llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK:         llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
// CHECK:         llvm.load %{{.*}} invariant {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK:         llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
// CHECK:         scf.if %{{.*}} -> (vector<2xf32>)
// CHECK:         llvm.load
// CHECK:         scf.if
// CHECK:         llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
// CHECK-NOT:     nvvm.barrier
func.func @negate(%x: memref<10x130xf32>, %y: memref<10x130xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  %xt = bufferization.to_tensor %x restrict : memref<10x130xf32> to tensor<10x130xf32>
  %e = tensor.empty() : tensor<10x130xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%xt : tensor<10x130xf32>) outs(%e : tensor<10x130xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<10x130xf32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<10x130xf32>, memref<10x130xf32>) -> ()
  return
}
