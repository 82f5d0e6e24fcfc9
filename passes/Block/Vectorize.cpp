//===- Vectorize.cpp - block-vectorize ------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/Block/Cleanup.h"
#include "passes/Block/Config.h"
#include "passes/Block/Passes.h"
#include "passes/Block/VectorEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::block {
#define GEN_PASS_DEF_VECTORIZE
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

/// Columns of a chunk where the config leaves it open: one AVX-512 vector. The
/// order of sums depends on it, the rest of the target does not enter.
static constexpr int64_t defaultChunk = 16;

/// Whether what is inserted was made in loops, whose bodies are tiles of their
/// own.
static bool isMadeByLoops(Value value) {
  return isa_and_nonnull<scf::ForOp, scf::IfOp>(value.getDefiningOp());
}

/// The stores of the tile that ends in this block, if one does.
static SmallVector<TileStore> findStores(Block &block) {
  SmallVector<TileStore> stores;
  Operation *terminator = block.getTerminator();
  if (auto inParallel = dyn_cast<scf::InParallelOp>(terminator)) {
    for (Operation &op : inParallel.getYieldingOps()) {
      auto insert = cast<tensor::ParallelInsertSliceOp>(op);
      if (!isMadeByLoops(insert.getSource()))
        stores.push_back({insert, insert.getSource(), nullptr, nullptr});
    }
  } else if (isa<scf::YieldOp>(terminator)) {
    for (Value value : terminator->getOperands()) {
      auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
      if (insert && insert->getBlock() == &block &&
          !isMadeByLoops(insert.getSource()))
        stores.push_back({insert, insert.getSource(), nullptr, nullptr});
    }
  }
  return stores;
}

/// The slice of the block's tensor that a store replaces.
template <typename InsertOp>
static Value findDest(OpBuilder &builder, Block &block, InsertOp insert) {
  for (auto slice : block.getOps<tensor::ExtractSliceOp>())
    if (slice.getSource() == insert.getDest() &&
        slice.getType() == insert.getSourceType() &&
        isEqualConstantIntOrValueArray(slice.getMixedOffsets(),
                                       insert.getMixedOffsets()))
      return slice;
  return builder.createOrFold<tensor::ExtractSliceOp>(
      insert.getLoc(), insert.getSourceType(), insert.getDest(),
      insert.getMixedOffsets(), insert.getMixedSizes(),
      insert.getMixedStrides());
}

static LogicalResult vectorizeTile(Block &block, int64_t chunk) {
  SmallVector<TileStore> stores = findStores(block);
  if (stores.empty())
    return success();
  OpBuilder builder(block.getParentOp()->getContext());
  builder.setInsertionPoint(block.getTerminator());
  for (TileStore &store : stores) {
    if (store.insert->getBlock() == &block &&
        store.insert->isBeforeInBlock(&*builder.getInsertionPoint()))
      builder.setInsertionPoint(store.insert);
  }
  for (TileStore &store : stores) {
    if (auto insert = dyn_cast<tensor::InsertSliceOp>(store.insert))
      store.dest = findDest(builder, block, insert);
    else
      store.dest = findDest(builder, block,
                            cast<tensor::ParallelInsertSliceOp>(store.insert));
    store.current = store.dest;
  }
  VectorEmitter emitter(builder, block.getParentOp()->getLoc(), chunk);
  if (failed(emitter.emit(stores)))
    return failure();
  for (TileStore &store : stores)
    store.insert->setOperand(0, store.current);
  return success();
}

namespace {
struct VectorizePass : block::impl::VectorizeBase<VectorizePass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(BlockDialect::kernelAttrName))
      return;
    FailureOr<ConfigAttr> config = getConfig(func);
    if (failed(config))
      return signalPassFailure();
    int64_t chunk = config->getChunk() > 0 ? config->getChunk() : defaultChunk;
    SmallVector<Block *> blocks;
    func.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>() &&
          failed(vectorizeTile(*block, chunk)))
        return signalPassFailure();
    eraseDead(func);

    WalkResult left = func.walk([](linalg::LinalgOp op) {
      op->emitOpError("was not vectorised");
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      return signalPassFailure();
    // What does not depend on the columns, rows or blocks leaves their loops.
    hoistInvariant(func, [](Operation *) { return true; });
    mergeEqual(func);
  }
};
} // namespace
