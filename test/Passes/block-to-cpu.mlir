// RUN: %limit steep-opt %s --block-to-cpu --verify-each | FileCheck %s
// RUN: %limit steep-opt %s --block-to-cpu --block-lower-to-llvm | FileCheck %s --check-prefix=LLVM

// Arguments come from slots, the grid becomes a loop over the range.

// CHECK-LABEL: llvm.func @twice(
// CHECK-SAME:    %[[SLOTS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) attributes {block.grid = 4 : i64} {
// CHECK:         %[[X:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<4x8xf32>
// CHECK:         %[[SLOT1:.*]] = llvm.getelementptr %[[SLOTS]][1]
// CHECK:         %[[P1:.*]] = llvm.load %[[SLOT1]] : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[C:.*]] = llvm.load %[[P1]] : !llvm.ptr -> f32
// CHECK-DAG:     %[[FIRST:.*]] = arith.index_cast %[[BEGIN]] : i64 to index
// CHECK-DAG:     %[[LAST:.*]] = arith.index_cast %[[END]] : i64 to index
// CHECK:         scf.for %[[I:.*]] = %[[FIRST]] to %[[LAST]] step
// CHECK:           memref.subview %[[X]][%[[I]], 0] [1, 8] [1, 1]
// CHECK:         llvm.return

// Steps are gone.
// CHECK-NOT:   @step

// LLVM-LABEL: llvm.func @twice(
// LLVM-NOT:     unrealized_conversion_cast
// LLVM:         llvm.fmul {{.*}} : vector<8xf32>
// LLVM-NOT:     fastmath
// LLVM-NOT:     unrealized_conversion_cast
module {
  func.func @twice(%x: memref<4x8xf32>, %c: f32)
      attributes {block.kernel, block.config = #block.config<rows = 1>, block.grid = 4 : i64} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %cv = vector.broadcast %c : f32 to vector<8xf32>
    scf.forall (%b) in (4) {
      %row = memref.subview %x[%b, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<1x8xf32, strided<[8, 1], offset: ?>>
      %v = vector.transfer_read %row[%c0, %c0], %zero {in_bounds = [true]} : memref<1x8xf32, strided<[8, 1], offset: ?>>, vector<8xf32>
      %y = arith.mulf %v, %cv : vector<8xf32>
      vector.transfer_write %y, %row[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, memref<1x8xf32, strided<[8, 1], offset: ?>>
    } {mapping = [#gpu.block<x>]}
    return
  }
  func.func @step(%x: memref<4x8xf32>, %c: f32) attributes {block.step} {
    func.call @twice(%x, %c) : (memref<4x8xf32>, f32) -> ()
    return
  }
}
