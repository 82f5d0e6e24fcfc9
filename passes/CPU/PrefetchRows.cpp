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
#include "llvm/ADT/MapVector.h"

namespace mlir::block {
#define GEN_PASS_DEF_PREFETCHROWS
#include "passes/CPU/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

/// Bytes of a cache line of every x86-64 processor.
static constexpr int64_t lineBytes = 64;

/// How far ahead rows are asked for, at least: a page, beyond which a
/// processor does not follow a stream by itself.
static constexpr int64_t aheadBytes = 4096;

namespace {
/// A row in memory: a view of one row of an argument.
struct Row {
  memref::SubViewOp view;
  Value matrix;
  /// Its number is the sum of these.
  SmallVector<Value, 2> offsets;
  int64_t columns = 0;
};

/// The walks over one row that the body of a loop over rows makes.
class RowLoop {
public:
  explicit RowLoop(scf::ForOp rows) : rows(rows) {}

  /// Returns the number of matrices that are prefetched.
  unsigned prefetch();

private:
  void findReads();
  std::optional<Row> findRow(vector::TransferReadOp read, scf::ForOp walk);
  Value emitLater(Row row, int64_t distance);
  void emit(scf::ForOp walk, Value row);

  scf::ForOp rows;
  SmallVector<scf::ForOp> walks;
  /// Rows in memory, and the first walk that reads each.
  llvm::MapVector<Operation *, std::pair<Row, unsigned>> firstRead;
};
} // namespace

/// The row that `read` takes a chunk of, if it is contiguous and the chunks of
/// `walk` go along it.
std::optional<Row> RowLoop::findRow(vector::TransferReadOp read,
                                    scf::ForOp walk) {
  auto view = read.getBase().getDefiningOp<memref::SubViewOp>();
  if (!view || view->getBlock() != rows.getBody() ||
      read->getBlock() != walk.getBody() ||
      read.getIndices().back() != walk.getInductionVar())
    return std::nullopt;
  Row row{view, view, {}, view.getType().getShape().back()};
  if (view.getType().getRank() != 2 || view.getType().getDimSize(0) != 1)
    return std::nullopt;
  while (auto part = row.matrix.getDefiningOp<memref::SubViewOp>()) {
    if (part.getType().getRank() != 2 || !part.hasUnitStride() ||
        part.getStaticOffset(1) != 0 || !part.isDynamicOffset(0))
      return std::nullopt;
    row.offsets.push_back(part.getDynamicOffset(0));
    row.matrix = part.getSource();
  }
  auto type = cast<MemRefType>(row.matrix.getType());
  if (!isa<BlockArgument>(row.matrix) || !type.hasStaticShape() ||
      !type.getLayout().isIdentity() || type.getDimSize(1) != row.columns)
    return std::nullopt;
  return row;
}

void RowLoop::findReads() {
  for (auto walk : rows.getBody()->getOps<scf::ForOp>()) {
    bool hasReads = false;
    walk.walk([&](vector::TransferReadOp read) {
      std::optional<Row> row = findRow(read, walk);
      if (!row)
        return;
      hasReads = true;
      firstRead.insert({row->view, {*row, unsigned(walks.size())}});
    });
    if (hasReads)
      walks.push_back(walk);
  }
}

/// The row `distance` rows later, also where that is another block's; of the
/// last rows, the last.
Value RowLoop::emitLater(Row row, int64_t distance) {
  OpBuilder b(row.view);
  b.setInsertionPointAfter(row.view);
  Location loc = row.view.getLoc();
  int64_t last = cast<MemRefType>(row.matrix.getType()).getDimSize(0) - 1;
  Value later = arith::ConstantIndexOp::create(b, loc, distance);
  for (Value offset : row.offsets)
    later = arith::AddIOp::create(b, loc, offset, later);
  later = arith::MinSIOp::create(b, loc, later,
                                 arith::ConstantIndexOp::create(b, loc, last));
  return memref::SubViewOp::create(
      b, loc, row.matrix, ArrayRef<OpFoldResult>{later, b.getIndexAttr(0)},
      {b.getIndexAttr(1), b.getIndexAttr(row.columns)},
      {b.getIndexAttr(1), b.getIndexAttr(1)});
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
  for (auto &[view, entry] : firstRead) {
    auto &[row, walk] = entry;
    if (walk > 0) {
      emit(walks[walk - 1], row.view);
      continue;
    }
    int64_t bytes =
        row.columns * row.view.getType().getElementTypeBitWidth() / 8;
    emit(walks.back(),
         emitLater(row, std::max<int64_t>(1, aheadBytes / bytes)));
  }
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
      Operation *parent = loop->getParentOp();
      while (isa<scf::IfOp>(parent))
        parent = parent->getParentOp();
      if (isa<scf::ForallOp>(parent))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      numPrefetched += RowLoop(loop).prefetch();
  }
};
} // namespace
