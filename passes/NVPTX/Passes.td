//===- Passes.td - from formed kernels to GPU code ---------*- tablegen -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_NVPTX_PASSES_TD
#define STEEP_PASSES_NVPTX_PASSES_TD

include "mlir/Pass/PassBase.td"

def BlockToGPU : Pass<"block-to-gpu", "::mlir::ModuleOp"> {
  let summary = "decide every kernel's grid and what its arguments point to";
  let description = [{
    Takes formed kernels (`block-form-kernels`, `block-select-config`,
    `convert-geo-to-linalg`) and says about each of them what a GPU's launcher
    has to know, as attributes, so that steps can still be read:

    | attribute | on | says |
    | --- | --- | --- |
    | `block.grid` (`i64`) | kernel | blocks for one matrix, the x dimension of the grid |
    | `block.table` (unit) | kernel | external pointers are tables of one pointer a matrix |
    | `block.single` (unit) | kernel | every caller has one matrix: the y dimension is 1 |
    | `block.slot` (string) | argument | `external`, `workspace`, `scalar` or `constant` |

    An argument is `external` where a step passes a weight, gradient, state or
    increment, `workspace` where it passes a part of the workspace or the sums of
    squares, `scalar` for rates and step numbers, which lie in device memory, and
    `constant` for numbers that the step itself knows. A kernel whose callers differ in
    this is copied, one kernel for each way of calling it.
  }];
  let dependentDialects = ["mlir::block::BlockDialect"];
}

def DistributeRows : Pass<"block-distribute-rows", "::mlir::ModuleOp"> {
  let summary = "distribute kernels without a product over warps";
  let description = [{
    Turns every kernel that holds no matrix product into one thread's program,
    an `llvm.func` with the ABI of GPU kernels: one parameter an argument, then
    `i64 ws_stride`.

    | kernel | grid | who does what |
    | --- | --- | --- |
    | owns rows | `rows` rows a block | a warp a row at a time; rows that a warp cannot hold, all warps of a block |
    | ends in tensors of rank 0 | one block | all warps of the block |
    | ends in a mean row | 32 vectors of columns a block | a lane a vector, warps share the rows |

    * A lane holds vectors of 4 floats, 2 or 1, the most that divides the width, so
      every access is aligned; lanes beyond the last column are masked.
    * A row is read once and stays in registers between its sum and its update.
      Longer rows are walked over once for each sum and once for what is written.
    * Sums are trees with a fixed shape: vectors of accumulators, then
      the vector, then five shuffles, then, over warps, shared memory.
    * Sums of squares that the program states in binary64 are formed in binary32
      where the result proves that nothing was lost, else in binary64 by a branch
      that is hardly ever taken. See RATIONALE.md.
    * No fast-math flag, no contraction: what is written is what is computed.
  }];
  let dependentDialects = [
    "mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
    "mlir::arith::ArithDialect", "mlir::math::MathDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

def LowerMatmul : Pass<"block-lower-matmul", "::mlir::ModuleOp"> {
  let summary = "make kernels with a matrix product tile loops of warps";
  let description = [{
    Turns every kernel that holds a matrix product into one thread's program,
    with the same ABI as those of `block-distribute-rows`. A block makes one `tile` of
    the result, in steps of its third number along the depth: operands go
    through shared memory, sums stay in registers, and what follows the product in
    the kernel is evaluated where the sums are.

    | operands in memory | `dot` | way to shared memory |
    | --- | --- | --- |
    | f32 | `ieee`, `tf32x3` | `cp.async`, `stages` - 1 steps ahead |
    | bf16 | `bf16` | the same |
    | f32 | `bf16` | through registers, where they are rounded, into one or two buffers |

    Operands go through registers too where `stages` is 1, where they are computed in
    the kernel, and where their rows are aligned to less than four bytes. What is
    outside of the matrix is not read and counts as zero. Shared memory of more than
    48 KiB is dynamic: `block.shared` says how much.

    A product that is symmetric (X^T X, or the attribute `geo.symmetric`) and has
    square tiles is made by the blocks of the lower triangle of tiles, which write
    their mirror image too; every pair comes from one sum.

    With the option `wgmma`, for sm_90a, tiles of bf16 with 64 rows for every four warps
    are made by `wgmma`.
  }];
  let options = [
    Option<"wgmma", "wgmma", "bool", "false", "the target has wgmma (sm_90a)">];
  let dependentDialects = [
    "mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
    "mlir::arith::ArithDialect", "mlir::math::MathDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"];
}

#endif // STEEP_PASSES_NVPTX_PASSES_TD
