//===- Cone.h - a matrix as a function of what is in memory -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_CONE_H
#define STEEP_PASSES_GEO_CONE_H

#include "dialects/Geo/GeoDetail.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::geo {

/// The elementwise ops between a matrix and the one matrix that it is made
/// from, which is in memory anyway: an argument, or a result of the function.
/// Vectors along its rows (norms) and columns (a mean row) and numbers take
/// part. Who needs the matrix again can compute it from there instead of having
/// it written and read.
class Cone {
public:
  /// Decomposes geo ops that the matrix is computed by, row by row, from one
  /// other matrix.
  static void decompose(Value matrix, RewriterBase &rewriter);

  /// Follows elementwise `linalg.generic`s; where there is none, or they read
  /// more than one matrix, the cone is the matrix itself.
  explicit Cone(Value matrix);

  /// What elements are made from; the matrix first.
  ArrayRef<detail::Operand> getInputs() const { return inputs; }

  /// Emits the element from those of the inputs.
  Value emit(OpBuilder &b, ValueRange elements) const;

private:
  bool follow(Value value);
  void add(Value value, detail::Axes axes);
  Value emit(OpBuilder &b, Value value,
             llvm::DenseMap<Value, Value> &known) const;

  Value matrix;
  SmallVector<detail::Operand> inputs;
  llvm::SmallPtrSet<Operation *, 8> ops;
};

} // namespace mlir::geo

#endif // STEEP_PASSES_GEO_CONE_H
