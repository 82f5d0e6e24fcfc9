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

def PrefetchRows : Pass<"block-prefetch-rows", "::mlir::func::FuncOp"> {
  let summary = "ask for rows before they are walked over";
  let description = [{
    What only a later walk over a row reads (a norm, then the update) is asked for
    in the walk before it, and in the last walk what the first one reads, a page
    further on: one row, or as many as make 4 KiB, also of the next block.
    Memory so works in all walks, also in those that wait for a sum; without
    it each walk starts with misses, since a processor follows a stream no further
    than its page. Values are the same.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {     // rows of a block
      %b = memref.subview %arg0[%i, 0] [1, 512] ...
      %u = memref.subview %arg1[%i, 0] [1, 512] ...
      scf.for %j = ... { memref.prefetch %u[%c0, %j] ... ; ... read %b ... }
      scf.for %j = ... { memref.prefetch %b_two_rows_later[%c0, %j] ... ; ... read %b, %u ... }
    }
    ```
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numPrefetched", "num-prefetched", "Matrices asked for ahead">];
}

def SplitFMA : Pass<"block-split-fma", "::mlir::func::FuncOp"> {
  let summary = "make products and sums of fused multiply-adds";
  let description = [{
    For targets without the instruction, where each `math.fma` would be a call of
    the C library for each element. Each term is rounded before it is added: results
    differ from those of other targets in their last bits.

    ```mlir
    %s = math.fma %x, %y, %z : vector<4xf32>
    ```
    becomes
    ```mlir
    %p = arith.mulf %x, %y : vector<4xf32>
    %s = arith.addf %p, %z : vector<4xf32>
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numSplit", "num-split", "Multiply-adds split">];
}

def LowerProducts : Pass<"block-lower-products", "::mlir::func::FuncOp"> {
  let summary = "emit the loops of kernels that hold a product or touch panels";
  let description = [{
    A `block.kernel` with a product of matrices, and one that works element by
    element on matrices in panels (`linalg.pack`, `linalg.unpack`), becomes one
    `scf.forall` over the blocks of its grid with `scf.for` loops and vector code
    on memory inside; `block.grid` says how many blocks there are. Other kernels are
    `block-tile`'s.

    Of a product, `tile` says what a block makes, and with a third number how
    deep the slabs are in which its sums are formed; `micro` is the part that
    stays in registers. The innermost loop reads a row of a panel of the right
    operand, broadcasts elements of the left one and is `math.fma` otherwise; what
    it will read some hundreds of cycles later is prefetched. At
    the borders are loops of their own for the rows and columns that are left.
    What is made of the product, element by element, is evaluated before anything is
    stored. A product with `geo.symmetric` is computed at and below the diagonal; a
    tile is stored to its place above it too, transposed in registers.

    Operands of BF16 are multiplied two terms at a time, with `vdpbf16ps` where
    `dot-bf16` says that the target has it; elsewhere both are widened to FP32.

    With `amx` in the config, whole parts of `micro` are summed up in AMX's tiles:
    four of 16 x 16 sums, which 16 rows of the left operand and 16 columns of the
    right one add 32 terms to at once (`tdpbf16ps`). Sums are stored to the result, if
    that is the product itself, or to a buffer on the stack, from where what is made
    of them is evaluated. Rows, columns and terms that make no tile are computed
    with vectors. A block configures the tiles when it begins and releases them when
    it ends.

    The order of every sum is that of one loop over the depth, whatever the
    config, so its bits are as well; on AMX it is that of the instruction.

    ```mlir
    scf.forall (%b) in (8) {
      scf.for %m = ... step %c8 {
        scf.for %n = ... step %c48 {
          %sums:24 = scf.for %k = ... iter_args(...) { math.fma ... }
          vector.store %sums#0, %c[...]
        }
      }
    } {mapping = [#gpu.block<x>]}
    ```
  }];
  let dependentDialects = [
    "mlir::LLVM::LLVMDialect", "mlir::affine::AffineDialect",
    "mlir::arith::ArithDialect", "mlir::block::BlockDialect",
    "mlir::gpu::GPUDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::memref::MemRefDialect",
    "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect",
    "mlir::vector::VectorDialect"];
  let options = [
    Option<"dotBF16", "dot-bf16", "bool", "false",
      "whether the target multiplies pairs of BF16 and adds them to FP32">];
}

#endif // STEEP_PASSES_CPU_PASSES_TD
