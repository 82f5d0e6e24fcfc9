// RUN: %limit steep-opt %s --block-tile --block-vectorize --block-bufferize --verify-each | FileCheck %s

// In place: rows are views of the arguments; nothing is allocated or copied.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[G:.*]]: memref<5x40xf32>, %[[W:.*]]: memref<5x40xf32>)
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK-NOT:     tensor<
// CHECK:         scf.forall (%[[I:.*]]) in (5) {
// CHECK-DAG:       %[[WROW:.*]] = memref.subview %[[W]][%[[I]], 0] [1, 40] [1, 1]
// CHECK-DAG:       %[[GROW:.*]] = memref.subview %[[G]][%[[I]], 0] [1, 40] [1, 1]
// CHECK:           scf.for %[[J:.*]] = %c0 to %c32 step %c16 {
// CHECK-DAG:         vector.transfer_read %[[GROW]][%c0, %[[J]]]
// CHECK-DAG:         vector.transfer_read %[[WROW]][%c0, %[[J]]]
// CHECK:             vector.transfer_write %{{.*}}, %[[WROW]][%c0, %[[J]]]
// CHECK:           vector.transfer_write %{{.*}}, %[[WROW]][%c0, %c32] {{.*}} : vector<8xf32>
// CHECK:         } {mapping = [#gpu.block<x>]}
#id = affine_map<(i, j) -> (i, j)>
func.func @rows(%G: memref<5x40xf32>, %W: memref<5x40xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 1, chunk = 16>} {
  %g = bufferization.to_tensor %G restrict : memref<5x40xf32> to tensor<5x40xf32>
  %w = bufferization.to_tensor %W restrict writable : memref<5x40xf32> to tensor<5x40xf32>
  %w1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<5x40xf32>) outs(%w : tensor<5x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.subf %y, %x : f32
    linalg.yield %z : f32
  } -> tensor<5x40xf32>
  bufferization.materialize_in_destination %w1 in restrict writable %W : (tensor<5x40xf32>, memref<5x40xf32>) -> ()
  return
}

// The grid of one block stays a grid.

// CHECK-LABEL: func.func @one_block(
// CHECK:         scf.forall (%{{.*}}) in (1) {
// CHECK:           memref.store %{{.*}}, %{{.*}}[] : memref<f32>
func.func @one_block(%Q: memref<3xf32>, %S: memref<f32>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %q = bufferization.to_tensor %Q restrict : memref<3xf32> to tensor<3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce ins(%q : tensor<3xf32>) outs(%f : tensor<f32>) dimensions = [0] (%x: f32, %acc: f32) {
    %z = arith.addf %acc, %x : f32
    linalg.yield %z : f32
  }
  bufferization.materialize_in_destination %s in restrict writable %S : (tensor<f32>, memref<f32>) -> ()
  return
}
