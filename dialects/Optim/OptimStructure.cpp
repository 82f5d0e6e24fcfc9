//===- OptimStructure.cpp - the matrices that a parameter holds -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parameter is seen as one matrix, its leading dimensions stacked (or, of a
// convolution's kernel, its trailing ones side by side). A block is a run of
// whole rows of it, in one piece of memory, or of columns of such a run.
//
//===----------------------------------------------------------------------===//
#include "dialects/Optim/Optim.h"

#include <numeric>

using namespace mlir;
using namespace mlir::optim;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

static bool cutsColumns(GroupOp group) { return group.getAxis() == 1; }

/// What `split` and `per_head` count, and a matrix has.
static StringRef getUnit(GroupOp group) {
  return cutsColumns(group) ? "column" : "row";
}

LogicalResult GroupOp::verifyStructure() {
  if (getStacked() && getConvolution())
    return emitOpError("expected stacked or convolution, not both");
  if (getSplit() && getPerHead())
    return emitOpError("expected split or per_head, not both");
  if (getAxis() && !getSplit() && !getPerHead())
    return emitOpError("expected split or per_head with axis, which says what "
                       "they cut");
  if (getAxis().value_or(0) > 1)
    return emitOpError("expected axis 0 (rows) or 1 (columns), but got ")
           << int64_t(*getAxis());
  if (getPerHead() && int64_t(*getPerHead()) < 1)
    return emitOpError("expected per_head to be at least 1 ")
           << getUnit(*this) << ", but got " << int64_t(*getPerHead());
  if (std::optional<ArrayRef<int64_t>> split = getSplit()) {
    if (split->empty())
      return emitOpError("expected split to name the ")
             << getUnit(*this) << "s of each block";
    for (int64_t size : *split)
      if (size < 1)
        return emitOpError("expected split to hold at least 1 ")
               << getUnit(*this) << " a block, but got " << size;
  }
  bool isCut = getSplit() || getPerHead() || getStacked();
  if (getFacts() && isCut)
    return emitOpError("states facts of whole matrices, which their blocks "
                       "(split, per_head, stacked) do not have");
  return success();
}

/// The rows or columns of each block of a matrix that has `size` of them.
static FailureOr<SmallVector<int64_t>> getSizes(GroupOp group, int64_t size,
                                                EmitError emitError) {
  StringRef unit = getUnit(group);
  if (std::optional<ArrayRef<int64_t>> split = group.getSplit()) {
    int64_t sum = std::accumulate(split->begin(), split->end(), int64_t(0));
    if (sum != size)
      return emitError() << "its " << size << " " << unit
                         << "s are split into blocks of " << sum << " in all";
    return SmallVector<int64_t>(*split);
  }
  if (std::optional<uint64_t> each = group.getPerHead()) {
    if (size % int64_t(*each) != 0)
      return emitError() << "its " << size << " " << unit
                         << "s are no multiple of the " << *each << " " << unit
                         << "s of a head";
    return SmallVector<int64_t>(size / int64_t(*each), int64_t(*each));
  }
  return SmallVector<int64_t>{size};
}

static LogicalResult checkRank(GroupOp group, RankedTensorType type,
                               EmitError emitError) {
  int64_t rank = type.getRank();
  bool takesMore = group.getStacked() || group.getConvolution();
  if (takesMore ? rank < 3 : rank != 2) {
    InFlightDiagnostic diag =
        emitError() << "rules update matrices: expected rank "
                    << (takesMore ? "3 or more" : "2")
                    << (group.getStacked()       ? " of what is stacked"
                        : group.getConvolution() ? " of a convolution's kernel"
                                                 : "")
                    << ", not rank " << rank;
    if (!takesMore && rank > 2)
      diag << "; a group with 'stacked' takes leading dimensions as a stack of "
              "matrices, one with 'convolution' a kernel as one matrix";
    return diag;
  }
  if (type.getNumElements() == 0)
    return emitError() << "a matrix needs at least one element";
  return success();
}

FailureOr<SmallVector<MatrixBlock>> GroupOp::getBlocks(RankedTensorType type,
                                                       EmitError emitError) {
  if (failed(checkRank(*this, type, emitError)))
    return failure();
  ArrayRef<int64_t> shape = type.getShape();
  int64_t count = 1, m = shape[0];
  if (getStacked()) {
    m = shape[type.getRank() - 2];
    for (int64_t size : shape.drop_back(2))
      count *= size;
  }
  int64_t n = type.getNumElements() / (count * m);
  bool columns = cutsColumns(*this);
  auto sizes = getSizes(*this, columns ? n : m, emitError);
  if (failed(sizes))
    return failure();
  SmallVector<MatrixBlock> blocks;
  for (int64_t item = 0; item < count; ++item) {
    int64_t at = 0;
    for (int64_t size : *sizes) {
      blocks.push_back(columns ? MatrixBlock{item * m, at, m, size}
                               : MatrixBlock{item * m + at, 0, size, n});
      at += size;
    }
  }
  return blocks;
}
