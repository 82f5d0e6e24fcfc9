//===- Cutting.h - how a kernel is cut into tiles -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel computes, and how its results are cut. Analysis, but for the
// stores of the kernel, which become a list.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_CUTTING_H
#define STEEP_PASSES_BLOCK_CUTTING_H

#include "dialects/Block/Block.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::block {

/// One result of a kernel and the tensor whose memory it goes to.
struct Output {
  Value value;
  Value memory;
  Value dest;

  RankedTensorType type() const {
    return cast<RankedTensorType>(value.getType());
  }
};

/// How a kernel is cut. A dimension of the results is cut into blocks, and
/// within a block into steps.
struct Cut {
  int64_t size, block, step;

  int64_t blocks() const { return llvm::divideCeil(size, block); }
  /// What whole steps cover.
  int64_t whole() const { return size - size % step; }
};

/// The results of a kernel and their cuts.
class Cutting {
public:
  /// Takes the stores out of `func` and decides. On failure an error was
  /// reported.
  static FailureOr<Cutting> choose(func::FuncOp func, ConfigAttr config);

  SmallVector<Output> outputs;
  SmallVector<Cut, 2> cuts; ///< of the leading dimensions of the results

private:
  LogicalResult collectOutputs(func::FuncOp func);
  void cutRows(func::FuncOp func, ConfigAttr config);
  LogicalResult checkShapes(func::FuncOp func) const;
};

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_CUTTING_H
