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

// -----

// Where the maker goes row by row and the reader sums row by row, each row is added
// right after it was made, to sums that begin as the loop's did.
// CHECK-LABEL: func.func @rows_chain(
// CHECK-SAME: %[[B:.*]]: memref<10x8xf32>, %[[SUMS:.*]]: memref<2x8xf64>)
// CHECK: scf.forall (%[[I:.*]]) in (3)
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %c2
// CHECK: scf.if %[[INSIDE]]
// CHECK: scf.for
// CHECK-NEXT: vector.transfer_write %cst{{.*}}, %[[SUMS]][%[[I]]
// CHECK: scf.for %[[R:.*]] = %c0 to
// CHECK: vector.transfer_write %{{.*}}, %[[B]][
// CHECK: scf.if %[[INSIDE]]
// CHECK: scf.for %[[J:.*]] = %c0 to %c8 step %c4
// CHECK: %[[SUM:.*]] = vector.transfer_read %[[SUMS]][%[[I]], %[[J]]]
// CHECK: %[[X:.*]] = vector.transfer_read %{{.*}}[%[[I]], %[[R]], %[[J]]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[WIDE]]
// CHECK: vector.transfer_write %[[NEXT]], %[[SUMS]][%[[I]], %[[J]]]
// CHECK: mapping = [#gpu.block<x>]
func.func @rows(%b: memref<10x8xf32>)
    attributes {block.kernel, block.group = 4 : i64, block.grid = 3 : i64,
                block.config = #block.config<rows = 4, chunk = 8, lanes = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (3) {
    %first = arith.muli %i, %c4 : index
    %rows = affine.min affine_map<(d0) -> (10 - d0, 4)>(%first)
    scf.for %r = %c0 to %rows step %c1 {
      %row = arith.addi %first, %r : index
      %x = vector.transfer_read %b[%row, %c0], %zero {in_bounds = [true]} : memref<10x8xf32>, vector<8xf32>
      %y = arith.addf %x, %x : vector<8xf32>
      vector.transfer_write %y, %b[%row, %c0] {in_bounds = [true]} : vector<8xf32>, memref<10x8xf32>
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @sums(%b: memref<10x8xf32>, %s: memref<2x8xf64>)
    attributes {block.kernel, block.grid = 2 : i64,
                block.config = #block.config<rows = 1, chunk = 8, lanes = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4xf64>
  %whole = memref.subview %b[0, 0] [8, 8] [1, 1] : memref<10x8xf32> to memref<8x8xf32, strided<[8, 1]>>
  %groups = memref.expand_shape %whole [[0, 1], [2]] output_shape [2, 4, 8] : memref<8x8xf32, strided<[8, 1]>> into memref<2x4x8xf32, strided<[32, 8, 1]>>
  scf.forall (%i) in (2) {
    scf.for %j = %c0 to %c8 step %c4 {
      %sum = scf.for %r = %c0 to %c4 step %c1 iter_args(%t = %zeros) -> vector<4xf64> {
        %x = vector.transfer_read %groups[%i, %r, %j], %zero {in_bounds = [true]} : memref<2x4x8xf32, strided<[32, 8, 1]>>, vector<4xf32>
        %wide = arith.extf %x : vector<4xf32> to vector<4xf64>
        %next = arith.addf %t, %wide : vector<4xf64>
        scf.yield %next : vector<4xf64>
      }
      vector.transfer_write %sum, %s[%i, %j] {in_bounds = [true]} : vector<4xf64>, memref<2x8xf64>
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @step(%b: memref<10x8xf32>, %s: memref<2x8xf64>) attributes {block.step} {
  call @rows(%b) : (memref<10x8xf32>) -> ()
  call @sums(%b, %s) : (memref<10x8xf32>, memref<2x8xf64>) -> ()
  return
}

// -----

// A reader that wants a row before the loop that sums (here the group's first) runs
// after all of the block's rows.
// CHECK-LABEL: func.func @rows_chain(
// CHECK: scf.for
// CHECK: memref.store
// CHECK: }
// CHECK: scf.if
// CHECK: memref.load
// CHECK: scf.for {{.*}} iter_args
func.func @rows(%b: memref<10x8xf32>)
    attributes {block.kernel, block.group = 4 : i64, block.grid = 3 : i64,
                block.config = #block.config<rows = 4, chunk = 8, lanes = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (3) {
    scf.for %r = %c0 to %c2 step %c1 {
      memref.store %one, %b[%r, %i] : memref<10x8xf32>
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @sums(%b: memref<10x8xf32>, %s: memref<2x8xf32>)
    attributes {block.kernel, block.grid = 2 : i64,
                block.config = #block.config<rows = 1, chunk = 8, lanes = 8>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (2) {
    %x = memref.load %b[%i, %c0] : memref<10x8xf32>
    %start = vector.broadcast %x : f32 to vector<8xf32>
    %sum = scf.for %r = %c0 to %c4 step %c1 iter_args(%t = %start) -> vector<8xf32> {
      %y = vector.transfer_read %b[%r, %c0], %zero {in_bounds = [true]} : memref<10x8xf32>, vector<8xf32>
      %next = arith.addf %t, %y : vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    vector.transfer_write %sum, %s[%i, %c0] {in_bounds = [true]} : vector<8xf32>, memref<2x8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @step(%b: memref<10x8xf32>, %s: memref<2x8xf32>) attributes {block.step} {
  call @rows(%b) : (memref<10x8xf32>) -> ()
  call @sums(%b, %s) : (memref<10x8xf32>, memref<2x8xf32>) -> ()
  return
}

// -----

// Where both walk over the same columns, a row that the maker only reads is added in
// the walk over it.
// CHECK-LABEL: func.func @rows_chain(
// CHECK-SAME: %[[G:.*]]: memref<8x8xf32>, %[[N:.*]]: memref<8xf32>, %[[SUMS:.*]]: memref<2x8xf32>)
// CHECK: scf.forall (%[[I:.*]]) in (2)
// CHECK: scf.for
// CHECK-NEXT: vector.transfer_write %cst{{.*}}, %[[SUMS]][%[[I]]
// CHECK: scf.for %[[R:.*]] = %c0 to %c4
// CHECK-NOT: scf.if
// CHECK: %[[WALK:.*]] = scf.for %[[J:.*]] = %c0 to %c8 step %c4{{.*}} iter_args(%[[T:.*]] = 
// CHECK: %[[X:.*]] = vector.transfer_read %[[G]]
// CHECK: %[[NORM:.*]] = arith.addf %[[T]], %[[X]]
// CHECK: %[[SUM:.*]] = vector.transfer_read %[[SUMS]][%[[I]], %[[J]]]
// CHECK: %[[Y:.*]] = vector.transfer_read %{{.*}}[%[[I]], %[[R]], %[[J]]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[Y]]
// CHECK: vector.transfer_write %[[NEXT]], %[[SUMS]][%[[I]], %[[J]]]
// CHECK: scf.yield %[[NORM]]
// CHECK: vector.reduction <add>, %[[WALK]]
func.func @rows(%g: memref<8x8xf32>, %n: memref<8xf32>)
    attributes {block.kernel, block.group = 4 : i64, block.grid = 2 : i64,
                block.config = #block.config<rows = 4, chunk = 4, lanes = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%i) in (2) {
    %first = arith.muli %i, %c4 : index
    scf.for %r = %c0 to %c4 step %c1 {
      %row = arith.addi %first, %r : index
      %t = scf.for %j = %c0 to %c8 step %c4 iter_args(%a = %zeros) -> vector<4xf32> {
        %x = vector.transfer_read %g[%row, %j], %zero {in_bounds = [true]} : memref<8x8xf32>, vector<4xf32>
        %b = arith.addf %a, %x : vector<4xf32>
        scf.yield %b : vector<4xf32>
      }
      %sum = vector.reduction <add>, %t : vector<4xf32> into f32
      memref.store %sum, %n[%row] : memref<8xf32>
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @sums(%g: memref<8x8xf32>, %s: memref<2x8xf32>)
    attributes {block.kernel, block.grid = 2 : i64,
                block.config = #block.config<rows = 1, chunk = 4, lanes = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %groups = memref.expand_shape %g [[0, 1], [2]] output_shape [2, 4, 8] : memref<8x8xf32> into memref<2x4x8xf32>
  scf.forall (%i) in (2) {
    scf.for %j = %c0 to %c8 step %c4 {
      %sum = scf.for %r = %c0 to %c4 step %c1 iter_args(%t = %zeros) -> vector<4xf32> {
        %x = vector.transfer_read %groups[%i, %r, %j], %zero {in_bounds = [true]} : memref<2x4x8xf32>, vector<4xf32>
        %next = arith.addf %t, %x : vector<4xf32>
        scf.yield %next : vector<4xf32>
      }
      vector.transfer_write %sum, %s[%i, %j] {in_bounds = [true]} : vector<4xf32>, memref<2x8xf32>
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @step(%g: memref<8x8xf32>, %n: memref<8xf32>, %s: memref<2x8xf32>) attributes {block.step} {
  call @rows(%g, %n) : (memref<8x8xf32>, memref<8xf32>) -> ()
  call @sums(%g, %s) : (memref<8x8xf32>, memref<2x8xf32>) -> ()
  return
}

// -----

// A row that the maker writes is added in the walk over the next one; the first is
// made alone, and the last one added alone, as are rows that make no whole group.
// CHECK-LABEL: func.func @rows_chain(
// CHECK-SAME: %[[B:.*]]: memref<10x8xf32>, %[[SUMS:.*]]: memref<2x8xf32>)
// CHECK: scf.forall (%[[I:.*]]) in (3)
// CHECK: %[[ROWS:.*]] = affine.min
// CHECK: scf.if
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c1 step %c1
// CHECK-NOT: %[[SUMS]]
// CHECK: vector.transfer_write %{{.*}}, %[[B]]
// CHECK: scf.for %[[R:.*]] = %c1 to %[[ROWS]] step %c1
// CHECK: %[[BEFORE:.*]] = arith.subi %[[R]], %c1
// CHECK: scf.for %[[J:.*]] = %c0 to %c8 step %c4
// CHECK: vector.transfer_write %{{.*}}, %[[B]]
// CHECK: %[[SUM:.*]] = vector.transfer_read %[[SUMS]][%[[I]], %[[J]]]
// CHECK: vector.transfer_read %{{.*}}[%[[I]], %[[BEFORE]], %[[J]]]
// CHECK: vector.transfer_write %{{.*}}, %[[SUMS]][%[[I]], %[[J]]]
// CHECK: %[[LAST:.*]] = arith.subi %[[ROWS]], %c1
// CHECK: scf.for %[[K:.*]] = %c0 to %c8 step %c4
// CHECK: vector.transfer_read %{{.*}}[%[[I]], %[[LAST]], %[[K]]]
// CHECK: vector.transfer_write %{{.*}}, %[[SUMS]][%[[I]], %[[K]]]
// CHECK: else
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %[[ROWS]]
// CHECK-NOT: %[[SUMS]]
// CHECK: mapping = [#gpu.block<x>]
func.func @rows(%b: memref<10x8xf32>)
    attributes {block.kernel, block.group = 4 : i64, block.grid = 3 : i64,
                block.config = #block.config<rows = 4, chunk = 4, lanes = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (3) {
    %first = arith.muli %i, %c4 : index
    %rows = affine.min affine_map<(d0) -> (10 - d0, 4)>(%first)
    scf.for %r = %c0 to %rows step %c1 {
      %row = arith.addi %first, %r : index
      scf.for %j = %c0 to %c8 step %c4 {
        %x = vector.transfer_read %b[%row, %j], %zero {in_bounds = [true]} : memref<10x8xf32>, vector<4xf32>
        %y = arith.addf %x, %x : vector<4xf32>
        vector.transfer_write %y, %b[%row, %j] {in_bounds = [true]} : vector<4xf32>, memref<10x8xf32>
      }
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @sums(%b: memref<10x8xf32>, %s: memref<2x8xf32>)
    attributes {block.kernel, block.grid = 2 : i64,
                block.config = #block.config<rows = 1, chunk = 4, lanes = 4>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %whole = memref.subview %b[0, 0] [8, 8] [1, 1] : memref<10x8xf32> to memref<8x8xf32, strided<[8, 1]>>
  %groups = memref.expand_shape %whole [[0, 1], [2]] output_shape [2, 4, 8] : memref<8x8xf32, strided<[8, 1]>> into memref<2x4x8xf32, strided<[32, 8, 1]>>
  scf.forall (%i) in (2) {
    scf.for %j = %c0 to %c8 step %c4 {
      %sum = scf.for %r = %c0 to %c4 step %c1 iter_args(%t = %zeros) -> vector<4xf32> {
        %x = vector.transfer_read %groups[%i, %r, %j], %zero {in_bounds = [true]} : memref<2x4x8xf32, strided<[32, 8, 1]>>, vector<4xf32>
        %next = arith.addf %t, %x : vector<4xf32>
        scf.yield %next : vector<4xf32>
      }
      vector.transfer_write %sum, %s[%i, %j] {in_bounds = [true]} : vector<4xf32>, memref<2x8xf32>
    }
  } {mapping = [#gpu.block<x>]}
  return
}
func.func @step(%b: memref<10x8xf32>, %s: memref<2x8xf32>) attributes {block.step} {
  call @rows(%b) : (memref<10x8xf32>) -> ()
  call @sums(%b, %s) : (memref<10x8xf32>, memref<2x8xf32>) -> ()
  return
}
