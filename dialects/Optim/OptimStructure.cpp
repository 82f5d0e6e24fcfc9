//===- OptimStructure.cpp - the matrices that a parameter holds -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the structure, a block is a run of whole rows of the parameter seen
// as a matrix of its last dimensions: it lies in one piece of memory, and is
// found by its first row.
//
//===----------------------------------------------------------------------===//
#include "dialects/Optim/Optim.h"

#include <numeric>

using namespace mlir;
using namespace mlir::optim;

LogicalResult GroupOp::verifyStructure() {
  if (getStacked() && getConvolution())
    return emitOpError("expected stacked or convolution, not both");
  if (getSplit() && getPerHead())
    return emitOpError("expected split or per_head, not both");
  if (getPerHead() && *getPerHead() < 1)
    return emitOpError("expected per_head to be at least 1 row, but got ")
           << *getPerHead();
  if (std::optional<ArrayRef<int64_t>> split = getSplit()) {
    if (split->empty())
      return emitOpError("expected split to name the rows of each block");
    for (int64_t rows : *split)
      if (rows < 1)
        return emitOpError("expected split to hold at least 1 row a block, "
                           "but got ")
               << rows;
  }
  bool cutsRows = getSplit() || getPerHead() || getStacked();
  if (getFacts() && cutsRows)
    return emitOpError("states facts of whole matrices, which their blocks "
                       "(split, per_head, stacked) do not have");
  return success();
}

/// The rows of each block of one m x n matrix.
static FailureOr<SmallVector<int64_t>>
getRows(GroupOp group, int64_t m,
        llvm::function_ref<InFlightDiagnostic()> emitError) {
  if (std::optional<ArrayRef<int64_t>> split = group.getSplit()) {
    int64_t sum = std::accumulate(split->begin(), split->end(), int64_t(0));
    if (sum != m)
      return emitError() << "its " << m << " rows are split into blocks of "
                         << sum << " in all";
    return SmallVector<int64_t>(*split);
  }
  if (std::optional<uint64_t> rows = group.getPerHead()) {
    if (m % int64_t(*rows) != 0)
      return emitError() << "its " << m << " rows are no multiple of the "
                         << *rows << " rows of a head";
    return SmallVector<int64_t>(m / int64_t(*rows), int64_t(*rows));
  }
  return SmallVector<int64_t>{m};
}

FailureOr<Blocks>
GroupOp::getBlocks(RankedTensorType type,
                   llvm::function_ref<InFlightDiagnostic()> emitError) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rank = type.getRank();
  bool takesRank = getStacked()       ? rank >= 3
                   : getConvolution() ? rank >= 3
                                      : rank == 2;
  if (!takesRank)
    return emitError() << "rules update matrices: expected rank "
                       << (getStacked() || getConvolution() ? "3 or more" : "2")
                       << (getStacked()       ? " of what is stacked"
                           : getConvolution() ? " of a convolution's kernel"
                                              : "")
                       << ", not rank " << rank;
  if (type.getNumElements() == 0)
    return emitError() << "a matrix needs at least one element";

  int64_t count = 1, m = shape[0];
  if (getStacked()) {
    m = shape[rank - 2];
    for (int64_t size : shape.drop_back(2))
      count *= size;
  }
  Blocks blocks;
  blocks.columns = type.getNumElements() / (count * m);
  FailureOr<SmallVector<int64_t>> rows = getRows(*this, m, emitError);
  if (failed(rows))
    return failure();
  int64_t first = 0;
  for (int64_t item = 0; item < count; ++item)
    for (int64_t size : *rows) {
      blocks.blocks.push_back({first, size});
      first += size;
    }
  return blocks;
}
