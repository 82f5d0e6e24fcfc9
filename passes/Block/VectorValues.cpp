//===- VectorValues.cpp - values of a tile at one place -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates tensors at a chunk of columns. A value that is the same for the
// whole chunk (a norm, a rate) stays a scalar as long as it can, so that it is
// computed once and leaves the loop.
//
//===----------------------------------------------------------------------===//
#include "passes/Block/VectorEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::block;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Place VectorEmitter::operandPlace(AffineMap map, const Place &loops) {
  std::optional<Place> place = block::operandPlace(
      map, loops, [&](int64_t value) { return constant(value); });
  assert(place && "maps have dimensions and numbers alone");
  return *place;
}

Block *VectorEmitter::entryBlock() {
  Operation *parent = builder.getInsertionBlock()->getParentOp();
  auto func = dyn_cast<func::FuncOp>(parent);
  if (!func)
    func = parent->getParentOfType<func::FuncOp>();
  return &func.getBody().front();
}

/// Constants live at the top of the function, so that equal indices are equal
/// values.
Value VectorEmitter::constant(int64_t value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entryBlock());
    known = arith::ConstantIndexOp::create(builder, loc, value);
  }
  return known;
}

Value VectorEmitter::addIndex(Value index, int64_t offset) {
  if (!index || offset == 0)
    return index;
  if (std::optional<int64_t> known = getConstantIntValue(index))
    return constant(*known + offset);
  return arith::AddIOp::create(builder, loc, index, constant(offset));
}

/// The store that overwrites this very part, if there is one.
TileStore *VectorEmitter::storeOf(Value tensor) {
  for (TileStore &store : stores)
    if (store.dest == tensor)
      return &store;
  return nullptr;
}

/// Whether the value is made by ops of the tile, and so never is a tensor.
static bool isComputed(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
    return isComputed(slice.getSource());
  return isa_and_nonnull<linalg::LinalgOp, tensor::InsertSliceOp,
                         tensor::ExpandShapeOp, tensor::FromElementsOp>(op);
}

//===----------------------------------------------------------------------===//
// What a value is made from
//===----------------------------------------------------------------------===//

/// Calls `visit` for the computed tensors that a scalar depends on.
static void visitScalar(Value scalar,
                        llvm::function_ref<void(tensor::ExtractOp)> visit) {
  Operation *op = scalar.getDefiningOp();
  if (!op || op->getNumRegions() > 0)
    return;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    if (isComputed(extract.getTensor()))
      visit(extract);
    return;
  }
  for (Value operand : op->getOperands())
    visitScalar(operand, visit);
}

void VectorEmitter::visitOperands(Value value, const Place &place,
                                  Visitor visit) {
  Operation *op = value.getDefiningOp();
  if (!op || storeOf(value))
    return;
  auto visitExtract = [&](tensor::ExtractOp extract) {
    visit(extract.getTensor(), Place{SmallVector<Value>(extract.getIndices())});
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (isComputed(slice.getSource()))
      visit(slice.getSource(), place);
  } else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    visit(insert.getSource(), place);
    visit(insert.getDest(), place);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    visit(expand.getSrc(), expandedPlace(expand, place));
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    AffineMap map =
        linalgOp.getIndexingMapMatchingResult(cast<OpResult>(value));
    Place loops = loopPlace(linalgOp, map, place);
    // A sum of elements is vectorised along what it sums over.
    if (linalgOp.getNumReductionLoops() > 0 && !place.isVector())
      loops.along = getReductionLoop(linalgOp);
    Block &body = linalgOp->getRegion(0).front();
    for (OpOperand &operand : linalgOp->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        visitScalar(operand.get(), visitExtract);
      else if (!linalgOp.getMatchingBlockArgument(&operand).use_empty())
        visit(operand.get(),
              operandPlace(linalgOp.getMatchingIndexingMap(&operand), loops));
    }
    for (Operation &inner : body)
      for (Value operand : inner.getOperands())
        if (operand.getParentBlock() != &body)
          visitScalar(operand, visitExtract);
  }
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// A scalar if the value is the same for the whole chunk, else a vector.
FailureOr<Value> VectorEmitter::evaluate(Value tensor, const Place &place) {
  if (Value value = known.lookup(tensor, place))
    return value;
  FailureOr<Value> value = evaluateNew(tensor, place);
  if (succeeded(value))
    known.remember(tensor, place, *value);
  return value;
}

FailureOr<Value> VectorEmitter::evaluateNew(Value tensor, const Place &place) {
  if (TileStore *store = storeOf(tensor))
    return read(store->current, place);
  Operation *op = tensor.getDefiningOp();
  if (!op || !isComputed(tensor)) {
    if (isa_and_nonnull<tensor::EmptyOp>(op))
      return op->emitOpError("is read before anything is written to it");
    return read(tensor, place);
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return evaluateScalar(fill.value());
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    if (elements.getElements().size() == 1)
      return evaluateScalar(elements.getElements()[0]);
    return op->emitOpError("expected one element");
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return evaluateExtractSlice(slice, place);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return evaluateInsertSlice(insert, place);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return evaluate(expand.getSrc(), expandedPlace(expand, place));

  auto linalgOp = cast<linalg::LinalgOp>(op);
  auto result = cast<OpResult>(tensor);
  if (linalgOp.getNumReductionLoops() > 0) {
    if (!place.isVector())
      return op->emitOpError("is a sum that was not planned");
    if (failed(emitColumnSum(linalgOp, place)))
      return failure();
    return known.lookup(tensor, place);
  }
  Place loops =
      loopPlace(linalgOp, linalgOp.getIndexingMapMatchingResult(result), place);
  FailureOr<Values> values = evaluateBody(linalgOp, loops, {});
  if (failed(values))
    return failure();
  return (*values)[result.getResultNumber()];
}

/// [1, r, n] is [r, n].
Place VectorEmitter::expandedPlace(tensor::ExpandShapeOp op,
                                   const Place &place) {
  assert(op.getResultType().getDimSize(0) == 1 && "tiled to one group");
  Place source = place;
  source.index.erase(source.index.begin());
  --source.along;
  return source;
}

FailureOr<Value> VectorEmitter::evaluateExtractSlice(tensor::ExtractSliceOp op,
                                                     const Place &place) {
  Place source = place;
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    if (std::optional<int64_t> known = getConstantIntValue(offset)) {
      source.index[dim] = addIndex(place.index[dim], *known);
      if (int(dim) == place.along) {
        source.begin += *known;
        source.end += *known;
      }
    } else {
      return op.emitOpError("expected a static slice of a computed tile");
    }
  }
  return evaluate(op.getSource(), source);
}

/// Padding: walks are cut where it begins and ends, so a chunk lies in the
/// source or outside of it.
FailureOr<Value> VectorEmitter::evaluateInsertSlice(tensor::InsertSliceOp op,
                                                    const Place &place) {
  if (!place.isVector() || op.isDynamicOffset(place.along) ||
      op.isDynamicSize(place.along))
    return op.emitOpError("expected padding with static edges");
  int64_t begin = op.getStaticOffset(place.along);
  int64_t end = begin + op.getStaticSize(place.along);
  if (place.end <= begin || place.begin >= end)
    return evaluate(op.getDest(), place);
  if (place.begin < begin || place.end > end)
    return op.emitOpError("columns [")
           << place.begin << ", " << place.end << ") straddle an edge";
  Place source = place;
  source.index[place.along] = addIndex(place.index[place.along], -begin);
  source.begin -= begin;
  source.end -= begin;
  return evaluate(op.getSource(), source);
}

/// One iteration of an op's body. With `accumulators`, they stand for what the
/// op's results hold so far.
FailureOr<VectorEmitter::Values>
VectorEmitter::evaluateBody(linalg::LinalgOp op, const Place &loops,
                            ValueRange accumulators) {
  Block &body = op->getRegion(0).front();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (arg.use_empty())
      continue;
    if (!accumulators.empty() && op.isDpsInit(&operand)) {
      mapping.map(
          arg, accumulators[operand.getOperandNumber() - op.getNumDpsInputs()]);
      continue;
    }
    FailureOr<Value> value =
        isa<RankedTensorType>(operand.get().getType())
            ? evaluate(operand.get(),
                       operandPlace(op.getMatchingIndexingMap(&operand), loops))
            : evaluateScalar(operand.get());
    if (failed(value))
      return failure();
    mapping.map(arg, *value);
  }
  for (Operation &inner : body.without_terminator())
    if (failed(evaluateInner(inner, mapping, loops.width)))
      return failure();
  Values results;
  for (Value value : body.getTerminator()->getOperands()) {
    if (value.getParentBlock() == &body) {
      results.push_back(mapping.lookup(value));
      continue;
    }
    FailureOr<Value> scalar = evaluateScalar(value);
    if (failed(scalar))
      return failure();
    results.push_back(*scalar);
  }
  return results;
}

/// An op of a body, on vectors if one of its operands is one.
LogicalResult VectorEmitter::evaluateInner(Operation &op, IRMapping &mapping,
                                           int64_t width) {
  if (isa<linalg::IndexOp>(op))
    return op.emitOpError("is not supported in the body of a kernel's op");
  auto scalar = [&](Value value) { return evaluateScalar(value); };
  auto widen = [&](Value value) { return toVector(value, width); };
  if (failed(checkBodyOp(op)) || failed(mapOuterOperands(op, mapping, scalar)))
    return failure();
  return cloneBodyOp(builder, op, mapping, width, widen);
}

/// A scalar of the kernel; what it takes from a computed tensor is evaluated.
FailureOr<Value> VectorEmitter::evaluateScalar(Value scalar) {
  bool depends = false;
  visitScalar(scalar, [&](tensor::ExtractOp) { depends = true; });
  if (!depends)
    return scalar;
  return rebuildScalar<Place>(
      builder, known, scalar,
      [&](Value tensor, const Place &place) { return evaluate(tensor, place); },
      [&](Value operand) { return evaluateScalar(operand); });
}

/// Sums over another dimension than the vector's: column sums, accumulated in a
/// register.
LogicalResult VectorEmitter::emitColumnSum(linalg::LinalgOp op,
                                           const Place &place) {
  Value result = op->getResult(0);
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  OpOperand *init = op.getDpsInitOperand(0);
  FailureOr<Value> start = evaluate(init->get(), place);
  if (failed(start))
    return failure();
  int64_t depth = getReductionExtent(op);
  // Sums of groups of rows take a row at a time: block-chain-kernels lets each
  // follow what makes the row.
  int64_t unroll = depth % 4 == 0 && op.getNumLoops() <= 2 ? 4 : 1;
  auto loop =
      scf::ForOp::create(builder, loc, constant(0), constant(depth),
                         constant(unroll), toVector(*start, place.width));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    known.enter();
    llvm::scope_exit leave([&] { known.leave(); });
    Value accumulator = loop.getRegionIterArg(0);
    for (int64_t step = 0; step < unroll; ++step) {
      Place loops = loopPlace(op, map, place);
      loops.index[getReductionLoop(op)] =
          addIndex(loop.getInductionVar(), step);
      FailureOr<Value> next = accumulateColumn(op, loops, accumulator);
      if (failed(next))
        return failure();
      accumulator = *next;
    }
    scf::YieldOp::create(builder, loc, accumulator);
  }
  known.remember(result, place, loop.getResult(0));
  return success();
}

FailureOr<Value> VectorEmitter::accumulateColumn(linalg::LinalgOp op,
                                                 const Place &loops,
                                                 Value accumulator) {
  FailureOr<Values> values = evaluateBody(op, loops, accumulator);
  if (failed(values))
    return failure();
  return toVector(values->front(), loops.width);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FailureOr<Value> VectorEmitter::read(Value tensor, const Place &place) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!place.isVector())
    return tensor::ExtractOp::create(builder, loc, tensor, place.index)
        .getResult();
  auto vectorType = VectorType::get({place.width}, type.getElementType());
  if (place.along + 1 == type.getRank()) {
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(type.getElementType()));
    return vector::TransferReadOp::create(builder, loc, vectorType, tensor,
                                          place.index, zero,
                                          ArrayRef<bool>{true})
        .getResult();
  }
  // Along another dimension than the contiguous one: element by element.
  Values elements;
  for (int64_t lane = 0; lane < place.width; ++lane) {
    Values index = place.index;
    index[place.along] = addIndex(index[place.along], lane);
    elements.push_back(tensor::ExtractOp::create(builder, loc, tensor, index));
  }
  return vector::FromElementsOp::create(builder, loc, vectorType, elements)
      .getResult();
}

Value VectorEmitter::write(Value vector, Value tensor, const Place &place) {
  return vector::TransferWriteOp::create(builder, loc, vector, tensor,
                                         place.index, ArrayRef<bool>{true})
      .getResult();
}

Value VectorEmitter::toVector(Value value, int64_t width) {
  if (isa<VectorType>(value.getType()))
    return value;
  Place all;
  all.width = width;
  if (Value made = known.lookup(value, all))
    return made;
  Value vector = vector::BroadcastOp::create(
      builder, loc, VectorType::get({width}, value.getType()), value);
  known.remember(value, all, vector);
  return vector;
}
