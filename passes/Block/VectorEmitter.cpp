//===- VectorEmitter.cpp - walks over the columns of a tile ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/VectorEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::block;

VectorEmitter::VectorEmitter(OpBuilder &builder, Location loc, int64_t chunk)
    : builder(builder), loc(loc), chunk(llvm::bit_floor<uint64_t>(chunk)) {}

/// Whether a result is one number a row (a sum), not a part of a row. So is a
/// column beside results of several columns.
bool VectorEmitter::isScalarStore(const TileStore &store) const {
  RankedTensorType type = store.type();
  return type.getRank() == 0 ||
         (type.getRank() == 1 && type.getDimSize(0) == 1) ||
         (type.getNumElements() == 1 && hasSeveralColumns);
}

LogicalResult VectorEmitter::emit(MutableArrayRef<TileStore> tileStores) {
  stores = tileStores;
  known.clear();
  hasSeveralColumns = llvm::any_of(stores, [](const TileStore &store) {
    return store.type().getRank() == 2 && store.type().getDimSize(1) > 1;
  });
  if (failed(checkStores(stores)))
    return failure();
  for (TileStore &store : stores)
    if (failed(plan(store.value, storePlace(store, Place()))))
      return failure();
  return emitRows(stores);
}

LogicalResult VectorEmitter::checkStores(ArrayRef<TileStore> stores) {
  std::optional<int64_t> columns;
  for (const TileStore &store : stores) {
    RankedTensorType type = store.type();
    if (!type.hasStaticShape() || type.getRank() > 2)
      return store.insert->emitOpError(
          "expected a tile of static shape and rank 2 at most");
    if (type.getRank() == 2 && type.getDimSize(0) != 1)
      return store.insert->emitOpError("expected a tile of one row, but got ")
             << type.getDimSize(0);
    if (isScalarStore(store))
      continue;
    int64_t last = type.getShape().back();
    if (columns && *columns != last)
      return store.insert->emitOpError("expected results of equal width in a "
                                       "tile, but got ")
             << *columns << " and " << last;
    columns = last;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Planning: which sums along a row there are, and which need which
//===----------------------------------------------------------------------===//

/// The number of walks after which `value` can be computed. Indices along the
/// vector are not known yet: they are null.
FailureOr<unsigned> VectorEmitter::plan(Value value, const Place &place) {
  auto id = known.key(value, place);
  if (auto found = planned.find(id); found != planned.end())
    return found->second;

  unsigned level = 0;
  bool failedInside = false;
  visitOperands(value, place, [&](Value operand, const Place &at) {
    FailureOr<unsigned> needed = plan(operand, at);
    if (failed(needed))
      failedInside = true;
    else
      level = std::max(level, *needed);
  });
  if (failedInside)
    return failure();
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (op && op.getNumReductionLoops() > 0 && !storeOf(value)) {
    if (op.getNumReductionLoops() > 1)
      return op->emitOpError("expected one reduction loop in a tile");
    if (!place.isVector())
      return planReduction(op, place, level);
    // Sums of groups of rows take the chunks of what makes the rows.
    hasColumnSum |= op.getNumLoops() <= 2;
    hasLongTerms |= op.getNumDpsInputs() > 1;
  }
  planned[id] = level;
  return level;
}

FailureOr<unsigned> VectorEmitter::planReduction(linalg::LinalgOp op,
                                                 const Place &place,
                                                 unsigned level) {
  if (llvm::is_contained(place.index, Value()))
    return op->emitOpError("sum along a row is needed at another row");
  auto sum = std::make_unique<RowReduction>();
  sum->op = op;
  sum->place = place;
  sum->level = level;
  if (failed(findCombiners(op, sum->combine)))
    return failure();
  for (Value result : op->getResults())
    planned[known.key(result, place)] = level + 1;
  sums.push_back(std::move(sum));
  return level + 1;
}

/// Columns at which a walk must be cut: edges of what is padded.
void VectorEmitter::findBreaks(Value value, const Place &place, int64_t shift,
                               SmallVectorImpl<int64_t> &breaks) {
  if (!place.isVector() || storeOf(value))
    return;
  Operation *op = value.getDefiningOp();
  if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op)) {
    int64_t begin = insert.getStaticOffset(place.along);
    int64_t end = begin + insert.getStaticSize(place.along);
    breaks.append({begin - shift, end - shift});
    findBreaks(insert.getSource(), place, shift - begin, breaks);
    findBreaks(insert.getDest(), place, shift, breaks);
    return;
  }
  if (auto extract = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
    if (!extract.isDynamicOffset(place.along))
      shift += extract.getStaticOffset(place.along);
  visitOperands(value, place, [&](Value operand, const Place &at) {
    findBreaks(operand, at, shift, breaks);
  });
}

//===----------------------------------------------------------------------===//
// Walks over a row
//===----------------------------------------------------------------------===//

LogicalResult VectorEmitter::emitRows(MutableArrayRef<TileStore> stores) {
  SmallVector<TileStore *> columns;
  unsigned last = 0;
  for (TileStore &store : stores) {
    if (isScalarStore(store))
      continue;
    columns.push_back(&store);
    last = std::max(last, *plan(store.value, storePlace(store, Place())));
  }
  for (auto &sum : sums)
    last = std::max(last, sum->level);
  // Sums down the rows want long pieces of each row; shorter ones where terms
  // are made of several values, whose vectors would leave the registers.
  if (hasColumnSum)
    chunk *= hasLongTerms ? 2 : 4;

  int64_t width = columns.empty() ? -1 : columns[0]->type().getShape().back();
  for (unsigned level = 0; level <= last; ++level) {
    std::map<int64_t, SmallVector<RowReduction *>> byExtent;
    for (auto &sum : sums)
      if (sum->level == level)
        byExtent[getReductionExtent(sum->op)].push_back(sum.get());
    bool writes = level == last && !columns.empty();
    for (auto &[extent, group] : byExtent)
      if (!(writes && extent == width) && failed(emitWalk(group, {}, extent)))
        return failure();
    if (writes && failed(emitWalk(byExtent[width], columns, width)))
      return failure();
  }

  for (TileStore &store : stores) {
    if (!isScalarStore(store))
      continue;
    Place place = storePlace(store, Place());
    FailureOr<Value> value = evaluate(store.value, place);
    if (failed(value))
      return failure();
    store.current = tensor::InsertOp::create(builder, loc, *value,
                                             store.current, place.index);
  }
  return success();
}

Place VectorEmitter::storePlace(const TileStore &store, const Place &column) {
  Place place = column;
  place.index.assign(store.type().getRank(), constant(0));
  if (isScalarStore(store)) {
    place.along = -1;
    place.width = 0;
    return place;
  }
  place.along = store.type().getRank() - 1;
  place.index.back() = column.index.empty() ? Value() : column.index.back();
  return place;
}

/// One walk over the columns [0, extent): updates sums and writes stores.
LogicalResult VectorEmitter::emitWalk(ArrayRef<RowReduction *> sums,
                                      ArrayRef<TileStore *> stores,
                                      int64_t extent) {
  SmallVector<int64_t> breaks{0, extent};
  for (TileStore *store : stores)
    findBreaks(store->value, storePlace(*store, Place()), 0, breaks);
  for (RowReduction *sum : sums) {
    Place loops = sumLoops(*sum, Place());
    for (OpOperand *input : sum->op.getDpsInputOperands())
      findBreaks(input->get(),
                 operandPlace(sum->op.getMatchingIndexingMap(input), loops), 0,
                 breaks);
    sum->accumulators.assign(sum->combine.size(), Value());
    sum->totals.assign(sum->combine.size(), Value());
  }
  llvm::sort(breaks);
  breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
  for (size_t i = 0; i + 1 < breaks.size(); ++i)
    if (breaks[i] >= 0 && breaks[i + 1] <= extent &&
        failed(emitSegment(sums, stores, breaks[i], breaks[i + 1])))
      return failure();
  for (RowReduction *sum : sums)
    if (failed(finishSum(*sum)))
      return failure();
  return success();
}

/// Columns [begin, end): a loop over whole chunks, then pieces of halving
/// widths, which every target has loads and stores for.
LogicalResult VectorEmitter::emitSegment(ArrayRef<RowReduction *> sums,
                                         ArrayRef<TileStore *> stores,
                                         int64_t begin, int64_t end) {
  Place column;
  column.along = 0;
  column.begin = begin;
  column.end = end;
  int64_t at = begin + (end - begin) / chunk * chunk;
  if (at > begin) {
    Values carried;
    for (RowReduction *sum : sums) {
      startSum(*sum);
      llvm::append_range(carried, sum->accumulators);
    }
    for (TileStore *store : stores)
      carried.push_back(store->current);
    auto loop = scf::ForOp::create(builder, loc, constant(begin), constant(at),
                                   constant(chunk), carried);
    auto take = [&](ValueRange values) {
      size_t next = 0;
      for (RowReduction *sum : sums)
        for (Value &accumulator : sum->accumulators)
          accumulator = values[next++];
      for (TileStore *store : stores)
        store->current = values[next++];
    };
    take(loop.getRegionIterArgs());
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      column.index = {loop.getInductionVar()};
      column.width = chunk;
      if (failed(emitChunk(sums, stores, column)))
        return failure();
      Values yielded;
      for (RowReduction *sum : sums)
        llvm::append_range(yielded, sum->accumulators);
      for (TileStore *store : stores)
        yielded.push_back(store->current);
      scf::YieldOp::create(builder, loc, yielded);
    }
    take(loop.getResults());
  }
  for (int64_t width = chunk / 2; width >= 1; width /= 2) {
    if (((end - at) & width) == 0)
      continue;
    column.index = {constant(at)};
    column.width = width;
    if (failed(emitChunk(sums, stores, column)))
      return failure();
    at += width;
  }
  return success();
}

LogicalResult VectorEmitter::emitChunk(ArrayRef<RowReduction *> sums,
                                       ArrayRef<TileStore *> stores,
                                       const Place &column) {
  known.enter();
  llvm::scope_exit leave([&] { known.leave(); });
  for (RowReduction *sum : sums)
    if (failed(accumulate(*sum, column)))
      return failure();
  // All values first: one result may be made from what another overwrites.
  Values values;
  for (TileStore *store : stores) {
    FailureOr<Value> value = evaluate(store->value, storePlace(*store, column));
    if (failed(value))
      return failure();
    values.push_back(toVector(*value, column.width));
  }
  for (auto [store, value] : llvm::zip(stores, values))
    store->current = write(value, store->current, storePlace(*store, column));
  return success();
}

//===----------------------------------------------------------------------===//
// Sums along a row
//===----------------------------------------------------------------------===//

/// The loops of a sum at a chunk of columns.
Place VectorEmitter::sumLoops(const RowReduction &sum, const Place &column) {
  linalg::LinalgOp op = sum.op;
  Place loops = loopPlace(op, op.getIndexingMapMatchingResult(op->getResult(0)),
                          sum.place);
  loops.along = getReductionLoop(op);
  loops.index[loops.along] =
      column.index.empty() ? Value() : column.index.back();
  loops.width = column.width;
  loops.begin = column.begin;
  loops.end = column.end;
  return loops;
}

/// `width` elements with which a sum may start; constants go to the top.
Value VectorEmitter::startOf(Operation *combine, Value result, int64_t width) {
  Value neutral;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entryBlock());
    neutral = arith::ConstantOp::create(
        builder, loc,
        getNeutral(combine, getElementTypeOrSelf(result.getType())));
  }
  return toVector(neutral, width);
}

void VectorEmitter::startSum(RowReduction &sum) {
  for (auto [combine, accumulator, result] :
       llvm::zip(sum.combine, sum.accumulators, sum.op->getResults()))
    if (!accumulator)
      accumulator = startOf(combine, result, chunk);
}

/// Whole chunks go to the accumulators, element by element; a piece at the
/// end of a segment is summed up at once.
LogicalResult VectorEmitter::accumulate(RowReduction &sum,
                                        const Place &column) {
  bool whole = column.width == chunk;
  Values before;
  if (whole) {
    startSum(sum);
    before = sum.accumulators;
  } else {
    for (auto [combine, result] : llvm::zip(sum.combine, sum.op->getResults()))
      before.push_back(startOf(combine, result, column.width));
  }
  FailureOr<Values> after = evaluateBody(sum.op, sumLoops(sum, column), before);
  if (failed(after))
    return failure();
  for (auto [index, value] : llvm::enumerate(*after)) {
    value = toVector(value, column.width);
    if (whole) {
      sum.accumulators[index] = value;
      continue;
    }
    Operation *combine = sum.combine[index];
    Value part = reduce(value, combine);
    Value &total = sum.totals[index];
    total = total ? combineTwo(builder, loc, combine, total, part) : part;
  }
  return success();
}

/// total = init + (accumulators, as a tree) + (pieces, in order)
LogicalResult VectorEmitter::finishSum(RowReduction &sum) {
  linalg::LinalgOp op = sum.op;
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    Operation *combine = sum.combine[index];
    Value total = sum.totals[index];
    if (Value accumulator = sum.accumulators[index]) {
      Value tree = reduce(accumulator, combine);
      total = total ? combineTwo(builder, loc, combine, tree, total) : tree;
    }
    OpOperand *init = op.getDpsInitOperand(index);
    FailureOr<Value> start = evaluate(init->get(), sum.place);
    if (failed(start))
      return failure();
    known.remember(result, sum.place,
                   combineTwo(builder, loc, combine, *start, total));
  }
  return success();
}

/// Sums up a vector: halves onto halves, so the order is in the code.
Value VectorEmitter::reduce(Value vector, Operation *combine) {
  for (int64_t width = cast<VectorType>(vector.getType()).getDimSize(0) / 2;
       width >= 1; width /= 2) {
    auto half = [&](int64_t offset) -> Value {
      return vector::ExtractStridedSliceOp::create(
          builder, loc, vector, ArrayRef<int64_t>{offset},
          ArrayRef<int64_t>{width}, ArrayRef<int64_t>{1});
    };
    Value low = half(0), high = half(width);
    vector = combineTwo(builder, loc, combine, low, high);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}
