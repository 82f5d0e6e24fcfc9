// RUN: %limit steep-opt %s --split-input-file --block-tile --block-vectorize --verify-each | FileCheck %s

// A row of 40 with a norm: one walk for the sum, one for everything that is
// written. The state is read again rather than stored early, so that both walks
// see the old one. 40 = 2 chunks of 16 and a piece of 8.

// CHECK-LABEL: func.func @rows(
// CHECK:         scf.forall
// CHECK:           %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c32 step %c16 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<16xf64>)
// CHECK-NOT:         transfer_write
// CHECK:             %[[X:.*]] = arith.addf {{.*}} : vector<16xf32>
// CHECK:             %[[X64:.*]] = arith.extf %[[X]] : vector<16xf32> to vector<16xf64>
// CHECK:             %[[NEXT:.*]] = math.fma %[[X64]], %[[X64]], %[[ACC]] : vector<16xf64>
// CHECK:             scf.yield %[[NEXT]]
// The piece, then the tree: halves onto halves.
// CHECK:           vector.transfer_read {{.*}} vector<8xf32>
// CHECK:           vector.extract_strided_slice %[[SUM]] {offsets = [0], sizes = [8]
// CHECK:           vector.extract_strided_slice %[[SUM]] {offsets = [8], sizes = [8]
// CHECK-NOT:       vector.reduction
// CHECK:           %[[NORM:.*]] = math.sqrt %{{.*}} : f64
// The norm is the same for all columns and stays outside of the second walk.
// CHECK:           scf.for {{.*}} -> (tensor<1x40xf32>, tensor<1x40xf32>)
// CHECK-NOT:         math.sqrt
// CHECK:             vector.transfer_write
// CHECK:             vector.transfer_write
// CHECK:           }
// CHECK:           vector.transfer_write {{.*}} : vector<8xf32>
// CHECK:           vector.transfer_write {{.*}} : vector<8xf32>
// CHECK-NOT:     linalg
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @rows(%G: memref<5x40xf32>, %B: memref<5x40xf32>, %W: memref<5x40xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 1, chunk = 16>} {
  %g = bufferization.to_tensor %G restrict : memref<5x40xf32> to tensor<5x40xf32>
  %b = bufferization.to_tensor %B restrict writable : memref<5x40xf32> to tensor<5x40xf32>
  %w = bufferization.to_tensor %W restrict writable : memref<5x40xf32> to tensor<5x40xf32>
  %zero = arith.constant 0.0 : f64
  %b1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<5x40xf32>) outs(%b : tensor<5x40xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<5x40xf32>
  %e = tensor.empty() : tensor<5xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %sq = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%b1 : tensor<5x40xf32>) outs(%f : tensor<5xf64>) {
  ^bb0(%x: f32, %acc: f64):
    %x64 = arith.extf %x : f32 to f64
    %z = math.fma %x64, %x64, %acc : f64
    linalg.yield %z : f64
  } -> tensor<5xf64>
  %w1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b1, %sq : tensor<5x40xf32>, tensor<5xf64>) outs(%w : tensor<5x40xf32>) {
  ^bb0(%x: f32, %q: f64, %y: f32):
    %n = math.sqrt %q : f64
    %n32 = arith.truncf %n : f64 to f32
    %d = arith.divf %x, %n32 : f32
    %z = arith.subf %y, %d : f32
    linalg.yield %z : f32
  } -> tensor<5x40xf32>
  bufferization.materialize_in_destination %b1 in restrict writable %B : (tensor<5x40xf32>, memref<5x40xf32>) -> ()
  bufferization.materialize_in_destination %w1 in restrict writable %W : (tensor<5x40xf32>, memref<5x40xf32>) -> ()
  return
}

// -----

// A sum that nothing waits for is part of the one walk there is.

// CHECK-LABEL: func.func @sum_beside(
// CHECK:         scf.for {{.*}} -> (vector<16xf64>, tensor<1x32xf32>)
// CHECK-NOT:     scf.for
// CHECK:         tensor.insert
#id1 = affine_map<(i, j) -> (i, j)>
#row1 = affine_map<(i, j) -> (i)>
func.func @sum_beside(%X: memref<5x32xf32>, %Q: memref<5xf64>)
    attributes {block.kernel, block.config = #block.config<rows = 1, chunk = 16>} {
  %x = bufferization.to_tensor %X restrict writable : memref<5x32xf32> to tensor<5x32xf32>
  %zero = arith.constant 0.0 : f64
  %y = linalg.generic {indexing_maps = [#id1], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<5x32xf32>) {
  ^bb0(%a: f32):
    %z = arith.negf %a : f32
    linalg.yield %z : f32
  } -> tensor<5x32xf32>
  %e = tensor.empty() : tensor<5xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<5xf64>) -> tensor<5xf64>
  %q = linalg.generic {indexing_maps = [#id1, #row1], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<5x32xf32>) outs(%f : tensor<5xf64>) {
  ^bb0(%a: f32, %acc: f64):
    %a64 = arith.extf %a : f32 to f64
    %z = arith.addf %acc, %a64 : f64
    linalg.yield %z : f64
  } -> tensor<5xf64>
  bufferization.materialize_in_destination %y in restrict writable %X : (tensor<5x32xf32>, memref<5x32xf32>) -> ()
  bufferization.materialize_in_destination %q in restrict writable %Q : (tensor<5xf64>, memref<5xf64>) -> ()
  return
}

// -----

// Padding of columns: the walk is cut at the edge; zeros are never stored in
// between.

// CHECK-LABEL: func.func @pad(
// CHECK:         scf.forall
// CHECK:           vector.transfer_write {{.*}}[%c0, %c0] {{.*}} : vector<2xf32>
// CHECK:           vector.transfer_write {{.*}}[%c0, %c2] {{.*}} : vector<1xf32>
// CHECK:           vector.transfer_write {{.*}}[%c0, %c3] {{.*}} : vector<4xf32>
// CHECK:           vector.transfer_write {{.*}}[%c0, %c7] {{.*}} : vector<1xf32>
// CHECK-NOT:       vector.transfer_write
func.func @pad(%X: memref<8x3xf32>, %P: memref<8x8xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 1, chunk = 16>} {
  %x = bufferization.to_tensor %X restrict : memref<8x3xf32> to tensor<8x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tensor.insert_slice %x into %f[0, 0] [8, 3] [1, 1] : tensor<8x3xf32> into tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

// -----

// One result is made from what the other overwrites: both are computed, then
// both are written.

// CHECK-LABEL: func.func @swap(
// CHECK:         scf.for %{{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK:           %[[OLDY:.*]] = vector.transfer_read %[[Y]]
// CHECK:           %[[OLDX:.*]] = vector.transfer_read %[[X]]
// CHECK:           vector.transfer_write %[[OLDY]], %[[X]]
// CHECK:           vector.transfer_write %[[OLDX]], %[[Y]]
#id4 = affine_map<(i, j) -> (i, j)>
func.func @swap(%X: memref<8x32xf32>, %Y: memref<8x32xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 1, chunk = 16>} {
  %x = bufferization.to_tensor %X restrict writable : memref<8x32xf32> to tensor<8x32xf32>
  %y = bufferization.to_tensor %Y restrict writable : memref<8x32xf32> to tensor<8x32xf32>
  %e = tensor.empty() : tensor<8x32xf32>
  %x1 = linalg.copy ins(%y : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y1 = linalg.copy ins(%x : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  bufferization.materialize_in_destination %x1 in restrict writable %X : (tensor<8x32xf32>, memref<8x32xf32>) -> ()
  bufferization.materialize_in_destination %y1 in restrict writable %Y : (tensor<8x32xf32>, memref<8x32xf32>) -> ()
  return
}
