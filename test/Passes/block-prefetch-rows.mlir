// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-prefetch-rows))' --split-input-file | FileCheck %s

// Two walks over a row: the first reads B, the second B and U. U is asked for in
// the first walk, B's next row in the second, two lines of 64 bytes a chunk.
// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[B:.*]]: memref<50x512xf32>, %[[U:.*]]: memref<50x512xf32>, %[[N:.*]]: memref<50xf32>
// CHECK: scf.forall (%[[BLOCK:.*]]) in (5)
// CHECK: scf.for %[[I:.*]] = %c0 to %[[ROWS:.*]] step %c1
// CHECK-DAG: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK-DAG: %[[LAST:.*]] = arith.subi %[[ROWS]], %c1
// CHECK: %[[NEAR:.*]] = arith.minsi %[[NEXT]], %[[LAST]]
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[I]]
// CHECK: %[[ROW:.*]] = memref.subview %[[B]][%[[AT]], 0]
// CHECK: %[[ATNEXT:.*]] = arith.addi %{{.*}}, %[[NEAR]]
// CHECK: %[[ROWNEXT:.*]] = memref.subview %[[B]][%[[ATNEXT]], 0]
// CHECK: %[[OTHER:.*]] = memref.subview %[[U]][%[[AT]], 0]
// CHECK: scf.for %[[J:.*]] = %c0 to %c512 step %c32
// CHECK: memref.prefetch %[[OTHER]][%{{.*}}, %[[J]]], read, locality<3>, data
// CHECK: %[[J16:.*]] = arith.addi %[[J]], %c16
// CHECK: memref.prefetch %[[OTHER]][%{{.*}}, %[[J16]]], read, locality<3>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.transfer_read %[[ROW]]
// CHECK: scf.for %[[K:.*]] = %c0 to %c512 step %c32
// CHECK: memref.prefetch %[[ROWNEXT]][%{{.*}}, %[[K]]], read, locality<3>, data
// CHECK: memref.prefetch %[[ROWNEXT]]
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

// One walk: nothing to ask for. Nor in what is no kernel.
// CHECK-LABEL: func.func @one
// CHECK-NOT: memref.prefetch
func.func @one(%b: memref<50x512xf32>) attributes {block.kernel} {
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
