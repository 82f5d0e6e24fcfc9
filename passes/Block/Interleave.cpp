//===- Interleave.cpp - sums of rows while rows are made ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Interleave.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::block;

/// What a loop's sum is stored by, if that is all that happens to it.
static vector::TransferWriteOp getStore(scf::ForOp loop) {
  if (loop.getNumResults() != 1 || !loop.getResult(0).hasOneUse())
    return {};
  auto store =
      dyn_cast<vector::TransferWriteOp>(*loop.getResult(0).user_begin());
  if (!store || store->getBlock() != loop->getBlock() || store.getMask() ||
      store.getValueToStore() != loop.getResult(0))
    return {};
  // The place must be known where the sum begins.
  for (Value operand : store->getOperands().drop_front())
    if (Operation *def = operand.getDefiningOp();
        def && def->getBlock() == loop->getBlock() &&
        !def->isBeforeInBlock(loop))
      return {};
  return store;
}

/// One loop over the rows of a block, whatever else there is.
bool Interleaving::findRows() {
  for (Operation &op : maker.getBody()->without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop && op.getNumRegions() == 0)
      continue;
    if (!loop || rows || loop.getNumResults() != 0 ||
        getConstantIntValue(loop.getLowerBound()) != 0 ||
        getConstantIntValue(loop.getStep()) != 1)
      return false;
    rows = loop;
  }
  return rows != nullptr;
}

/// Whether `op` reads memory that `isMade`, or that is no argument's.
static bool readsMade(Operation &op,
                      llvm::function_ref<bool(BlockArgument)> isMade) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (isa<ViewLikeOpInterface>(op) || !effects ||
      !effects.hasEffect<MemoryEffects::Read>())
    return false;
  return llvm::any_of(op.getOperands(), [&](Value operand) {
    auto memory = dyn_cast<MemrefValue>(operand);
    if (!memory)
      return false;
    auto argument = dyn_cast<BlockArgument>(memref::skipViewLikeOps(memory));
    return !argument || isMade(argument);
  });
}

/// Loops over all rows of a group with a sum each, at any depth of loops over
/// columns. Outside of them nothing may be read that the maker writes.
bool Interleaving::findSums(Block &block, int64_t group,
                            llvm::function_ref<bool(BlockArgument)> isMade) {
  for (Operation &op : block.without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && loop.getNumResults() > 0) {
      if (!getStore(loop) || getConstantIntValue(loop.getStep()) != 1 ||
          getConstantIntValue(loop.getLowerBound()) != 0 ||
          getConstantIntValue(loop.getUpperBound()) != group)
        return false;
      hasSums = true;
      loop.walk(
          [&](Operation *inner) { sumsMade |= readsMade(*inner, isMade); });
      continue;
    }
    if (loop ? !findSums(*loop.getBody(), group, isMade)
             : op.getNumRegions() > 0 || readsMade(op, isMade))
      return false;
  }
  return true;
}

/// The maker's first walk over a row and the reader's loop over columns, if
/// they take the same columns at a time.
void Interleaving::findWalks() {
  auto makers = rows.getBody()->getOps<scf::ForOp>();
  auto readers = reader.getBody()->getOps<scf::ForOp>();
  if (makers.empty() || !llvm::hasSingleElement(readers))
    return;
  scf::ForOp first = *makers.begin(), sums = *readers.begin();
  auto isSame = [](Value x, Value y) {
    std::optional<int64_t> number = getConstantIntValue(x);
    return number && number == getConstantIntValue(y);
  };
  if (sums.getNumResults() != 0 ||
      !isSame(first.getLowerBound(), sums.getLowerBound()) ||
      !isSame(first.getUpperBound(), sums.getUpperBound()) ||
      !isSame(first.getStep(), sums.getStep()))
    return;
  makersWalk = first;
  readersWalk = sums;
}

std::optional<Interleaving>
Interleaving::find(scf::ForallOp maker, scf::ForallOp reader, int64_t group,
                   llvm::function_ref<bool(BlockArgument)> isMade) {
  Interleaving both;
  both.maker = maker;
  both.reader = reader;
  if (!both.findRows() || !both.findSums(*reader.getBody(), group, isMade) ||
      !both.hasSums)
    return std::nullopt;
  both.findWalks();
  return both;
}

/// An op of the reader; for a sum, the terms of one row added to what is
/// stored; without a row, what the sum starts from.
void Interleaving::cloneSums(OpBuilder &b, Operation &op, IRMapping &mapping,
                             Value row) {
  auto loop = dyn_cast<scf::ForOp>(op);
  Location loc = op.getLoc();
  if (!loop) {
    b.clone(op, mapping);
    return;
  }
  auto lookup = [&](Value value) { return mapping.lookupOrDefault(value); };
  if (loop.getNumResults() == 0) {
    auto columns = scf::ForOp::create(b, loc, lookup(loop.getLowerBound()),
                                      lookup(loop.getUpperBound()),
                                      lookup(loop.getStep()));
    mapping.map(loop.getInductionVar(), columns.getInductionVar());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(columns.getBody());
    cloneSums(b, *loop.getBody(), mapping, row);
    return;
  }
  if (!row) {
    mapping.map(loop.getResult(0), lookup(loop.getInitArgs()[0]));
    return;
  }
  vector::TransferWriteOp store = getStore(loop);
  auto type = cast<VectorType>(loop.getResult(0).getType());
  Value padding =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  auto sum = vector::TransferReadOp::create(
      b, loc, type, lookup(store.getBase()),
      llvm::map_to_vector(store.getIndices(), lookup),
      store.getPermutationMapAttr(), padding, /*mask=*/Value(),
      store.getInBoundsAttr());
  mapping.map(loop.getInductionVar(), row);
  mapping.map(loop.getRegionIterArg(0), sum.getResult());
  for (Operation &inner : loop.getBody()->without_terminator())
    b.clone(inner, mapping);
  mapping.map(loop.getResult(0),
              lookup(loop.getBody()->getTerminator()->getOperand(0)));
}

void Interleaving::cloneSums(OpBuilder &b, Block &from, IRMapping &mapping,
                             Value row) {
  for (Operation &op : from.without_terminator())
    cloneSums(b, op, mapping, row);
}

/// Rows [begin, end) of the maker alone.
void Interleaving::cloneRows(OpBuilder &b, IRMapping makers, Value begin,
                             Value end) {
  auto loop = cast<scf::ForOp>(b.clone(*rows, makers));
  loop.setLowerBound(begin);
  loop.setUpperBound(end);
}

/// Rows [begin, end) of the maker; in the walk over each the reader adds that
/// row, or the one so many `behind`.
void Interleaving::cloneRows(OpBuilder &b, IRMapping makers, Value begin,
                             Value end, const IRMapping &readers,
                             int64_t behind) {
  Location loc = rows.getLoc();
  auto loop = scf::ForOp::create(b, loc, begin, end,
                                 makers.lookupOrDefault(rows.getStep()));
  makers.map(rows.getInductionVar(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVar();
  if (behind > 0)
    row = arith::SubIOp::create(b, loc, row,
                                arith::ConstantIndexOp::create(b, loc, behind));
  IRMapping sums = readers;
  for (Operation &op : rows.getBody()->without_terminator()) {
    if (&op != makersWalk.getOperation()) {
      b.clone(op, makers);
      continue;
    }
    for (Operation &sum : reader.getBody()->without_terminator()) {
      if (&sum != readersWalk.getOperation()) {
        cloneSums(b, sum, sums, row);
        continue;
      }
      auto columns = cast<scf::ForOp>(b.clone(op, makers));
      sums.map(readersWalk.getInductionVar(), columns.getInductionVar());
      OpBuilder inner(columns.getBody()->getTerminator());
      cloneSums(inner, *readersWalk.getBody(), sums, row);
    }
  }
}

/// Every row is added in a walk that makes a row.
void Interleaving::emitTogether(OpBuilder &b, const IRMapping &makers,
                                const IRMapping &readers) {
  Value begin = makers.lookupOrDefault(rows.getLowerBound());
  Value end = makers.lookupOrDefault(rows.getUpperBound());
  if (!sumsMade) {
    cloneRows(b, makers, begin, end, readers, /*behind=*/0);
    return;
  }
  // No block is empty, and the reader's have whole groups of rows.
  Location loc = rows.getLoc();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  cloneRows(b, makers, begin, one);
  cloneRows(b, makers, one, end, readers, /*behind=*/1);
  IRMapping sums = readers;
  cloneSums(b, *reader.getBody(), sums,
            arith::SubIOp::create(b, loc, end, one));
}

/// Every row is added right after it was made.
void Interleaving::emitInTurns(OpBuilder &b, const IRMapping &makers,
                               const IRMapping &readers, Value inside) {
  IRMapping mapping = makers;
  auto loop = cast<scf::ForOp>(b.clone(*rows, mapping));
  OpBuilder end(loop.getBody()->getTerminator());
  if (inside)
    end.setInsertionPointToStart(
        scf::IfOp::create(end, reader.getLoc(), inside).thenBlock());
  IRMapping sums = readers;
  cloneSums(end, *reader.getBody(), sums, loop.getInductionVar());
}

void Interleaving::emit(scf::ForallOp into, IRMapping makers, IRMapping readers,
                        Value inside) {
  OpBuilder b(into.getTerminator());
  {
    OpBuilder::InsertionGuard guard(b);
    if (inside)
      b.setInsertionPointToStart(
          scf::IfOp::create(b, reader.getLoc(), inside).thenBlock());
    IRMapping starts = readers;
    cloneSums(b, *reader.getBody(), starts, /*row=*/Value());
  }
  for (Operation &op : maker.getBody()->without_terminator()) {
    if (&op != rows.getOperation()) {
      b.clone(op, makers);
    } else if (!makersWalk) {
      emitInTurns(b, makers, readers, inside);
    } else if (inside) {
      auto branch = scf::IfOp::create(b, rows.getLoc(), inside,
                                      /*withElseRegion=*/true);
      OpBuilder both = branch.getThenBodyBuilder();
      emitTogether(both, makers, readers);
      OpBuilder alone = branch.getElseBodyBuilder();
      alone.clone(*rows, makers);
    } else {
      emitTogether(b, makers, readers);
    }
  }
}
