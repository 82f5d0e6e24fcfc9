//===- DistributeRows.cpp - block-distribute-rows -------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/Passes.h"
#include "passes/NVPTX/ThreadEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <set>

namespace mlir::block {
#define GEN_PASS_DEF_DISTRIBUTEROWS
#include "passes/NVPTX/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;
using bufferization::ToTensorOp;

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

/// Between these a binary32 sum of squares has lost nothing to underflow, and
/// its root and the root's reciprocal are normal numbers.
static constexpr float leastSum = 0x1p-96f, largestSum = 0x1p+125f;

/// Reads everything that the row needs before anything is computed or written.
LogicalResult ThreadEmitter::preload(Value row) {
  SmallVector<std::pair<Value, ThreadPlace>> leaves;
  std::set<ScopedValues<ThreadPlace>::Key> seen;
  std::function<void(Value, const ThreadPlace &)> visit =
      [&](Value value, const ThreadPlace &place) {
        if (value.getDefiningOp<ToTensorOp>()) {
          // Several results may read the same.
          if (place.isVector() && !known.lookup(value, place) &&
              seen.insert(known.key(value, place)).second)
            leaves.push_back({value, place});
          return;
        }
        visitOperands(value, place, visit);
      };
  Values none;
  Walk walk = walkOf(shape.columns);
  LogicalResult walked =
      emitWalk(walk, none, [&](const ThreadPlace &column, Values &) {
        for (const KernelResult &result : shape.results)
          if (hasRow(result))
            visit(result.value, storePlace(result, row, column));
        return success();
      });
  if (failed(walked) || int64_t(leaves.size()) * walk.width > preloadedFloats)
    return walked;
  for (auto &[value, place] : leaves)
    if (failed(evaluate(value, place)))
      return failure();
  return success();
}

LogicalResult ThreadEmitter::emitRow(Value row) {
  SmallVector<Sum> sums;
  for (const KernelResult &result : shape.results)
    collectSums(result.value, storePlace(result, row, ThreadPlace()), sums);
  bool isGuarded =
      llvm::any_of(sums, [&](const Sum &sum) { return mayBeNarrow(sum); });
  chooseEarly(sums, row);
  if (walkOf(shape.columns).isShort() && !sums.empty() && failed(preload(row)))
    return failure();
  if (isGuarded)
    return emitGuarded(sums, row);
  for (const Sum &sum : sums)
    if (failed(emitSum(sum)))
      return failure();
  return emitStores(row);
}

/// Whether a sum of squares may be added in binary32. One that is itself a
/// result may not: what reads it can enlarge its error, as the polynomials of
/// Newton-Schulz do with that of a Frobenius norm.
bool ThreadEmitter::mayBeNarrow(const Sum &sum) const {
  return !sum.dependsOnSums && isSumOfSquares(sum.op) &&
         llvm::none_of(shape.results, [&](const KernelResult &result) {
           return result.value == sum.op->getResult(0);
         });
}

/// Sums of squares in binary32, a test whether they are right, and two versions
/// of the rest.
LogicalResult ThreadEmitter::emitGuarded(ArrayRef<Sum> sums, Value row) {
  SmallVector<std::pair<Sum, Value>> guards;
  SmallVector<Sum> later;
  Value good;
  auto bound = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  };
  for (const Sum &sum : sums) {
    if (!mayBeNarrow(sum)) {
      if (sum.dependsOnSums)
        later.push_back(sum);
      else if (failed(emitSum(sum)))
        return failure();
      continue;
    }
    FailureOr<Value> value = emitNarrowSum(sum);
    if (failed(value))
      return failure();
    guards.push_back({sum, *value});
    for (auto [predicate, limit] :
         {std::pair(arith::CmpFPredicate::OGE, leastSum),
          {arith::CmpFPredicate::OLE, largestSum}}) {
      Value holds =
          arith::CmpFOp::create(builder, loc, predicate, *value, bound(limit));
      good = good ? arith::AndIOp::create(builder, loc, good, holds) : holds;
    }
  }
  auto emitRest = [&]() -> LogicalResult {
    for (const Sum &sum : later)
      if (failed(emitSum(sum)))
        return failure();
    return emitStores(row);
  };
  auto branch = scf::IfOp::create(builder, loc, good, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  enterScope();
  for (auto &[sum, value] : guards) {
    Value wide =
        arith::ExtFOp::create(builder, loc, builder.getF64Type(), value);
    remember(sum.op->getResult(0), sum.place, wide);
    narrow[wide] = value;
    guarded.insert(wide);
    guardedTensors.insert(sum.op.getDpsInputOperand(0)->get());
  }
  LogicalResult status = emitRest();
  leaveScope();
  narrow.clear();
  guarded.clear();
  guardedTensors.clear();
  if (failed(status))
    return failure();

  builder.setInsertionPointToStart(branch.elseBlock());
  enterScope();
  for (auto &[sum, value] : guards)
    if (failed(emitSum(sum)))
      return failure();
  status = emitRest();
  leaveScope();
  return status;
}

LogicalResult ThreadEmitter::emitColumns(Value column, Value mask) {
  ThreadPlace place;
  place.index = {column};
  place.along = 0;
  place.width = shape.width;
  place.mask = mask;
  Values values;
  for (const KernelResult &result : shape.results) {
    FailureOr<Value> value = evaluate(result.value, place);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  // All warps have the sums; the first writes them.
  Value writes = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       entry.warp, constant(0));
  if (mask)
    writes = arith::AndIOp::create(builder, loc, writes, mask);
  auto branch = scf::IfOp::create(builder, loc, writes);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (auto [value, result] : llvm::zip(values, shape.results))
    if (failed(write(value, result.memory, place)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

/// The rows of a block, a warp a row at a time.
static LogicalResult emitRows(OpBuilder &builder, KernelEntry &entry,
                              const KernelShape &shape) {
  Location loc = shape.func.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  };
  int64_t rows = std::max<int64_t>(1, shape.config.getRows());
  bool wholeBlock = rows == 1 && shape.warps() > 1;
  int64_t teams = wholeBlock ? 1 : shape.warps();
  ThreadEmitter emitter(builder, entry, shape, wholeBlock);
  if (failed(emitter.emitScalars()))
    return failure();
  Value first =
      arith::MulIOp::create(builder, loc, entry.block, constant(rows));
  if (!wholeBlock)
    first = arith::AddIOp::create(builder, loc, first, entry.warp);
  OpBuilder::InsertionGuard guard(builder);
  Value row = first;
  if (rows > teams) {
    Value end = arith::MinUIOp::create(
        builder, loc,
        arith::AddIOp::create(
            builder, loc,
            arith::MulIOp::create(builder, loc, entry.block, constant(rows)),
            constant(rows)),
        constant(shape.rows));
    auto loop = scf::ForOp::create(builder, loc, first, end, constant(teams));
    builder.setInsertionPointToStart(loop.getBody());
    row = loop.getInductionVar();
  } else if (shape.rows % rows != 0 || rows < teams) {
    Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        row, constant(shape.rows));
    auto branch = scf::IfOp::create(builder, loc, holds);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  emitter.enterScope();
  return emitter.emitRow(row);
}

static LogicalResult emitColumns(OpBuilder &builder, KernelEntry &entry,
                                 const KernelShape &shape) {
  Location loc = shape.func.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  };
  ThreadEmitter emitter(builder, entry, shape, /*wholeBlock=*/false);
  if (failed(emitter.emitScalars()))
    return failure();
  int64_t owned = columnsOfBlock(shape.width);
  Value column = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, entry.block, constant(owned)),
      arith::MulIOp::create(builder, loc, entry.lane, constant(shape.width)));
  Value mask;
  if (shape.columns % owned != 0)
    mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 column, constant(shape.columns));
  return emitter.emitColumns(column, mask);
}

static LogicalResult distribute(const KernelShape &shape) {
  OpBuilder builder(shape.func.getContext());
  KernelEntry entry = KernelEntry::create(builder, shape);
  LogicalResult status = failure();
  switch (shape.kind) {
  case KernelKind::Rows:
    status = emitRows(builder, entry, shape);
    break;
  case KernelKind::Columns:
    status = emitColumns(builder, entry, shape);
    break;
  case KernelKind::Single: {
    ThreadEmitter emitter(builder, entry, shape, /*wholeBlock=*/true);
    status = emitter.emitScalars();
    if (succeeded(status))
      status = emitter.emitRow(Value());
    break;
  }
  case KernelKind::Product:
    break;
  }
  if (failed(status)) {
    entry.func.erase();
    return failure();
  }
  shape.func.erase();
  return success();
}

namespace {
struct DistributeRowsPass
    : block::impl::DistributeRowsBase<DistributeRowsPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Steps call kernels, so they go first.
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (func->hasAttr(BlockDialect::stepAttrName))
        func.erase();
    for (auto func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!func->hasAttr(BlockDialect::kernelAttrName))
        continue;
      FailureOr<KernelShape> shape = KernelShape::read(func);
      if (failed(shape) ||
          (shape->kind != KernelKind::Product && failed(distribute(*shape))))
        return signalPassFailure();
    }
  }
};
} // namespace
