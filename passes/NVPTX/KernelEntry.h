//===- KernelEntry.h - the ABI of GPU kernels -------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel on a GPU is `NAME(p0, p1, ..., i64 ws_stride)` in a grid of
// (block.grid, matrices, 1) blocks of (32, warps, 1) threads:
//
// | slot      | parameter                                                     |
// | external  | pointer to the elements, or with block.table to a table of    |
// |           | pointers, one a matrix                                        |
// | workspace | pointer to the elements of matrix 0; the next matrix is       |
// |           | ws_stride bytes further                                       |
// | scalar    | pointer to an array of one value a matrix                     |
// | constant  | the value                                                     |
//
// All pointers are to device memory, aligned to 16 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_NVPTX_KERNELENTRY_H
#define STEEP_PASSES_NVPTX_KERNELENTRY_H

#include "passes/NVPTX/KernelShape.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::block {

/// Global and shared memory, as LLVM's address spaces of NVPTX.
constexpr unsigned globalSpace = 1, sharedSpace = 3;

/// The body of a kernel under construction.
struct KernelEntry {
  LLVM::LLVMFuncOp func;
  /// Arguments of the formed kernel: pointers to the current matrix, values of
  /// scalars.
  IRMapping arguments;
  Value lane, warp, block; // i64
  int64_t warps;

  /// An llvm.func before `shape.func`, with its ABI and attributes; the
  /// builder is left where its body goes, before the return.
  static KernelEntry create(OpBuilder &builder, const KernelShape &shape);

  /// A block's memory of `count` elements, for all its threads. Dynamic memory,
  /// of which there is one array a kernel, is what the launcher gives: its
  /// bytes become the attribute `block.shared`.
  Value createShared(OpBuilder &builder, StringRef name, Type element,
                     int64_t count, int64_t alignment = 16,
                     bool dynamic = false);
};

} // namespace mlir::block

#endif // STEEP_PASSES_NVPTX_KERNELENTRY_H
