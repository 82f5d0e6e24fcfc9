//===- ProductTile.cpp - the part of a product that is in registers -------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/ProductLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::block;

/// Terms of the sums that one iteration of the innermost loop adds: enough to
/// hide the loop and what it asks for, few enough for the decoder's cache.
static constexpr int64_t unroll = 2;

/// Rows of a tile beside those on AMX.
static constexpr int64_t vectorRows = 8;

LogicalResult ProductLoops::emitTile(const Slab &slab, const Tile &tile) {
  if (!usesAMX())
    return emitVectors(slab, tile);
  if (canUseAMX(slab, tile))
    return emitOnAMX(slab, tile);
  // As many rows as vector registers hold sums of.
  for (int64_t at = 0; at < tile.rows; at += vectorRows)
    if (failed(emitVectors(slab, {values.index(tile.row, at),
                                  std::min(vectorRows, tile.rows - at),
                                  tile.column, tile.columns})))
      return failure();
  return success();
}

LogicalResult ProductLoops::emitVectors(const Slab &slab, const Tile &tile) {
  values.known.enter();
  llvm::scope_exit leave([&] { values.known.leave(); });
  SmallVector<TilePlace> places;
  for (int64_t i = 0; i < tile.rows; ++i)
    for (auto [at, width] : cutIntoVectors(tile.columns, lanes))
      places.push_back(
          {{{values.index(tile.row, i), values.index(tile.column, at)},
            1,
            width}});
  FailureOr<Values> sums = startSums(slab, places);
  if (succeeded(sums))
    sums = addSlab(slab, tile, places, *sums);
  if (failed(sums))
    return failure();
  if (slab.isLast)
    return finish(places, *sums);
  for (auto [place, sum] : llvm::zip(places, *sums))
    values.store(sum, memories[sumsOutput], place);
  return success();
}

FailureOr<ProductLoops::Values>
ProductLoops::startSums(const Slab &slab, ArrayRef<TilePlace> places) {
  Values sums;
  for (const TilePlace &place : places) {
    if (!slab.isFirst) {
      sums.push_back(values.load(memories[sumsOutput], place));
      continue;
    }
    FailureOr<Value> start = values.evaluate(product.getDpsInits()[0], place);
    if (failed(start))
      return failure();
    sums.push_back(values.toVector(*start, place.width));
  }
  return sums;
}

/// A loop over `size` terms, some an iteration, then those that are left.
FailureOr<ProductLoops::Values>
ProductLoops::buildDepth(int64_t size, Values sums, DepthBody body) {
  for (auto [begin, end, step] :
       {std::tuple(int64_t(0), size - size % unroll, unroll),
        {size - size % unroll, size, int64_t(1)}}) {
    if (begin == end)
      continue;
    auto loop =
        scf::ForOp::create(builder, loc, values.constant(begin),
                           values.constant(end), values.constant(step), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    values.known.enter();
    llvm::scope_exit leave([&] { values.known.leave(); });
    FailureOr<Values> next =
        body(loop.getInductionVar(), step, Values(loop.getRegionIterArgs()));
    if (failed(next))
      return failure();
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, loc, *next);
    sums = Values(loop.getResults());
  }
  return sums;
}

/// Piece by piece, which of a left operand that is read along its rows are its
/// panels. Between pieces something of the result is asked for.
FailureOr<ProductLoops::Values>
ProductLoops::addSlab(const Slab &slab, const Tile &tile,
                      ArrayRef<TilePlace> places, Values sums) {
  const int64_t size =
      leftPanel ? leftPanel : llvm::alignTo(columns.step, isPaired ? 2 : 1);
  const int64_t whole = slab.size / size, rest = slab.size % size;
  auto addPiece = [&](Value number, int64_t terms, Values sums) {
    Value panel;
    if (leftPanel)
      panel = add(builder.createOrFold<arith::DivUIOp>(loc, slab.start,
                                                       values.constant(size)),
                  number);
    Value offset =
        builder.createOrFold<arith::MulIOp>(loc, number, values.constant(size));
    return addPanel(add(slab.start, offset), panel, terms, places, sums);
  };
  if (whole > 0) {
    auto loop =
        scf::ForOp::create(builder, loc, values.constant(0),
                           values.constant(whole), values.constant(1), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    askForResult(slab, tile, loop.getInductionVar(), whole);
    FailureOr<Values> next = addPiece(loop.getInductionVar(), size,
                                      Values(loop.getRegionIterArgs()));
    if (failed(next))
      return failure();
    scf::YieldOp::create(builder, loc, *next);
    sums = Values(loop.getResults());
  }
  return rest ? addPiece(values.constant(whole), rest, sums)
              : FailureOr<Values>(sums);
}

/// Terms from `first` on, which lie in one panel of the left operand if it is
/// read along its rows.
FailureOr<ProductLoops::Values>
ProductLoops::addPanel(Value first, Value panel, int64_t size,
                       ArrayRef<TilePlace> places, Values sums) {
  int64_t together = isPaired ? 2 : 1;
  Value firstPair =
      isPaired
          ? builder.createOrFold<arith::DivUIOp>(loc, first, values.constant(2))
          : Value();
  return buildDepth(size / together, sums,
                    [&](Value start, int64_t count, Values sums) {
                      SmallVector<Value> terms;
                      for (int64_t i = 0; i < count; ++i) {
                        Value number = values.index(start, i), offset = number;
                        if (isPaired)
                          offset = arith::MulIOp::create(
                              builder, loc, number, values.constant(together));
                        terms.push_back(add(first, offset));
                        if (isPaired)
                          values.setPair(terms[i], add(firstPair, number));
                        if (panel)
                          values.setPanel(terms[i], leftPanel, panel, offset);
                      }
                      FailureOr<Values> next(std::move(sums));
                      for (int64_t i = 0; i < count && succeeded(next); ++i) {
                        askAhead(terms, i, places);
                        if (panel)
                          askForNextPanel(start, i, panel, places);
                        next = isPaired ? addPair(terms[i], places, *next)
                                        : addTerm(terms[i], places, *next);
                      }
                      return next;
                    });
}

/// Where an operand is read for the part of the result at `place` and term k.
TilePlace ProductLoops::operandAt(unsigned operand, const TilePlace &place,
                                  Value k) {
  AffineMap map = product.getIndexingMapMatchingResult(product->getResult(0));
  TilePlace loops = loopPlace(product, map, place);
  loops.index[depthLoop] = k;
  OpOperand *input = product.getDpsInputOperand(operand);
  return *operandPlace(product.getMatchingIndexingMap(input), loops,
                       [&](int64_t number) { return values.constant(number); });
}

Value ProductLoops::multiplyAdd(Value x, Value y, Value sum) {
  // Not vector.fma, which code generators may take apart again.
  return math::FmaOp::create(builder, loc, x, y, sum);
}

/// Products are fused with their sum; the left factor is broadcast.
FailureOr<ProductLoops::Values>
ProductLoops::addTerm(Value k, ArrayRef<TilePlace> places, Values sums) {
  for (auto [place, sum] : llvm::zip(places, sums)) {
    Value factors[2];
    for (unsigned i : {1u, 0u}) {
      FailureOr<Value> value =
          values.evaluate(product.getDpsInputs()[i], operandAt(i, place, k));
      if (failed(value))
        return failure();
      factors[i] = values.toVector(*value, place.width);
      if (factors[i].getType() != sum.getType())
        return product->emitOpError("expected operands and sums of one type");
    }
    sum = multiplyAdd(factors[0], factors[1], sum);
  }
  return sums;
}

/// What is made of the sums, evaluated for a part of all results before that
/// part is stored: one result may be made from what another overwrites. The
/// output `stored` is in memory already.
LogicalResult ProductLoops::finish(ArrayRef<TilePlace> places, ValueRange sums,
                                   std::optional<unsigned> stored) {
  for (auto [place, sum] : llvm::zip(places, sums))
    values.known.remember(product->getResult(0), place, sum);
  SmallVector<Values> results(outputs.size());
  for (auto [number, place] : llvm::enumerate(places)) {
    for (auto [output, list] : llvm::zip(outputs, results)) {
      FailureOr<Value> value = values.evaluate(output.value, place);
      if (failed(value))
        return failure();
      list.push_back(values.toVector(*value, place.width));
    }
    for (unsigned output = 0; output < outputs.size(); ++output)
      if (output != stored)
        storeResult(output, number, places, results);
  }
  return success();
}

/// Stores part `number`, in memory with pairs when the row above is there too.
void ProductLoops::storeResult(unsigned output, size_t number,
                               ArrayRef<TilePlace> places,
                               ArrayRef<Values> results) {
  const TileMemory &memory = memories[output];
  if (!memory.layout.pairs) {
    values.store(results[output][number], memory, places[number]);
    return;
  }
  Value firstRow = places.front().index[0];
  size_t perRow = llvm::count_if(places, [&](const TilePlace &place) {
    return place.index[0] == firstRow;
  });
  if (number / perRow % 2 == 1)
    values.storePairs(results[output][number - perRow], results[output][number],
                      memory, places[number - perRow]);
}
