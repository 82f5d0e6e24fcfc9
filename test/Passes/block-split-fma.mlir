// RUN: %limit steep-opt %s --pass-pipeline='builtin.module(func.func(block-split-fma))' | FileCheck %s
// RUN: %limit steep-opt %s --steep-block-to-cpu=fma=false | FileCheck %s --check-prefix=LOWERED
// RUN: %limit steep-opt %s --steep-block-to-cpu | FileCheck %s --check-prefix=FUSED

// Whatever its type, the product is rounded before it is added.
// CHECK-LABEL: func.func @terms
// LOWERED-LABEL: llvm.func @terms
// LOWERED-NOT: fma
// FUSED: llvm.intr.fma{{.*}} : (vector<4xf32>,
func.func @terms(%X: memref<4xf32>, %Y: memref<1xf64>) attributes {block.kernel, block.grid = 1 : i64} {
  %c0 = arith.constant 0 : index
  scf.forall (%b) in (1) {
    // CHECK: %[[X:.*]] = vector.load
    // CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[X]] : vector<4xf32>
    // CHECK: arith.addf %[[P]], %[[X]] : vector<4xf32>
    %x = vector.load %X[%c0] : memref<4xf32>, vector<4xf32>
    %s = math.fma %x, %x, %x : vector<4xf32>
    vector.store %s, %X[%c0] : memref<4xf32>, vector<4xf32>
    // CHECK: arith.mulf {{.*}} : f64
    // CHECK: arith.addf {{.*}} : f64
    // CHECK-NOT: math.fma
    %y = memref.load %Y[%c0] : memref<1xf64>
    %t = math.fma %y, %y, %y : f64
    memref.store %t, %Y[%c0] : memref<1xf64>
  } {mapping = [#gpu.block<x>]}
  return
}
