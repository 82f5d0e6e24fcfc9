//===- Tiler.cpp - tiles of the values of a kernel ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Tiler.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace mlir::block;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

bool Part::operator==(const Part &other) const {
  return isEqualConstantIntOrValueArray(offsets, other.offsets) &&
         isEqualConstantIntOrValueArray(sizes, other.sizes);
}

Part Part::whole(Builder &b, ArrayRef<int64_t> shape) {
  Part part;
  for (int64_t size : shape) {
    part.offsets.push_back(b.getIndexAttr(0));
    part.sizes.push_back(b.getIndexAttr(size));
  }
  return part;
}

/// a + b, folded where both are constants.
static OpFoldResult add(OpBuilder &b, Location loc, OpFoldResult x,
                        OpFoldResult y) {
  AffineExpr d0, d1;
  bindDims(b.getContext(), d0, d1);
  return affine::makeComposedFoldedAffineApply(b, loc, d0 + d1, {x, y});
}

//===----------------------------------------------------------------------===//
// Tiler
//===----------------------------------------------------------------------===//

FailureOr<Value> Tiler::tile(Value value, const Part &part) {
  for (const Known &entry : known)
    if (entry.value == value && entry.part == part)
      return entry.tile;

  FailureOr<Value> result = failure();
  Operation *op = value.getDefiningOp();
  if (!op || isa<bufferization::ToTensorOp>(op))
    result = tileLeaf(value, part);
  else if (isa<tensor::EmptyOp>(op))
    result = tensor::EmptyOp::create(
                 builder, op->getLoc(), part.sizes,
                 cast<RankedTensorType>(value.getType()).getElementType())
                 .getResult();
  else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    result = tileExtractSlice(slice, part);
  else if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    result = tileInsertSlice(slice, part);
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    result = tileExpandShape(expand, part);
  else
    result = tileOp(cast<OpResult>(value), part);
  if (succeeded(result))
    known.push_back({value, part, *result});
  return result;
}

FailureOr<Value> Tiler::tileLeaf(Value value, const Part &part) {
  for (const Known &entry : inPlace) {
    if (entry.value != value)
      continue;
    if (!(entry.part == part))
      return emitError(value.getLoc(),
                       "kernel overwrites this argument and reads another part "
                       "of it than the one that a block writes");
    return entry.tile;
  }
  return tensor::ExtractSliceOp::create(builder, value.getLoc(), value,
                                        part.offsets, part.sizes,
                                        part.strides(builder))
      .getResult();
}

FailureOr<Value> Tiler::tileExtractSlice(tensor::ExtractSliceOp op,
                                         const Part &part) {
  if (op.getSourceType().getRank() != op.getType().getRank() ||
      !op.hasUnitStride())
    return op.emitOpError("expected a slice of full rank and unit strides in a "
                          "kernel");
  Part source = part;
  for (auto [offset, start] : llvm::zip(source.offsets, op.getMixedOffsets()))
    offset = add(builder, op.getLoc(), offset, start);
  return tile(op.getSource(), source);
}

/// Padding. Rows of the destination that the source does not cover are told
/// apart by a condition on the row, not by control flow: such a row reads the
/// nearest row of the source and drops it.
FailureOr<Value> Tiler::tileInsertSlice(tensor::InsertSliceOp op,
                                        const Part &part) {
  Location loc = op.getLoc();
  RankedTensorType type = op.getDestType(), sourceType = op.getSourceType();
  std::optional<int64_t> row, column;
  if (type.getRank() == 2 && sourceType.getRank() == 2) {
    row = getConstantIntValue(op.getMixedOffsets()[0]);
    column = getConstantIntValue(op.getMixedOffsets()[1]);
  }
  if (!row || !column || !op.hasUnitStride() || !type.hasStaticShape() ||
      !sourceType.hasStaticShape() || !isConstantIntValue(part.offsets[1], 0) ||
      !isConstantIntValue(part.sizes[1], type.getDimSize(1)) ||
      !isConstantIntValue(part.sizes[0], 1))
    return op.emitOpError("expected padding of a matrix of static shape, cut "
                          "into whole rows");

  int64_t rows = sourceType.getDimSize(0), columns = sourceType.getDimSize(1);
  Part source = part, inDest = part;
  source.offsets[1] = builder.getIndexAttr(0);
  source.sizes[1] = inDest.sizes[1] = builder.getIndexAttr(columns);
  inDest.offsets[1] = builder.getIndexAttr(*column);
  bool coversRows = *row == 0 && rows == type.getDimSize(0);
  Value inside;
  if (!coversRows) {
    Value at = getValueOrCreateConstantIndexOp(builder, loc, part.offsets[0]);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value shifted =
        *row == 0 ? at
                  : arith::SubIOp::create(builder, loc, at, constant(*row))
                        .getResult();
    Value nearest =
        arith::MinSIOp::create(builder, loc, shifted, constant(rows - 1));
    if (*row != 0)
      nearest = arith::MaxSIOp::create(builder, loc, nearest, constant(0));
    inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   nearest, shifted);
    source.offsets[0] = nearest;
  }

  FailureOr<Value> value = tile(op.getSource(), source);
  if (failed(value))
    return failure();
  if (inside) {
    FailureOr<Value> outside = tile(op.getDest(), inDest);
    if (failed(outside))
      return failure();
    value = select(loc, inside, *value, *outside);
  }
  if (columns == type.getDimSize(1))
    return value;
  FailureOr<Value> dest = tile(op.getDest(), part);
  if (failed(dest))
    return failure();
  inDest.offsets[0] = builder.getIndexAttr(0);
  return tensor::InsertSliceOp::create(builder, loc, *value, *dest,
                                       inDest.offsets, inDest.sizes,
                                       inDest.strides(builder))
      .getResult();
}

/// [m, n] seen as [m/r, r, n]: rows of the first dimension are r rows of the
/// source.
FailureOr<Value> Tiler::tileExpandShape(tensor::ExpandShapeOp op,
                                        const Part &part) {
  RankedTensorType type = op.getResultType(), sourceType = op.getSrcType();
  bool leading =
      type.hasStaticShape() && sourceType.getRank() >= 1 &&
      type.getRank() == sourceType.getRank() + 1 &&
      type.getDimSize(0) * type.getDimSize(1) == sourceType.getDimSize(0) &&
      type.getShape().drop_front(2) == sourceType.getShape().drop_front();
  if (!leading || !isConstantIntValue(part.offsets[1], 0) ||
      !isConstantIntValue(part.sizes[1], type.getDimSize(1)) ||
      !isConstantIntValue(part.sizes[0], 1))
    return op.emitOpError("expected the first dimension to be split into "
                          "groups of rows, one group a block");
  Location loc = op.getLoc();
  AffineExpr d0;
  bindDims(builder.getContext(), d0);
  Part source;
  source.offsets.assign(part.offsets.begin() + 1, part.offsets.end());
  source.sizes.assign(part.sizes.begin() + 1, part.sizes.end());
  source.offsets[0] = affine::makeComposedFoldedAffineApply(
      builder, loc, d0 * type.getDimSize(1), {part.offsets[0]});
  FailureOr<Value> rows = tile(op.getSrc(), source);
  if (failed(rows))
    return failure();
  SmallVector<int64_t> shape{1, type.getDimSize(1)};
  for (OpFoldResult size : ArrayRef(part.sizes).drop_front(2)) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    if (!constant)
      return op.emitOpError("expected static sizes");
    shape.push_back(*constant);
  }
  return tensor::ExpandShapeOp::create(
             builder, loc, RankedTensorType::get(shape, type.getElementType()),
             *rows, op.getReassociationIndices())
      .getResult();
}

/// Any op with the tiling interface: `geo` and `linalg`.
FailureOr<Value> Tiler::tileOp(OpResult result, const Part &part) {
  Operation *op = result.getOwner();
  auto interface = dyn_cast<TilingInterface>(op);
  if (!interface)
    return op->emitOpError("cannot be cut into tiles");
  // Ops without loops (scalars as tensors of rank 0) are simply copied.
  if (part.offsets.empty() && isa<linalg::LinalgOp>(op) &&
      cast<linalg::LinalgOp>(op).getNumLoops() == 0) {
    Operation *copy = builder.clone(*op);
    if (failed(tileOperands(copy, {})))
      return failure();
    return copy->getResult(result.getResultNumber());
  }
  FailureOr<TilingResult> tiling = interface.generateResultTileValue(
      builder, result.getResultNumber(), part.offsets, part.sizes);
  if (failed(tiling) || tiling->tiledValues.empty())
    return op->emitOpError("cannot make the tile of its result that the kernel "
                           "needs");
  for (Operation *tiled : tiling->tiledOps)
    if (failed(tileOperands(tiled, tiling->generatedSlices)))
      return failure();
  // Some ops return all their results, some the one asked for.
  ArrayRef<Value> values = tiling->tiledValues;
  return values.size() == 1 ? values.front() : values[result.getResultNumber()];
}

/// Replaces the operands of a tiled op, which are slices of the values of the
/// untiled kernel or, where nothing is cut, those values themselves.
LogicalResult Tiler::tileOperands(Operation *tiled,
                                  ArrayRef<Operation *> slices) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(tiled);
  for (OpOperand &operand : tiled->getOpOperands()) {
    Value value = operand.get();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    FailureOr<Value> replacement = failure();
    auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
    if (slice && llvm::is_contained(slices, slice.getOperation())) {
      replacement = tile(slice.getSource(),
                         {slice.getMixedOffsets(), slice.getMixedSizes()});
    } else {
      replacement = tile(value, Part::whole(builder, type.getShape()));
    }
    if (failed(replacement))
      return failure();
    if (replacement->getType() != value.getType()) {
      return tiled->emitOpError("expected a tile of type ")
             << value.getType() << ", but got " << replacement->getType();
    }
    operand.set(*replacement);
    if (slice && slice->use_empty())
      slice->erase();
  }
  return success();
}

Value Tiler::select(Location loc, Value condition, Value ifTrue,
                    Value ifFalse) {
  auto type = cast<RankedTensorType>(ifTrue.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{type}, ValueRange{ifTrue, ifFalse},
             ValueRange{empty},
             ArrayRef<AffineMap>{identity, identity, identity}, iterators,
             [&](OpBuilder &b, Location loc, ValueRange args) {
               Value chosen =
                   arith::SelectOp::create(b, loc, condition, args[0], args[1]);
               linalg::YieldOp::create(b, loc, chosen);
             })
      .getResult(0);
}
