// RUN: %limit steep-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(block-lower-products))' | FileCheck %s

// Both operands lie in panels of 8 columns, the left one is read across. A block
// is two panels; a row of the right panel is two vectors, of which each of four
// rows makes two sums.
// CHECK-LABEL: func.func @across
// CHECK-SAME: block.grid = 2 : i64
func.func @across(%A: memref<2x16x8xf32>, %B: memref<4x16x8xf32>, %P: memref<4x16x8xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [16, 16], micro = [4, 8], lanes = 4>} {
  // CHECK: scf.forall (%[[B:.*]]) in (2)
  // Rows, then panels of columns.
  // CHECK:   scf.for %{{.*}} = %c0 to %c16 step %c4
  // CHECK-NOT: vector.load
  // CHECK:   scf.for {{.*}} step %c8
  // CHECK-NOT: vector.load
  // The depth in pieces as long as a panel is wide; in each, two of the four
  // rows of the result are asked for.
  // CHECK:     %[[SUMS:.*]]:8 = scf.for %[[PIECE:.*]] = %c0 to %c2 step %c1
  // CHECK:       %[[DOWN:.*]] = arith.muli %[[PIECE]], %c2
  // CHECK:       %[[ROW:.*]] = arith.addi %{{.*}}, %[[DOWN]]
  // CHECK:       memref.prefetch %arg2[%{{.*}}, %[[ROW]], %{{.*}}], write
  // CHECK:       memref.prefetch %arg2
  // CHECK-NOT:   memref.prefetch
  // CHECK:       scf.for %{{.*}} = %c0 to %c8 step %c2
  // What comes later, before each term its part: the cache lines of the right
  // panel, which are two rows each, the rows of the left one.
  // CHECK:       %[[FIRST:.*]] = arith.addi %{{.*}}, %c192
  // CHECK:       %[[NEXT:.*]] = arith.addi %{{.*}}, %c192
  // CHECK:       memref.prefetch %arg1[%{{.*}}, %[[FIRST]], %{{.*}}], read
  // CHECK:       memref.prefetch %arg0[%{{.*}}, %[[FIRST]], %{{.*}}], read
  // CHECK-NOT:   memref.prefetch
  // CHECK:       vector.load {{.*}} : memref<4x16x8xf32>, vector<4xf32>
  // CHECK:       memref.load %{{.*}} : memref<2x16x8xf32>
  // CHECK:       math.fma
  // CHECK-NOT:   memref.prefetch %arg1
  // CHECK:       memref.prefetch %arg0[%{{.*}}, %[[NEXT]], %{{.*}}], read
  // CHECK:       math.fma
  // CHECK-NOT:   memref.prefetch
  // CHECK:       scf.yield
  // CHECK:     vector.store %[[SUMS]]#0, %{{.*}} : memref<4x16x8xf32>, vector<4xf32>
  // CHECK-COUNT-7: vector.store
  // CHECK: {mapping = [#gpu.block<x>]}
  // CHECK-NOT: tensor
  %a0 = bufferization.to_tensor %A restrict : memref<2x16x8xf32> to tensor<2x16x8xf32>
  %b0 = bufferization.to_tensor %B restrict : memref<4x16x8xf32> to tensor<4x16x8xf32>
  %ae = tensor.empty() : tensor<16x16xf32>
  %be = tensor.empty() : tensor<16x32xf32>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %ae : tensor<2x16x8xf32> -> tensor<16x16xf32>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %be : tensor<4x16x8xf32> -> tensor<16x32xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%be : tensor<16x32xf32>) -> tensor<16x32xf32>
  %p = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<16x16xf32>, tensor<16x32xf32>) outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
  %pe = tensor.empty() : tensor<4x16x8xf32>
  %p0 = linalg.pack %p outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %pe : tensor<16x32xf32> -> tensor<4x16x8xf32>
  bufferization.materialize_in_destination %p0 in restrict writable %P : (tensor<4x16x8xf32>, memref<4x16x8xf32>) -> ()
  return
}

// -----

// The left operand is read along its rows: panel by panel. The depth is cut into
// slabs of whole panels, between which the sums lie in the result.
// CHECK-LABEL: func.func @along
func.func @along(%A: memref<3x4x8xf32>, %B: memref<1x24x8xf32>, %P: memref<4x8xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [4, 8, 8], micro = [4, 8], lanes = 8>} {
  // The first slab starts from zero.
  // CHECK:     scf.for %[[PANEL:.*]] = %c0 to %c1 step %c1 iter_args(%{{[^,]*}} = %[[ZERO:[^,]*]], %{{[^,]*}} = %[[ZERO]],
  // CHECK:       %[[NEXT:.*]] = arith.addi %[[PANEL]], %c1
  // CHECK:       scf.for %[[K:.*]] = %c0 to %c8 step %c2
  // Two terms of four rows are half a line of the next panel.
  // CHECK:         %[[AT:.*]] = arith.muli %[[K]], %c4
  // CHECK:         memref.prefetch %arg0[%[[NEXT]], %{{.*}}, %[[AT]]], read
  // CHECK-NOT:     memref.prefetch %arg0
  // CHECK:     vector.store
  // The second one is alone in its loop, the third one the last. What they add
  // to is in the cache.
  // CHECK-NOT: memref.prefetch %arg2
  // CHECK:     scf.for %{{.*}} = %c8 to %c16 step %c8
  // CHECK:       vector.load %{{.*}} : memref<4x8xf32>, vector<8xf32>
  // CHECK:       scf.for
  // CHECK:     vector.load %{{.*}} : memref<4x8xf32>, vector<8xf32>
  // CHECK:     scf.for
  %a0 = bufferization.to_tensor %A restrict : memref<3x4x8xf32> to tensor<3x4x8xf32>
  %b0 = bufferization.to_tensor %B restrict : memref<1x24x8xf32> to tensor<1x24x8xf32>
  %ae = tensor.empty() : tensor<4x24xf32>
  %be = tensor.empty() : tensor<24x8xf32>
  %pe = tensor.empty() : tensor<4x8xf32>
  %a = linalg.unpack %a0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %ae : tensor<3x4x8xf32> -> tensor<4x24xf32>
  %b = linalg.unpack %b0 outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %be : tensor<1x24x8xf32> -> tensor<24x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%pe : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul ins(%a, %b : tensor<4x24xf32>, tensor<24x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  return
}

// -----

// Of a symmetric result, a block makes what lies below the diagonal of its
// panels, up to the vector that the diagonal crosses; squares are transposed to
// their places above it.
// CHECK-LABEL: func.func @symmetric
func.func @symmetric(%A: memref<16x16xf32>, %P: memref<16x16xf32>) attributes {block.kernel,
    block.config = #block.config<tile = [16, 8], micro = [4, 8], lanes = 4>} {
  // CHECK: scf.forall (%[[B:.*]]) in (2)
  // CHECK:   %[[FIRST:.*]] = arith.muli %[[B]], %c8
  // CHECK:   %[[SIZE:.*]] = affine.min
  // The rows of a panel: columns before it, then its own square, one vector wide
  // and then two.
  // CHECK:   scf.for %[[PANEL:.*]] = %c0 to %[[SIZE]] step %c8
  // CHECK:     %[[ROW:.*]] = arith.addi %[[FIRST]], %[[PANEL]]
  // CHECK:     scf.for {{.*}} step %c4
  // CHECK:       scf.for %{{.*}} = %c0 to %[[PANEL]] step %c8
  // CHECK:         scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
  // CHECK:     scf.for
  // CHECK:       scf.for
  // CHECK-COUNT-8: vector.shuffle
  // CHECK-COUNT-4: vector.store
  // CHECK:     scf.for %{{.*}} = %c0 to %c4 step %c4
  // CHECK:       scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  // CHECK:     arith.select %{{.*}} : vector<4xi1>, vector<4xf32>
  // CHECK:     scf.for %{{.*}} = %c4 to %c8 step %c4
  // CHECK:     arith.select %{{.*}} : vector<4xi1>, vector<4xf32>
  // The rows below the block, as many at a time as a panel is wide.
  // CHECK:   %[[BELOW:.*]] = arith.addi %[[FIRST]], %[[SIZE]]
  // CHECK:   scf.for %[[GROUP:.*]] = %[[BELOW]] to %c16 step %c8
  // CHECK:     scf.for %{{.*}} = %[[GROUP]] to %{{.*}} step %c4
  // CHECK:       math.fma
  // CHECK-NOT: arith.select
  // CHECK-COUNT-8: vector.shuffle
  %a = bufferization.to_tensor %A restrict : memref<16x16xf32> to tensor<16x16xf32>
  %e = tensor.empty() : tensor<16x16xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = linalg.matmul {geo.symmetric} ins(%a, %a : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  bufferization.materialize_in_destination %p in restrict writable %P : (tensor<16x16xf32>, memref<16x16xf32>) -> ()
  return
}

// -----

// A matrix in panels that is copied: rows, then panels, then vectors.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: block.grid = 2 : i64
func.func @copy(%X: memref<8x24xf32>, %Y: memref<3x8x8xf32>) attributes {block.kernel,
    block.config = #block.config<rows = 4, lanes = 4>} {
  // CHECK: scf.forall
  // CHECK:   scf.for %[[ROW:.*]] =
  // CHECK:     scf.for %[[PANEL:.*]] = %c0 to %c3 step %c1
  // CHECK:       %[[V:.*]] = vector.load %arg0[%[[ROW]], %{{.*}}] : memref<8x24xf32>, vector<4xf32>
  // CHECK:       vector.store %[[V]], %arg1[%[[PANEL]], %[[ROW]], %c0] : memref<3x8x8xf32>, vector<4xf32>
  %x = bufferization.to_tensor %X restrict : memref<8x24xf32> to tensor<8x24xf32>
  %e = tensor.empty() : tensor<8x24xf32>
  %y = linalg.copy ins(%x : tensor<8x24xf32>) outs(%e : tensor<8x24xf32>) -> tensor<8x24xf32>
  %ye = tensor.empty() : tensor<3x8x8xf32>
  %y0 = linalg.pack %y outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [8] into %ye : tensor<8x24xf32> -> tensor<3x8x8xf32>
  bufferization.materialize_in_destination %y0 in restrict writable %Y : (tensor<3x8x8xf32>, memref<3x8x8xf32>) -> ()
  return
}

// -----

// Others are left to block-tile.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: scf.forall
// CHECK: linalg.copy
func.func @rows(%X: memref<8x24xf32>, %Y: memref<8x24xf32>) attributes {block.kernel, block.config = #block.config<rows = 4>} {
  %x = bufferization.to_tensor %X restrict : memref<8x24xf32> to tensor<8x24xf32>
  %e = tensor.empty() : tensor<8x24xf32>
  %y = linalg.copy ins(%x : tensor<8x24xf32>) outs(%e : tensor<8x24xf32>) -> tensor<8x24xf32>
  bufferization.materialize_in_destination %y in restrict writable %Y : (tensor<8x24xf32>, memref<8x24xf32>) -> ()
  return
}
