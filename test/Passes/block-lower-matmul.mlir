// RUN: %limit steep-opt %s --block-to-gpu --block-lower-matmul --verify-each | FileCheck %s
// RUN: %limit steep-opt %s --block-to-gpu --block-lower-matmul=wgmma --verify-each | FileCheck %s --check-prefix=WGMMA

// X^T X: three blocks make the lower half of 2x2 tiles; one that is not on the diagonal
// writes its mirror image too, one that is writes numbers one by one. Two buffers a tile,
// one wait and one barrier a step, copies of 16 bytes.

// CHECK-DAG:   llvm.mlir.global internal @gram_operands() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<17408 x i8>
// CHECK-LABEL: llvm.func @gram(
// CHECK-SAME:    block.grid = 3 : i64
// CHECK-NOT:     block.shared
// CHECK:         %[[DIAGONAL:.*]] = arith.cmpi eq
// CHECK-COUNT-8: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK:         nvvm.cp.async.commit.group
// CHECK:         scf.for {{.*}} -> (vector<4xf32>
// CHECK-NEXT:      nvvm.cp.async.wait.group 0
// CHECK-NEXT:      nvvm.barrier0
// CHECK:           scf.if
// CHECK-COUNT-8:     nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK:           nvvm.cp.async.commit.group
// CHECK:           llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK:           math.fma {{.*}} : vector<4xf32>
// CHECK-NOT:       nvvm.barrier0
// CHECK:           scf.yield
// CHECK:         scf.if %[[DIAGONAL]]
// CHECK:           arith.cmpi uge
// CHECK:           llvm.store {{.*}} : vector<1xf32>, !llvm.ptr<1>
// CHECK:           arith.cmpi ult
// CHECK:           llvm.store {{.*}} : vector<1xf32>, !llvm.ptr<1>
// CHECK:         } else {
// CHECK-COUNT-32:  llvm.store {{.*}} : vector<4xf32>, !llvm.ptr<1>
// CHECK-NOT:       llvm.store
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

// Said to be symmetric: the lower half of 4x4 tiles. bf16 goes as it is, three stages at
// most two of which are on their way; ldmatrix and mma.sync, or wgmma and a fence
// between copies and tensor cores.
// CHECK-LABEL: llvm.func @square(
// CHECK-SAME:    block.grid = 10 : i64
// CHECK-COUNT-16: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK:         scf.for
// CHECK-NEXT:      nvvm.cp.async.wait.group 1
// CHECK-NEXT:      nvvm.barrier0
// CHECK:           nvvm.ldmatrix
// CHECK:           nvvm.mma.sync

// WGMMA-LABEL: llvm.func @square(
// WGMMA:         scf.for
// WGMMA-NEXT:      nvvm.cp.async.wait.group 1
// WGMMA-NEXT:      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// WGMMA-NEXT:      nvvm.barrier0
// WGMMA:           nvvm.wgmma.fence.aligned
// WGMMA-COUNT-4:   nvvm.wgmma.mma_async
// WGMMA:           nvvm.wgmma.commit.group.sync.aligned
// WGMMA-COUNT-8:   nvvm.cp.async.shared.global
// WGMMA:           nvvm.cp.async.commit.group
// WGMMA:           nvvm.wgmma.wait.group.sync.aligned 0
func.func @square(%x: memref<256x256xbf16>, %y: memref<256x256xbf16>, %z: memref<256x256xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [64, 64, 64], warps = 4, stages = 3, dot = bf16>} {
  %xt = bufferization.to_tensor %x restrict : memref<256x256xbf16> to tensor<256x256xbf16>
  %yt = bufferization.to_tensor %y restrict : memref<256x256xbf16> to tensor<256x256xbf16>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.matmul {geo.symmetric} ins(%xt, %yt : tensor<256x256xbf16>, tensor<256x256xbf16>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  bufferization.materialize_in_destination %p in restrict writable %z : (tensor<256x256xf32>, memref<256x256xf32>) -> ()
  return
}

// More than 48 KiB are dynamic. Not symmetric: all tiles.
// CHECK:       llvm.mlir.global external @large_operands() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK:       llvm.func @large(
// CHECK-SAME:    block.grid = 4 : i64
// CHECK-SAME:    block.shared = 98304 : i64
func.func @large(%x: memref<256x256xbf16>, %y: memref<256x256xbf16>, %z: memref<256x256xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [128, 128, 64], warps = 8, stages = 3, dot = bf16>} {
  %xt = bufferization.to_tensor %x restrict : memref<256x256xbf16> to tensor<256x256xbf16>
  %yt = bufferization.to_tensor %y restrict : memref<256x256xbf16> to tensor<256x256xbf16>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.matmul ins(%xt, %yt : tensor<256x256xbf16>, tensor<256x256xbf16>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  bufferization.materialize_in_destination %p in restrict writable %z : (tensor<256x256xf32>, memref<256x256xf32>) -> ()
  return
}

// Rows of bf16 that start anywhere go through registers; those of two go by 4 bytes, and
// what is outside of the matrix is not read.
// CHECK-LABEL: llvm.func @odd(
// CHECK-NOT:     nvvm.cp.async
// CHECK-LABEL: llvm.func @even(
// CHECK:         %[[BYTES:.*]] = arith.select %{{.*}}, %c4_i32, %c0_i32
// CHECK:         nvvm.cp.async.shared.global {{.*}}, 4, cache = ca, %[[BYTES]]
func.func @odd(%x: memref<65x65xbf16>, %y: memref<65x65xbf16>, %z: memref<65x65xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [64, 64, 64], warps = 4, stages = 2, dot = bf16>} {
  %xt = bufferization.to_tensor %x restrict : memref<65x65xbf16> to tensor<65x65xbf16>
  %yt = bufferization.to_tensor %y restrict : memref<65x65xbf16> to tensor<65x65xbf16>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<65x65xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<65x65xf32>) -> tensor<65x65xf32>
  %p = linalg.matmul ins(%xt, %yt : tensor<65x65xbf16>, tensor<65x65xbf16>) outs(%f : tensor<65x65xf32>) -> tensor<65x65xf32>
  bufferization.materialize_in_destination %p in restrict writable %z : (tensor<65x65xf32>, memref<65x65xf32>) -> ()
  return
}
func.func @even(%x: memref<66x66xbf16>, %y: memref<66x66xbf16>, %z: memref<66x66xf32>)
    attributes {block.kernel, block.config = #block.config<tile = [64, 64, 64], warps = 4, stages = 2, dot = bf16>} {
  %xt = bufferization.to_tensor %x restrict : memref<66x66xbf16> to tensor<66x66xbf16>
  %yt = bufferization.to_tensor %y restrict : memref<66x66xbf16> to tensor<66x66xbf16>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<66x66xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<66x66xf32>) -> tensor<66x66xf32>
  %p = linalg.matmul ins(%xt, %yt : tensor<66x66xbf16>, tensor<66x66xbf16>) outs(%f : tensor<66x66xf32>) -> tensor<66x66xf32>
  bufferization.materialize_in_destination %p in restrict writable %z : (tensor<66x66xf32>, memref<66x66xf32>) -> ()
  return
}
