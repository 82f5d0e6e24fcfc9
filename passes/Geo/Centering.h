//===- Centering.h - which matrices are centred, who could tell -*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_CENTERING_H
#define STEEP_PASSES_GEO_CENTERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::geo {

/// Forward: the values of a function whose columns sum to zero at every call.
///
/// States start from zero, so they are assumed centred until an update is seen
/// that would not leave them so; what remains at the fixed point is true by
/// induction over the updates.
class ColumnSums {
public:
  explicit ColumnSums(func::FuncOp function);

  bool areZero(Value value) const { return zero.contains(value); }

private:
  /// Walks the body with the given states assumed centred.
  void propagate(func::FuncOp function, ArrayRef<unsigned> states);

  DenseSet<Value> zero;
};

/// Backward: whether all that is done with a value would be the same if one row
/// vector were added to all its rows. An object answers one question.
class RowShifts {
public:
  explicit RowShifts(func::FuncOp function) : function(function) {}

  bool areUnseen(Value value);

private:
  bool isBlind(OpOperand &use);
  bool isBlindReturn(unsigned result);

  func::FuncOp function;
  /// Values taken for unseen while their uses are looked at: the weight is
  /// returned, and reaches the next update as its argument.
  DenseSet<Value> assumed;
};

} // namespace mlir::geo

#endif // STEEP_PASSES_GEO_CENTERING_H
