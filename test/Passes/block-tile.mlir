// RUN: %limit steep-opt %s --split-input-file --block-tile --verify-each | FileCheck %s

// Blocks own rows. The new average goes to the state and to the weight: it is
// made once, and reads the state where it is overwritten.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    block.grid = 5 : i64
// CHECK:         %[[B:.*]] = bufferization.to_tensor %{{.*}} restrict writable
// CHECK:         %[[W:.*]] = bufferization.to_tensor %{{.*}} restrict writable
// CHECK:         scf.forall (%[[I:.*]]) in (5) shared_outs(%[[BO:.*]] = %[[B]], %[[WO:.*]] = %[[W]])
// CHECK-DAG:       %[[BROW:.*]] = tensor.extract_slice %[[BO]][%[[I]], 0] [1, 40] [1, 1]
// CHECK-DAG:       %[[WROW:.*]] = tensor.extract_slice %[[WO]][%[[I]], 0] [1, 40] [1, 1]
// CHECK-DAG:       %[[GROW:.*]] = tensor.extract_slice %{{.*}}[%[[I]], 0] [1, 40] [1, 1]
// CHECK:           %[[B1:.*]] = linalg.generic {{.*}} ins(%[[GROW]] : tensor<1x40xf32>) outs(%[[BROW]] : tensor<1x40xf32>)
// CHECK:           %[[SQ:.*]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[B1]]
// CHECK:           %[[W1:.*]] = linalg.generic {{.*}} ins(%[[B1]], %[[SQ]] : tensor<1x40xf32>, tensor<1xf64>) outs(%[[WROW]]
// CHECK:           scf.forall.in_parallel
// CHECK-NEXT:        tensor.parallel_insert_slice %[[B1]] into %[[BO]][%[[I]], 0] [1, 40] [1, 1]
// CHECK-NEXT:        tensor.parallel_insert_slice %[[W1]] into %[[WO]][%[[I]], 0] [1, 40] [1, 1]
// CHECK:         mapping = [#gpu.block<x>]
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @rows(%G: memref<5x40xf32>, %B: memref<5x40xf32>, %W: memref<5x40xf32>)
    attributes {block.kernel, block.config = #block.config<rows = 1>} {
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
    %q32 = arith.truncf %q : f64 to f32
    %d = arith.divf %x, %q32 : f32
    %z = arith.subf %y, %d : f32
    linalg.yield %z : f32
  } -> tensor<5x40xf32>
  bufferization.materialize_in_destination %b1 in restrict writable %B : (tensor<5x40xf32>, memref<5x40xf32>) -> ()
  bufferization.materialize_in_destination %w1 in restrict writable %W : (tensor<5x40xf32>, memref<5x40xf32>) -> ()
  return
}

// -----

// Several rows a block: the last block has fewer, and every row is a tile.

// CHECK-LABEL: func.func @row_blocks(
// CHECK-SAME:    block.grid = 3 : i64
// CHECK:         scf.forall (%[[BLOCK:.*]]) in (3)
// CHECK:           %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c2
// CHECK:           %[[ROWS:.*]] = affine.min #{{.*}}(%[[FIRST]])
// CHECK:           scf.for %[[I:.*]] = %c0 to %[[ROWS]] step %c1
// CHECK:             tensor.extract_slice %{{.*}}[%[[I]], 0] [1, 40]
// CHECK:             tensor.insert_slice %{{.*}} into %{{.*}}[%[[I]], 0] [1, 40]
#id1 = affine_map<(i, j) -> (i, j)>
func.func @row_blocks(%X: memref<5x40xf32>) attributes {block.kernel, block.config = #block.config<rows = 2>} {
  %x = bufferization.to_tensor %X restrict writable : memref<5x40xf32> to tensor<5x40xf32>
  %y = linalg.generic {indexing_maps = [#id1], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<5x40xf32>) {
  ^bb0(%a: f32):
    %z = arith.negf %a : f32
    linalg.yield %z : f32
  } -> tensor<5x40xf32>
  bufferization.materialize_in_destination %y in restrict writable %X : (tensor<5x40xf32>, memref<5x40xf32>) -> ()
  return
}

// -----

// A sum to a scalar is one block. So is a row that sums rows, few of them: where
// there are many, blocks have summed groups of them before.

// CHECK-LABEL: func.func @sum(
// CHECK-SAME:    block.grid = 1 : i64
// CHECK:         scf.forall (%{{.*}}) in (1) shared_outs(%{{.*}}) -> (tensor<f64>)
// CHECK-LABEL: func.func @mean(
// CHECK-SAME:    block.grid = 1 : i64
// CHECK:         scf.forall (%{{.*}}) in (1) shared_outs(%{{.*}}) -> (tensor<7xf64>)
func.func @sum(%Q: memref<33xf64>, %S: memref<f64>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %q = bufferization.to_tensor %Q restrict : memref<33xf64> to tensor<33xf64>
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %s = linalg.reduce ins(%q : tensor<33xf64>) outs(%f : tensor<f64>) dimensions = [0] (%x: f64, %acc: f64) {
    %z = arith.addf %acc, %x : f64
    linalg.yield %z : f64
  }
  bufferization.materialize_in_destination %s in restrict writable %S : (tensor<f64>, memref<f64>) -> ()
  return
}
func.func @mean(%P: memref<3x7xf64>, %M: memref<7xf64>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %p = bufferization.to_tensor %P restrict : memref<3x7xf64> to tensor<3x7xf64>
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<7xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<7xf64>) -> tensor<7xf64>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
      iterator_types = ["reduction", "parallel"]} ins(%p : tensor<3x7xf64>) outs(%f : tensor<7xf64>) {
  ^bb0(%x: f64, %acc: f64):
    %z = arith.addf %acc, %x : f64
    linalg.yield %z : f64
  } -> tensor<7xf64>
  bufferization.materialize_in_destination %s in restrict writable %M : (tensor<7xf64>, memref<7xf64>) -> ()
  return
}

// -----

// Padding: rows below the matrix read its last row and drop it.

// CHECK-LABEL: func.func @pad(
// CHECK:         scf.forall (%[[I:.*]]) in (8)
// CHECK:           %[[NEAREST:.*]] = arith.minsi %[[I]], %c4
// CHECK:           %[[INSIDE:.*]] = arith.cmpi eq, %[[NEAREST]], %[[I]]
// CHECK:           tensor.extract_slice %{{.*}}[%[[NEAREST]], 0] [1, 3]
// CHECK:           arith.select %[[INSIDE]]
// CHECK:           tensor.insert_slice {{.*}}[0, 0] [1, 3] [1, 1] : tensor<1x3xf32> into tensor<1x8xf32>
#id3 = affine_map<(i, j) -> (i, j)>
func.func @pad(%X: memref<5x3xf32>, %P: memref<8x8xf32>) attributes {block.kernel, block.config = #block.config<rows = 1>} {
  %x = bufferization.to_tensor %X restrict : memref<5x3xf32> to tensor<5x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = tensor.insert_slice %x into %f[0, 0] [5, 3] [1, 1] : tensor<5x3xf32> into tensor<8x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<8x8xf32>, memref<8x8xf32>) -> ()
  return
}

// -----

// A function that is not a kernel stays as it is.

// CHECK-LABEL: func.func @other(
// CHECK-NEXT:    return
func.func @other(%x: memref<f32>) {
  return
}

// -----

// A transpose: a few columns of all rows of the block, then the next ones.

// CHECK-LABEL: func.func @transpose(
// CHECK-SAME:    block.grid = 2 : i64
// CHECK:         scf.for %[[J:.*]] = %c0 to %c40 step %c8
// CHECK:           scf.for %[[I:.*]] = %c0 to %c16 step %c1
// CHECK:             tensor.extract_slice %{{.*}} [8, 1] [1, 1] : tensor<40x32xf32> to tensor<8x1xf32>
#id5 = affine_map<(i, j) -> (i, j)>
#tr5 = affine_map<(i, j) -> (j, i)>
func.func @transpose(%X: memref<40x32xf32>, %Y: memref<32x40xf32>) attributes {block.kernel, block.config = #block.config<rows = 16>} {
  %x = bufferization.to_tensor %X restrict : memref<40x32xf32> to tensor<40x32xf32>
  %e = tensor.empty() : tensor<32x40xf32>
  %y = linalg.generic {indexing_maps = [#tr5, #id5], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<40x32xf32>) outs(%e : tensor<32x40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %z = arith.negf %a : f32
    linalg.yield %z : f32
  } -> tensor<32x40xf32>
  bufferization.materialize_in_destination %y in restrict writable %Y : (tensor<32x40xf32>, memref<32x40xf32>) -> ()
  return
}
