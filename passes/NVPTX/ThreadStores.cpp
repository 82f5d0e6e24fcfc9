//===- ThreadStores.cpp - what a row's threads write, and when ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ThreadEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::block;
using bufferization::ToTensorOp;

/// Whether a result has a row of the kernel's width; else it has one number a
/// row, in a vector or in a matrix of one column. In a kernel of one column
/// every result has: what lies in such a row may be read as one number by all
/// threads.
bool ThreadEmitter::hasRow(const KernelResult &result) const {
  if (shape.columns == 1)
    return false;
  RankedTensorType type = result.type();
  return type.getRank() == (shape.kind == KernelKind::Rows ? 2 : 1) &&
         type.getShape().back() == shape.columns;
}

ThreadPlace ThreadEmitter::storePlace(const KernelResult &result, Value row,
                                      const ThreadPlace &column) {
  ThreadPlace place = column;
  place.index.clear();
  place.along = -1;
  if (shape.kind == KernelKind::Rows)
    place.index.push_back(row);
  if (hasRow(result)) {
    place.along = place.index.size();
    place.index.push_back(column.index.empty() ? Value() : column.index[0]);
  } else {
    if (result.type().getRank() > int64_t(place.index.size()))
      place.index.push_back(constant(0));
    place.shift = place.width = 0;
    place.mask = Value();
  }
  return place;
}

//===----------------------------------------------------------------------===//
// Before the sums
//===----------------------------------------------------------------------===//

/// Whether a value is an early result of this thread's row.
bool ThreadEmitter::isEarly(Value value, const ThreadPlace &place) const {
  return early.has(value) && place.index.size() == 2 &&
         place.index[0] == early.row && place.along == 1;
}

/// The memory of an early result that `value` reads otherwise than by way of
/// that result or of a sum along the row, or null.
Value ThreadEmitter::overwrittenBy(Value value, const ThreadPlace &place) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (isEarly(value, place) ||
      (op && op.getNumReductionLoops() > 0 && place.along < 0))
    return Value();
  if (auto read = value.getDefiningOp<ToTensorOp>()) {
    for (const KernelResult *result : early.results)
      if (getViewed(result->memory) == getViewed(read.getBuffer()))
        return result->memory;
    return Value();
  }
  Value found;
  visitOperands(value, place, [&](Value operand, const ThreadPlace &at) {
    if (!found)
      found = overwrittenBy(operand, at);
  });
  return found;
}

/// A result that needs no sum is written while the first sum walks the row, so
/// that no register holds it until the sum is known; a later walk of a long row
/// reads it back instead of what it was made from. Where something later needs
/// what the result overwrites, it waits.
void ThreadEmitter::chooseEarly(ArrayRef<Sum> sums, Value row) {
  early = EarlyStores();
  if (shape.kind != KernelKind::Rows || sums.empty() ||
      llvm::any_of(sums, [&](const Sum &sum) {
        return getReductionExtent(sum.op) != shape.columns;
      }))
    return;
  early.row = row;
  for (const KernelResult &result : shape.results) {
    SmallVector<Sum> needed;
    if (!hasRow(result))
      continue;
    collectSums(result.value, storePlace(result, row, ThreadPlace()), needed);
    if (needed.empty())
      early.results.push_back(&result);
  }
  auto findConflict = [&]() -> Value {
    for (const KernelResult &result : shape.results)
      if (Value memory = overwrittenBy(result.value,
                                       storePlace(result, row, ThreadPlace())))
        return memory;
    for (Sum sum : sums)
      for (OpOperand *input : sum.op.getDpsInputOperands()) {
        FailureOr<ThreadPlace> at =
            operandPlace(sum.op.getMatchingIndexingMap(input),
                         sumLoops(sum.op, sum.place, ThreadPlace()));
        if (failed(at))
          return early.results.front()->memory;
        if (Value memory = overwrittenBy(input->get(), *at))
          return memory;
      }
    return Value();
  };
  while (!early.results.empty()) {
    Value memory = findConflict();
    if (!memory)
      break;
    llvm::erase_if(early.results, [&](const KernelResult *result) {
      return result->memory == memory;
    });
  }
  early.isPending = !early.results.empty();
  // Loads that follow a store of other memory wait for it. So where registers
  // hold the results of the whole row, all loads come first.
  Walk walk = walkOf(shape.columns);
  int64_t kept = early.results.size() * walk.chunks() * walk.width;
  early.isInterleaved = !walk.isShort() || kept > keptFloats;
}

/// To be called for each chunk of a sum's walk.
LogicalResult ThreadEmitter::emitEarlyStores(const ThreadPlace &column) {
  if (!early.isPending || !early.isInterleaved)
    return success();
  return emitStoresAt(early.results, early.row, column);
}

/// To be called after a sum's walk.
LogicalResult ThreadEmitter::finishEarlyStores() {
  if (!early.isPending)
    return success();
  Values none;
  if (!early.isInterleaved &&
      failed(emitWalk(walkOf(shape.columns), none,
                      [&](const ThreadPlace &column, Values &) {
                        return emitStoresAt(early.results, early.row, column);
                      })))
    return failure();
  early.isPending = false;
  return success();
}

//===----------------------------------------------------------------------===//
// After the sums
//===----------------------------------------------------------------------===//

LogicalResult ThreadEmitter::emitStoresAt(ArrayRef<const KernelResult *> list,
                                          Value row,
                                          const ThreadPlace &column) {
  // All values first: one result may be made from what another overwrites.
  Values values;
  for (const KernelResult *result : list) {
    FailureOr<Value> value =
        evaluate(result->value, storePlace(*result, row, column));
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  OpBuilder::InsertionGuard guard(builder);
  if (column.mask) {
    auto branch = scf::IfOp::create(builder, loc, column.mask);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  for (auto [value, result] : llvm::zip(values, list))
    if (failed(write(value, result->memory, storePlace(*result, row, column))))
      return failure();
  return success();
}

LogicalResult ThreadEmitter::emitStores(Value row) {
  Values none;
  SmallVector<const KernelResult *> late;
  for (const KernelResult &result : shape.results)
    if (hasRow(result) && !early.has(result.value))
      late.push_back(&result);
  if (!late.empty() &&
      failed(emitWalk(walkOf(shape.columns), none,
                      [&](const ThreadPlace &column, Values &) {
                        return emitStoresAt(late, row, column);
                      })))
    return failure();
  return emitScalarStores(row);
}

static bool isRead(func::FuncOp kernel, Value memory) {
  return llvm::any_of(kernel.getOps<ToTensorOp>(), [&](ToTensorOp read) {
    return read.getBuffer() == memory;
  });
}

/// Orders what the threads of a team did to memory.
void ThreadEmitter::emitTeamBarrier() {
  if (threads > 32) {
    NVVM::Barrier0Op::create(builder, loc);
    return;
  }
  Value all = arith::ConstantIntOp::create(builder, loc, -1, 32);
  NVVM::SyncWarpOp::create(builder, loc, all);
}

/// What is one number a row, by the first thread.
LogicalResult ThreadEmitter::emitScalarStores(Value row) {
  SmallVector<std::pair<Value, const KernelResult *>> values;
  for (const KernelResult &result : shape.results) {
    if (hasRow(result))
      continue;
    FailureOr<Value> value =
        evaluate(result.value, storePlace(result, row, ThreadPlace()));
    if (failed(value))
      return failure();
    values.push_back({*value, &result});
  }
  if (values.empty())
    return success();
  // All threads of the team have read what the first one overwrites.
  if (llvm::any_of(values, [&](auto &value) {
        return isRead(shape.func, value.second->memory);
      }))
    emitTeamBarrier();
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      member, constant(0));
  auto branch = scf::IfOp::create(builder, loc, first);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (auto &[value, result] : values)
    if (failed(write(value, result->memory,
                     storePlace(*result, row, ThreadPlace()))))
      return failure();
  return success();
}
