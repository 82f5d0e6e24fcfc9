//===- Symmetry.cpp - which results of a kernel are symmetric -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Symmetry.h"
#include "dialects/Geo/Geo.h"
#include "passes/Block/Placement.h"

using namespace mlir;
using namespace mlir::block;

bool block::isSymmetricProduct(Operation *product) {
  return product->hasAttr(geo::GeoDialect::symmetricAttrName);
}

/// Whether a matrix is symmetric for what it is made from: a marked product, or
/// element by element from symmetric matrices and numbers.
static bool isSymmetric(Value value, llvm::DenseMap<Value, bool> &known) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || op->getNumResults() != 1)
    return false;
  if (isSymmetricProduct(op))
    return true;
  if (op.getNumLoops() != 2 || op.getNumParallelLoops() != 2 ||
      op.hasIndexSemantics())
    return false;
  auto [found, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return found->second;
  bool all = llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    return op.getMatchingBlockArgument(&operand).use_empty() ||
           map.getNumResults() == 0 ||
           (map.getNumResults() == 2 && isSymmetric(operand.get(), known));
  });
  return known[value] = all;
}

void block::keepSymmetric(ArrayRef<Call> calls) {
  llvm::DenseMap<Value, bool> known;
  for (const Call &call : calls) {
    bool all = llvm::all_of(call.stores, [&](const Store &store) {
      return isSymmetric(store.value, known);
    });
    for (Operation *op : call.ops)
      if (!all)
        op->removeAttr(geo::GeoDialect::symmetricAttrName);
  }
}
