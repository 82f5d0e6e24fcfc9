// RUN: %limit steep-opt %s --block-verify | FileCheck %s

// CHECK-LABEL: func.func @twice
func.func @twice(%x: memref<4xf32>, %n: memref<1xf32>, %c: f32) attributes {
    block.kernel, block.grid = 4 : i64, block.config = #block.config<rows = 1>} {
  %c0 = arith.constant 0 : index
  %all = memref.subview %x[0] [4] [1] : memref<4xf32> to memref<4xf32>
  %first = memref.load %n[%c0] : memref<1xf32>
  scf.forall (%i) in (4) {
    %stack = memref.alloca() : memref<4xf32>
    %0 = memref.load %all[%i] : memref<4xf32>
    %1 = arith.mulf %0, %c : f32
    memref.store %1, %x[%i] : memref<4xf32>
  } {mapping = [#gpu.block<x>]}
  return
}

// CHECK-LABEL: func.func @step
func.func @step(%x: memref<4xf32> {optim.role = "weight"}, %n: memref<1xf32>, %c: f32 {optim.role = "lr"},
    %ws: memref<64xi8> {optim.role = "workspace"}) attributes {block.step} {
  %c0 = arith.constant 0 : index
  %0 = memref.view %ws[%c0][] : memref<64xi8> to memref<4xf32>
  call @twice(%x, %n, %c) : (memref<4xf32>, memref<1xf32>, f32) -> ()
  call @twice(%0, %n, %c) : (memref<4xf32>, memref<1xf32>, f32) -> ()
  return
}

// What is neither is nobody's business.
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
