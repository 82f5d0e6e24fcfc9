// RUN: %limit steep-opt %s --block-chain-kernels --split-input-file | FileCheck %s

// The sums of groups of 4 rows run right after the rows of their block; the last
// block has rows that make no whole group.
// CHECK-NOT: func.func @rows(
// CHECK-NOT: func.func @sums(
// CHECK-LABEL: func.func @rows_chain(
// CHECK-SAME: %[[G:.*]]: memref<10x8xf32>, %[[B:.*]]: memref<10x8xf32>, %[[SUMS:.*]]: memref<2x8xf32>)
// CHECK-SAME: block.config = #block.config<rows = 4, chunk = 8, lanes = 8>, block.grid = 3 : i64, block.kernel
// CHECK-NOT: block.group
// CHECK: scf.forall (%[[I:.*]]) in (3)
// CHECK: memref.load %[[G]][%[[I]]
// CHECK: memref.store %{{.*}}, %[[B]][%[[I]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %c2
// CHECK: scf.if %[[INSIDE]]
// CHECK: memref.load %[[B]][%[[I]]
// CHECK: memref.store %{{.*}}, %[[SUMS]][%[[I]]
// CHECK: mapping = [#gpu.block<x>]
// CHECK-LABEL: func.func @step(
// CHECK: call @rows_chain(
// CHECK-NEXT: return
func.func @rows(%g: memref<10x8xf32>, %b: memref<10x8xf32>)
    attributes {block.kernel, block.group = 4 : i64, block.grid = 3 : i64,
                block.config = #block.config<rows = 4, chunk = 8, lanes = 8>} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (3) {
    %x = memref.load %g[%i, %c0] : memref<10x8xf32>
    memref.store %x, %b[%i, %c0] : memref<10x8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @sums(%b: memref<10x8xf32>, %s: memref<2x8xf32>)
    attributes {block.kernel, block.grid = 2 : i64,
                block.config = #block.config<rows = 1, chunk = 8, lanes = 8>} {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (2) {
    %x = memref.load %b[%i, %c0] : memref<10x8xf32>
    memref.store %x, %s[%i, %c0] : memref<2x8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @step(%g: memref<10x8xf32>, %b: memref<10x8xf32>, %s: memref<2x8xf32>)
    attributes {block.step} {
  call @rows(%g, %b) : (memref<10x8xf32>, memref<10x8xf32>) -> ()
  call @sums(%b, %s) : (memref<10x8xf32>, memref<2x8xf32>) -> ()
  return
}

// -----

// Blocks of another size than the groups stay apart, as do kernels that nobody
// marked.
// CHECK-LABEL: func.func @step(
// CHECK: call @rows(
// CHECK-NEXT: call @sums(
func.func @rows(%b: memref<10x8xf32>)
    attributes {block.kernel, block.group = 4 : i64, block.grid = 5 : i64,
                block.config = #block.config<rows = 2, chunk = 8, lanes = 8>} {
  scf.forall (%i) in (5) {
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @sums(%b: memref<10x8xf32>)
    attributes {block.kernel, block.grid = 2 : i64,
                block.config = #block.config<rows = 1, chunk = 8, lanes = 8>} {
  scf.forall (%i) in (2) {
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @step(%b: memref<10x8xf32>) attributes {block.step} {
  call @rows(%b) : (memref<10x8xf32>) -> ()
  call @sums(%b) : (memref<10x8xf32>) -> ()
  return
}
