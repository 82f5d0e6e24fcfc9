//===- GeoTiling.cpp - tiles of rows and of elements ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/GeoDetail.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::geo;

static bool isMatrix(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2;
}

/// The first matrix among the operands; all of them have its shape.
static Value getMatrix(Operation *op) {
  return *llvm::find_if(op->getOperands(), isMatrix);
}

/// Completes a tile of the first dimensions to one of all of `matrix`.
static void completeTile(OpBuilder &b, Location loc, Value matrix,
                         SmallVectorImpl<OpFoldResult> &offsets,
                         SmallVectorImpl<OpFoldResult> &sizes) {
  if (offsets.size() == 2)
    return;
  SmallVector<OpFoldResult> whole = tensor::getMixedSizes(b, loc, matrix);
  for (size_t i = offsets.size(); i < whole.size(); ++i) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(whole[i]);
  }
}

SmallVector<Range> geo::detail::getIterationDomain(OpBuilder &b, Operation *op,
                                                   unsigned loops) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, op->getLoc(), getMatrix(op));
  SmallVector<Range> domain;
  for (OpFoldResult size : ArrayRef(sizes).take_front(loops))
    domain.push_back({b.getIndexAttr(0), size, b.getIndexAttr(1)});
  return domain;
}

FailureOr<TilingResult> geo::detail::tile(OpBuilder &b, Operation *op,
                                          ArrayRef<OpFoldResult> offsets,
                                          ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));

  SmallVector<Value> operands;
  SmallVector<Operation *> slices;
  for (Value operand : op->getOperands()) {
    if (isMatrix(operand)) {
      SmallVector<OpFoldResult> fullOffsets(offsets), fullSizes(sizes);
      completeTile(b, op->getLoc(), operand, fullOffsets, fullSizes);
      auto slice = tensor::ExtractSliceOp::create(
          b, op->getLoc(), operand, fullOffsets, fullSizes, strides);
      slices.push_back(slice);
      operand = slice;
    }
    operands.push_back(operand);
  }

  SmallVector<Type> types;
  for (Type result : op->getResultTypes()) {
    auto type = cast<RankedTensorType>(result);
    SmallVector<int64_t> shape(type.getShape());
    for (size_t i = 0; i < std::min(sizes.size(), shape.size()); ++i)
      shape[i] = getConstantIntValue(sizes[i]).value_or(ShapedType::kDynamic);
    types.push_back(type.clone(shape));
  }
  Operation *tiled = clone(b, op, types, operands);
  return TilingResult{
      {tiled}, llvm::to_vector_of<Value>(tiled->getResults()), slices};
}

LogicalResult geo::detail::getResultTilePosition(
    OpBuilder &b, Operation *op, unsigned resultNumber,
    ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
    SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  resultOffsets.assign(offsets.begin(), offsets.end());
  resultSizes.assign(sizes.begin(), sizes.end());
  auto type = cast<RankedTensorType>(op->getResult(resultNumber).getType());
  // Columns that are not tiled are those of an operand of the result's type.
  auto like = llvm::find_if(op->getOperands(),
                            [&](Value v) { return v.getType() == Type(type); });
  completeTile(b, op->getLoc(),
               like != op->operand_end() ? *like : getMatrix(op), resultOffsets,
               resultSizes);
  resultOffsets.resize(type.getRank());
  resultSizes.resize(type.getRank());
  return success();
}

LogicalResult geo::detail::getDomainTileFromResultTile(
    Operation *op, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
    SmallVectorImpl<OpFoldResult> &domainOffsets,
    SmallVectorImpl<OpFoldResult> &domainSizes) {
  size_t loops = cast<TilingInterface>(op).getLoopIteratorTypes().size();
  // Columns of the result that the op only gives together.
  auto isWhole = [&](size_t dim) {
    std::optional<int64_t> size = getConstantIntValue(sizes[dim]);
    return isZeroInteger(offsets[dim]) && size &&
           llvm::any_of(op->getResultTypes(), [&](Type type) {
             auto shape = cast<RankedTensorType>(type).getShape();
             return dim < shape.size() && shape[dim] == *size;
           });
  };
  for (size_t i = loops; i < offsets.size(); ++i)
    if (!isWhole(i))
      return failure();
  domainOffsets.assign(offsets.begin(), offsets.begin() + loops);
  domainSizes.assign(sizes.begin(), sizes.begin() + loops);
  return success();
}

FailureOr<TilingResult> geo::detail::generateResultTileValue(
    OpBuilder &b, Operation *op, unsigned resultNumber,
    ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> domainOffsets, domainSizes;
  if (failed(getDomainTileFromResultTile(op, offsets, sizes, domainOffsets,
                                         domainSizes)))
    return failure();
  FailureOr<TilingResult> tiled = tile(b, op, domainOffsets, domainSizes);
  // Tiles of the other results come along, but were not asked for.
  if (succeeded(tiled))
    tiled->tiledValues = {tiled->tiledValues[resultNumber]};
  return tiled;
}
