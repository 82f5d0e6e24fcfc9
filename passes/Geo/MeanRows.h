//===- MeanRows.h - matrices whose mean row is known before them -*- C++ -*-==//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_MEANROWS_H
#define STEEP_PASSES_GEO_MEANROWS_H

#include "dialects/Geo/Geo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::geo {

/// The matrices of an update that are linear in the gradient and in states that
/// are so themselves, all rows treated alike. The mean of their rows is the
/// same function of the mean rows of those, which are n numbers each.
class MeanRows {
public:
  explicit MeanRows(func::FuncOp function);

  bool follows(Value matrix) const;

  /// The projections whose mean row follows.
  SmallVector<CenterOp> getCenters() const;

  /// The states, by their number among the states, whose mean rows these
  /// projections need, at this update or for the next.
  llvm::SetVector<unsigned> getStates() const;

  /// Emits the mean row of a matrix that follows, and what it is made of,
  /// moving numbers up there; `rows` has those of the arguments. Rows are
  /// tensors of one row. `b` stands before an op of the function's block.
  static Value emit(OpBuilder &b, Value matrix, IRMapping &rows);

private:
  void collect(Value matrix, llvm::SetVector<unsigned> &found) const;
  Value getUpdate(unsigned state) const;

  func::FuncOp function;
  SmallVector<unsigned> states, results;
  /// States whose mean rows follow from those of all carried ones.
  llvm::DenseSet<Value> carried;
};

} // namespace mlir::geo

#endif // STEEP_PASSES_GEO_MEANROWS_H
