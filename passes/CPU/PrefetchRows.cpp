//===- PrefetchRows.cpp - block-prefetch-rows -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::block {
#define GEN_PASS_DEF_PREFETCHROWS
#include "passes/CPU/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

/// Bytes of a cache line of every x86-64 processor.
static constexpr int64_t lineBytes = 64;

namespace {
/// The walks over one row that the body of a loop over rows makes.
class RowLoop {
public:
  explicit RowLoop(scf::ForOp rows) : rows(rows) {}

  /// Returns the number of matrices that are prefetched.
  unsigned prefetch();

private:
  void findReads();
  Value ofNextRow(Value row);
  void emit(scf::ForOp walk, Value row);

  scf::ForOp rows;
  SmallVector<scf::ForOp> walks;
  /// Rows in memory, and the first walk that reads each.
  llvm::MapVector<Value, unsigned> firstRead;
  IRMapping toNextRow;
};
} // namespace

/// A row is a view that is taken in the loop's body and is read by chunks.
void RowLoop::findReads() {
  for (auto walk : rows.getBody()->getOps<scf::ForOp>()) {
    bool hasReads = false;
    walk.walk([&](vector::TransferReadOp read) {
      auto view = read.getBase().getDefiningOp<memref::SubViewOp>();
      if (!view || view->getBlock() != rows.getBody() ||
          read->getBlock() != walk.getBody())
        return;
      // Chunks go along the row, and the row is contiguous.
      ArrayRef<int64_t> shape = view.getType().getShape();
      auto [strides, offset] = view.getType().getStridesAndOffset();
      if (shape.size() != 2 || shape[0] != 1 || strides.back() != 1 ||
          read.getIndices().back() != walk.getInductionVar())
        return;
      hasReads = true;
      firstRead.insert({view, unsigned(walks.size())});
    });
    if (hasReads)
      walks.push_back(walk);
  }
}

/// The same view one iteration later; of the last row, itself.
Value RowLoop::ofNextRow(Value row) {
  Operation *view = row.getDefiningOp();
  OpBuilder b(view);
  b.setInsertionPointAfter(view);
  Location loc = view->getLoc();
  if (!toNextRow.contains(rows.getInductionVar())) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    Value next =
        arith::AddIOp::create(b, loc, rows.getInductionVar(), rows.getStep());
    Value last =
        arith::SubIOp::create(b, loc, rows.getUpperBound(), rows.getStep());
    toNextRow.map(rows.getInductionVar(),
                  arith::MinSIOp::create(b, loc, next, last).getResult());
  }
  // Offsets are sums of where the block and the row in it begin.
  for (Value operand : view->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (def && def->getBlock() == rows.getBody() &&
        !toNextRow.contains(operand) && isa<arith::AddIOp>(def))
      b.clone(*def, toNextRow);
  }
  return b.clone(*view, toNextRow)->getResult(0);
}

void RowLoop::emit(scf::ForOp walk, Value row) {
  OpBuilder b = OpBuilder::atBlockBegin(walk.getBody());
  Location loc = walk.getLoc();
  auto type = cast<MemRefType>(row.getType());
  int64_t step = lineBytes * 8 / type.getElementTypeBitWidth();
  int64_t chunk = getConstantIntValue(walk.getStep()).value_or(step);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  for (int64_t at = 0; at < chunk; at += step) {
    Value column = walk.getInductionVar();
    if (at > 0)
      column = arith::AddIOp::create(
          b, loc, column, arith::ConstantIndexOp::create(b, loc, at));
    memref::PrefetchOp::create(b, loc, row, ValueRange{zero, column},
                               /*isWrite=*/false, /*localityHint=*/3,
                               /*isDataCache=*/true);
  }
}

unsigned RowLoop::prefetch() {
  findReads();
  // One walk reads all rows at one pace, which processors see by themselves.
  if (walks.size() < 2)
    return 0;
  for (auto [row, walk] : firstRead)
    if (walk > 0)
      emit(walks[walk - 1], row);
    else
      emit(walks.back(), ofNextRow(row));
  return firstRead.size();
}

namespace {
struct PrefetchRowsPass : block::impl::PrefetchRowsBase<PrefetchRowsPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(BlockDialect::kernelAttrName))
      return;
    SmallVector<scf::ForOp> loops;
    func.walk([&](scf::ForOp loop) {
      if (isa<scf::ForallOp>(loop->getParentOp()))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      numPrefetched += RowLoop(loop).prefetch();
  }
};
} // namespace
