//===- Scaled.h - matrices that are another one, scaled ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_SCALED_H
#define STEEP_PASSES_GEO_SCALED_H

#include "passes/Geo/Cone.h"

#include <optional>

namespace mlir::geo {

/// An element of a cone as the element of the cone's matrix times numbers,
/// values of the column and at most one value of the row, with a sign.
struct Scaled {
  SmallVector<Value> numbers;
  SmallVector<unsigned> rows, columns; ///< inputs of the cone
  bool isNegative = false;

  /// None where the element is something else: what is added to the matrix may
  /// cancel it, and then the sums have to be of the very numbers that the mean
  /// is taken from.
  static std::optional<Scaled> find(const Cone &cone, OpBuilder &b);
};

/// The mean row of such a matrix. Only the matrix and the value of the row
/// enter the sum over all rows, in f64; the rest of the product is applied to
/// the sums.
Value createScaledMean(OpBuilder &b, Location loc, const Cone &cone,
                       const Scaled &scaled, Value rows);

} // namespace mlir::geo

#endif // STEEP_PASSES_GEO_SCALED_H
