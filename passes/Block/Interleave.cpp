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
      continue;
    }
    if (loop ? !findSums(*loop.getBody(), group, isMade)
             : op.getNumRegions() > 0)
      return false;
    if (loop || isa<ViewLikeOpInterface>(op))
      continue;
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects || !effects.hasEffect<MemoryEffects::Read>())
      continue;
    for (Value operand : op.getOperands()) {
      auto memory = dyn_cast<MemrefValue>(operand);
      if (!memory)
        continue;
      auto argument = dyn_cast<BlockArgument>(memref::skipViewLikeOps(memory));
      if (!argument || isMade(argument))
        return false;
    }
  }
  return true;
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
  return both;
}

/// The reader's body with, for each sum, the terms of one row added to what is
/// stored; without a row, what the sum starts from.
void Interleaving::cloneSums(OpBuilder &b, Block &from, IRMapping &mapping,
                             Value row) {
  for (Operation &op : from.without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    Location loc = op.getLoc();
    if (!loop) {
      b.clone(op, mapping);
      continue;
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
      continue;
    }
    if (!row) {
      mapping.map(loop.getResult(0), lookup(loop.getInitArgs()[0]));
      continue;
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
}

void Interleaving::emit(scf::ForallOp into, IRMapping makers, IRMapping readers,
                        Value inside) {
  auto emitSums = [&](Operation *before, Value row) {
    OpBuilder b(before);
    if (inside)
      b.setInsertionPointToStart(
          scf::IfOp::create(b, reader.getLoc(), inside).thenBlock());
    IRMapping mapping = readers;
    cloneSums(b, *reader.getBody(), mapping, row);
  };
  emitSums(into.getTerminator(), /*row=*/Value());
  OpBuilder b(into.getTerminator());
  for (Operation &op : maker.getBody()->without_terminator()) {
    Operation *made = b.clone(op, makers);
    if (&op != rows.getOperation())
      continue;
    auto loop = cast<scf::ForOp>(made);
    emitSums(loop.getBody()->getTerminator(), loop.getInductionVar());
  }
}
