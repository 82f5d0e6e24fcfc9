// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-prefetch-rows))' --split-input-file | FileCheck %s

// Two walks over a row of 2 KiB: the first reads B, the second B and U. U is asked
// for in the first walk, B's row two rows later (a page) in the second, also
// beyond the block's end; two lines of 64 bytes a chunk.
// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[B:.*]]: memref<50x512xf32>, %[[U:.*]]: memref<50x512xf32>, %[[N:.*]]: memref<50xf32>
// CHECK: scf.forall (%[[BLOCK:.*]]) in (5)
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK: %[[ROW:.*]] = memref.subview %[[B]][%[[AT]], 0]
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[LATER:.*]] = arith.addi %[[AT]], %[[TWO]]
// CHECK: %[[LAST:.*]] = arith.constant 49 : index
// CHECK: %[[NEAR:.*]] = arith.minsi %[[LATER]], %[[LAST]]
// CHECK: %[[ROWLATER:.*]] = memref.subview %[[B]][%[[NEAR]], 0]
// CHECK: %[[OTHER:.*]] = memref.subview %[[U]][%[[AT]], 0]
// CHECK: scf.for %[[J:.*]] = %c0 to %c512 step %c32
// CHECK: memref.prefetch %[[OTHER]][%{{.*}}, %[[J]]], read, locality<3>, data
// CHECK: %[[J16:.*]] = arith.addi %[[J]], %c16
// CHECK: memref.prefetch %[[OTHER]][%{{.*}}, %[[J16]]], read, locality<3>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read %[[ROW]]
// CHECK: scf.for %[[K:.*]] = %c0 to %c512 step %c32
// CHECK: memref.prefetch %[[ROWLATER]][%{{.*}}, %[[K]]], read, locality<3>, data
// CHECK: memref.prefetch %[[ROWLATER]]
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_write
func.func @two(%b: memref<50x512xf32>, %u: memref<50x512xf32>, %norms: memref<50xf32>)
    attributes {block.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<32xf32>
  scf.forall (%block) in (5) {
    %start = arith.muli %block, %c10 : index
    scf.for %i = %c0 to %c10 step %c1 {
      %at = arith.addi %start, %i : index
      %row = memref.subview %b[%at, 0] [1, 512] [1, 1] : memref<50x512xf32> to memref<1x512xf32, strided<[512, 1], offset: ?>>
      %other = memref.subview %u[%at, 0] [1, 512] [1, 1] : memref<50x512xf32> to memref<1x512xf32, strided<[512, 1], offset: ?>>
      %sum = scf.for %j = %c0 to %c512 step %c32 iter_args(%s = %zeros) -> vector<32xf32> {
        %x = vector.transfer_read %row[%c0, %j], %zero {in_bounds = [true]} : memref<1x512xf32, strided<[512, 1], offset: ?>>, vector<32xf32>
        %t = arith.addf %s, %x : vector<32xf32>
        scf.yield %t : vector<32xf32>
      }
      scf.for %j = %c0 to %c512 step %c32 {
        %x = vector.transfer_read %row[%c0, %j], %zero {in_bounds = [true]} : memref<1x512xf32, strided<[512, 1], offset: ?>>, vector<32xf32>
        %y = vector.transfer_read %other[%c0, %j], %zero {in_bounds = [true]} : memref<1x512xf32, strided<[512, 1], offset: ?>>, vector<32xf32>
        %p = arith.mulf %x, %sum : vector<32xf32>
        %q = arith.addf %p, %y : vector<32xf32>
        vector.transfer_write %q, %other[%c0, %j] {in_bounds = [true]} : vector<32xf32>, memref<1x512xf32, strided<[512, 1], offset: ?>>
      }
    }
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

// One walk asks for later rows of all that it reads, also in a branch. A row of 4 KiB:
// one row ahead.
// CHECK-LABEL: func.func @one
// CHECK-SAME: %[[G:.*]]: memref<50x1024xf32>, %[[B:.*]]: memref<50x1024xf32>
// CHECK: %[[GROW:.*]] = arith.minsi
// CHECK: %[[GLATER:.*]] = memref.subview %[[G]][%[[GROW]], 0]
// CHECK: %[[BROW:.*]] = arith.minsi
// CHECK: %[[BLATER:.*]] = memref.subview %[[B]][%[[BROW]], 0]
// CHECK: scf.for
// CHECK-DAG: memref.prefetch %[[GLATER]][
// CHECK-DAG: memref.prefetch %[[BLATER]][
// CHECK: vector.transfer_read
func.func @one(%g: memref<50x1024xf32>, %b: memref<50x1024xf32>, %some: i1) attributes {block.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%block) in (5) {
    scf.if %some {
      scf.for %i = %c0 to %c10 step %c1 {
        %from = memref.subview %g[%i, 0] [1, 1024] [1, 1] : memref<50x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
        %row = memref.subview %b[%i, 0] [1, 1024] [1, 1] : memref<50x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
        scf.for %j = %c0 to %c1024 step %c16 {
          %x = vector.transfer_read %from[%c0, %j], %zero {in_bounds = [true]} : memref<1x1024xf32, strided<[1024, 1], offset: ?>>, vector<16xf32>
          %y = vector.transfer_read %row[%c0, %j], %zero {in_bounds = [true]} : memref<1x1024xf32, strided<[1024, 1], offset: ?>>, vector<16xf32>
          %z = arith.addf %x, %y : vector<16xf32>
          vector.transfer_write %z, %row[%c0, %j] {in_bounds = [true]} : vector<16xf32>, memref<1x1024xf32, strided<[1024, 1], offset: ?>>
        }
      }
    }
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

// Of an argument that rows are not all of, nothing; nor in what is no kernel.
// CHECK-LABEL: func.func @part
// CHECK-NOT: memref.prefetch
// CHECK-LABEL: func.func @host
// CHECK-NOT: memref.prefetch
func.func @part(%b: memref<50x512xf32>) attributes {block.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%block) in (5) {
    scf.for %i = %c0 to %c10 step %c1 {
      %row = memref.subview %b[%i, 0] [1, 256] [1, 1] : memref<50x512xf32> to memref<1x256xf32, strided<[512, 1], offset: ?>>
      scf.for %j = %c0 to %c256 step %c32 {
        %x = vector.transfer_read %row[%c0, %j], %zero {in_bounds = [true]} : memref<1x256xf32, strided<[512, 1], offset: ?>>, vector<32xf32>
        vector.transfer_write %x, %row[%c0, %j] {in_bounds = [true]} : vector<32xf32>, memref<1x256xf32, strided<[512, 1], offset: ?>>
      }
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @host(%b: memref<50x512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%block) in (5) {
    scf.for %i = %c0 to %c10 step %c1 {
      %row = memref.subview %b[%i, 0] [1, 512] [1, 1] : memref<50x512xf32> to memref<1x512xf32, strided<[512, 1], offset: ?>>
      scf.for %j = %c0 to %c512 step %c32 {
        %x = vector.transfer_read %row[%c0, %j], %zero {in_bounds = [true]} : memref<1x512xf32, strided<[512, 1], offset: ?>>, vector<32xf32>
        vector.transfer_write %x, %row[%c0, %j] {in_bounds = [true]} : vector<32xf32>, memref<1x512xf32, strided<[512, 1], offset: ?>>
      }
    }
  } {mapping = [#gpu.block<x>]}
  return
}
