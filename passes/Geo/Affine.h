//===- Affine.h - matrices that are affine in another one -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_AFFINE_H
#define STEEP_PASSES_GEO_AFFINE_H

#include "passes/Geo/Cone.h"

#include <optional>

namespace mlir::geo {

/// A product, with a sign, of numbers, values of a row and values of a column.
struct Product {
  SmallVector<Value> numbers;
  SmallVector<unsigned> rows, columns; ///< inputs of a cone
  bool isNegative = false;
};

/// An element of a cone as slope * x + offset, x being the element of the
/// cone's matrix. Neither product has more than one value of the row.
struct Affine {
  Product slope;
  std::optional<Product> offset; ///< none: zero

  /// None where the element is something else.
  static std::optional<Affine> find(const Cone &cone, OpBuilder &b);
};

/// The mean row of such a matrix. Only the matrix and one value a row enter the
/// sum over all rows, in f64; the rest of the products is applied to the sums.
Value createAffineMean(OpBuilder &b, Location loc, const Cone &cone,
                       const Affine &affine, Value rows);

} // namespace mlir::geo

#endif // STEEP_PASSES_GEO_AFFINE_H
