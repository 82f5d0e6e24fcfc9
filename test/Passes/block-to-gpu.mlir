// RUN: %limit steep-opt %s --block-to-gpu --verify-each | FileCheck %s

// One kernel, called on a batch of gradients, on a part of the workspace, and with
// one matrix: three kernels.

// CHECK-LABEL: func.func @double(
// CHECK-SAME:    %{{.*}}: memref<10x8xf32> {block.slot = "external"}, %{{.*}}: memref<10x8xf32> {block.slot = "workspace"}, %{{.*}}: f32 {block.slot = "scalar"})
// CHECK-SAME:    block.grid = 3 : i64
// CHECK-SAME:    block.table
// CHECK-NOT:     block.single
// CHECK:       func.func @double_1(
// CHECK-SAME:    {block.slot = "external"}, %{{.*}}: memref<10x8xf32> {block.slot = "workspace"}, %{{.*}}: f32 {block.slot = "constant"})
// CHECK-SAME:    block.single
// CHECK:       func.func @double_0(
// CHECK-SAME:    {block.slot = "workspace"}, %{{.*}}: memref<10x8xf32> {block.slot = "external"}, %{{.*}}: f32 {block.slot = "scalar"})
// CHECK-SAME:    block.table
func.func @double(%x: memref<10x8xf32>, %y: memref<10x8xf32>, %c: f32)
    attributes {block.kernel, block.config = #block.config<rows = 4, warps = 4>} {
  %xt = bufferization.to_tensor %x restrict : memref<10x8xf32> to tensor<10x8xf32>
  %e = tensor.empty() : tensor<10x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%xt : tensor<10x8xf32>) outs(%e : tensor<10x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.mulf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<10x8xf32>
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<10x8xf32>, memref<10x8xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @batch(
// CHECK:         call @double(
// CHECK:         call @double_0(
func.func @batch(%w: memref<10x8xf32> {optim.role = "weight"}, %g: memref<10x8xf32> {optim.role = "gradient"},
    %lr: f32 {optim.role = "lr"}, %ws: memref<320xi8> {optim.role = "workspace"})
    attributes {block.step, optim.count = 7 : i64} {
  %c0 = arith.constant 0 : index
  %v = memref.view %ws[%c0][] : memref<320xi8> to memref<10x8xf32>
  call @double(%g, %v, %lr) : (memref<10x8xf32>, memref<10x8xf32>, f32) -> ()
  call @double(%v, %w, %lr) : (memref<10x8xf32>, memref<10x8xf32>, f32) -> ()
  return
}

// CHECK-LABEL: func.func @one(
// CHECK:         call @double_1(
func.func @one(%g: memref<10x8xf32> {optim.role = "gradient"}, %ws: memref<320xi8> {optim.role = "workspace"})
    attributes {block.step, optim.count = 1 : i64} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2.0 : f32
  %v = memref.view %ws[%c0][] : memref<320xi8> to memref<10x8xf32>
  call @double(%g, %v, %two) : (memref<10x8xf32>, memref<10x8xf32>, f32) -> ()
  return
}
