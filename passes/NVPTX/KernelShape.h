//===- KernelShape.h - what a formed kernel is ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_NVPTX_KERNELSHAPE_H
#define STEEP_PASSES_NVPTX_KERNELSHAPE_H

#include "dialects/Block/Block.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::block {

/// What an argument of a kernel points to: values of `block.slot`.
constexpr StringLiteral externalSlot = "external", workspaceSlot = "workspace",
                        scalarSlot = "scalar", constantSlot = "constant";

/// Set on products that are symmetric but for rounding by whoever made them, in
/// a dialect that is not known here.
constexpr StringLiteral symmetricAttrName = "geo.symmetric";

enum class KernelKind {
  Rows,    ///< results' first dimension counts rows
  Columns, ///< results are one row, made by sums over all rows
  Single,  ///< results are tensors of rank 0
  Product, ///< holds a matrix product
};

/// One result: the tensor and the memory it goes to.
struct KernelResult {
  Value value;
  Value memory;

  RankedTensorType type() const {
    return cast<RankedTensorType>(value.getType());
  }
};

/// A formed kernel, taken apart.
struct KernelShape {
  mutable func::FuncOp func; ///< a handle: reading it is no change
  ConfigAttr config;
  KernelKind kind;
  SmallVector<KernelResult> results;
  mutable linalg::LinalgOp product; ///< null if there is none
  /// Rows and columns of the results; columns is 1 where all are sums of rows.
  int64_t rows = 1, columns = 1;
  /// The product is symmetric, known by its attribute or as X^T X or X X^T, and
  /// square tiles make it: blocks of the lower half make both.
  bool symmetric = false;
  /// Floats of the largest vector that all rows of memory are aligned to.
  int64_t width = 1;

  int64_t warps() const { return std::max<int64_t>(1, config.getWarps()); }
  /// Blocks for one matrix.
  int64_t grid() const;

  /// Reports why a kernel is none that a GPU's passes know.
  static FailureOr<KernelShape> read(func::FuncOp func);
};

/// The elements of the largest vector, at most `most`, that all rows of memory
/// start at multiples of and consist of.
int64_t alignedWidth(MemRefType type, int64_t most = 4);

/// The columns that a block of a kernel of the kind `Columns` owns.
constexpr int64_t columnsOfBlock(int64_t width) { return 32 * width; }

} // namespace mlir::block

#endif // STEEP_PASSES_NVPTX_KERNELSHAPE_H
