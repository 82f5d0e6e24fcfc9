//===- Passes.td - from block programs to CPU code ---------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_CPU_PASSES_TD
#define STEEP_PASSES_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def BlockToCPU : Pass<"block-to-cpu", "::mlir::ModuleOp"> {
  let summary = "give every kernel an entry that runs a range of its blocks";
  let description = [{
    A bufferised kernel becomes
    `llvm.func @NAME(%slots: !llvm.ptr, %begin: i64, %end: i64)`, which runs
    the blocks `begin` to `end - 1` of its grid in order. `slots` is an array
    of pointers, one an argument of the kernel: to the elements of a memref
    (row-major, no padding), or to the scalar. The number of blocks stays in
    the attribute `block.grid`.

    The blocks of a grid are independent, so the host's threads split the
    range as they like: the result does not depend on it, not even in its last
    bit. No thread runs in here, and nothing is allocated.

    Step functions (`block.step`) are erased: who schedules kernels has read
    them before.

    ```mlir
    func.func @twice(%x: memref<4xf32>) attributes {block.kernel, block.grid = 4 : i64} {
      scf.forall (%b) in (4) { ... } {mapping = [#gpu.block<x>]}
      return
    }
    ```
    becomes
    ```mlir
    llvm.func @twice(%slots: !llvm.ptr, %begin: i64, %end: i64)
        attributes {block.grid = 4 : i64} {
      %p = llvm.load %slots : !llvm.ptr -> !llvm.ptr
      %x = ... : memref<4xf32>
      scf.for %b = %first to %last step %c1 { ... }
      llvm.return
    }
    ```
  }];
  let dependentDialects = [
    "mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

#endif // STEEP_PASSES_CPU_PASSES_TD
