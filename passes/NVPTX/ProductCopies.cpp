//===- ProductCopies.cpp - operands on their way to shared memory ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::block;

//===----------------------------------------------------------------------===//
// A thread's part of a tile
//===----------------------------------------------------------------------===//

/// Where in memory this thread's vector number `unit` is, at the step of the
/// depth that begins at `start`.
ThreadPlace ProductEmitter::placeOf(const OperandTile &tile, Value start,
                                    int64_t unit) {
  int64_t vectors = tile.columns / tile.width;
  Value column = multiply(remainder(thread, vectors), tile.width);
  Value row = divide(thread, vectors);
  bool isLeft = &tile == &left;
  Value outer0 = isLeft ? row0 : column0;
  // Constants last: they become offsets of one address.
  int64_t rows = unit * (threads / vectors);
  Value outer =
      tile.alongDepth ? add(add(outer0, row), rows) : add(outer0, column);
  Value inner =
      tile.alongDepth ? add(start, column) : add(add(start, row), rows);
  ThreadPlace place;
  place.index = tile.alongDepth ? Values{outer, inner} : Values{inner, outer};
  place.along = 1;
  place.width = tile.width;
  for (auto [index, size, step] :
       {std::tuple(outer, isLeft ? shape.rows : shape.columns, isLeft ? m : n),
        std::tuple(inner, depth, k)}) {
    if (size % step == 0)
      continue;
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, index, constant(size));
    place.mask = place.mask
                     ? arith::AndIOp::create(builder, loc, place.mask, inside)
                           .getResult()
                     : inside;
  }
  return place;
}

/// Where it goes.
Value ProductEmitter::destination(const OperandTile &tile, Value buffer,
                                  int64_t unit) {
  int64_t vectors = tile.columns / tile.width;
  Value column = multiply(remainder(thread, vectors), tile.width);
  Value row = divide(thread, vectors);
  int64_t rows = unit * (threads / vectors);
  // Whole groups of rows are a constant further, swizzled or not.
  int64_t within = tile.swizzled ? rows % rowsOfSwizzle : 0;
  int64_t stride = tile.swizzled ? spanOfSwizzle : tile.stride;
  return at(tile, buffer, indexIn(tile, add(row, within), column),
            (rows - within) * stride);
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

/// Begins to copy this thread's vectors. One that is outside of the matrix is
/// zero: nothing of it is read.
void ProductEmitter::copy(const OperandTile &tile, Value start, Value buffer) {
  auto read = tile.operand->get().getDefiningOp<bufferization::ToTensorOp>();
  int32_t bytes = tile.width * tile.elementBytes();
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  for (int64_t unit = 0; unit < tile.units; ++unit) {
    ThreadPlace place = placeOf(tile, start, unit);
    Value size;
    if (place.mask)
      size = arith::SelectOp::create(builder, loc, place.mask, number(bytes),
                                     number(0));
    // Copies of 16 bytes bypass the first-level cache, where nobody will read
    // them again.
    NVVM::CpAsyncOp::create(builder, loc, destination(tile, buffer, unit),
                            values.pointTo(read.getBuffer(), place), bytes,
                            bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                        : NVVM::LoadCacheModifierKind::CA,
                            size);
  }
}

/// Step i waits for its copies, all but the newest `ahead - 1` groups. After
/// the barrier everybody's have landed, and everybody has read the buffer of
/// step i - 1, so that is where the copies of step i + ahead go. Beyond the
/// last step groups are empty, so that a group is a step everywhere.
FailureOr<ProductEmitter::Values> ProductEmitter::emitPipeline() {
  int64_t steps = llvm::divideCeil(depth, k), ahead = buffers - 1;
  auto begin = [&](Value start, Value buffer) {
    copy(left, start, buffer);
    copy(right, start, buffer);
  };
  for (int64_t step = 0; step < ahead; ++step) {
    if (step < steps)
      begin(constant(step * k), constant(step));
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  }
  Values carried = start();
  carried.append({constant(0), constant(ahead)});
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(steps * k),
                                 constant(k), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  ValueRange now = loop.getRegionIterArgs();
  Value reading = now[now.size() - 2], writing = now.back();
  auto meanwhile = [&] {
    if (steps > ahead) {
      Value next = add(loop.getInductionVar(), ahead * k);
      Value exists = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::ult, next, constant(steps * k));
      auto branch = scf::IfOp::create(builder, loc, exists);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      begin(next, writing);
    }
    NVVM::CpAsyncCommitGroupOp::create(builder, loc);
  };
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, ahead - 1);
  publish();
  NVVM::Barrier0Op::create(builder, loc);
  Values next = step(reading, now.drop_back(2), meanwhile);
  for (Value buffer : {reading, writing}) {
    Value other = add(buffer, 1);
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         other, constant(buffers));
    next.push_back(
        arith::SelectOp::create(builder, loc, isLast, constant(0), other));
  }
  scf::YieldOp::create(builder, loc, next);
  return Values(loop.getResults().drop_back(2));
}

//===----------------------------------------------------------------------===//
// Through registers
//===----------------------------------------------------------------------===//

FailureOr<ProductEmitter::Values> ProductEmitter::fetch(const OperandTile &tile,
                                                        Value start) {
  Values units;
  for (int64_t unit = 0; unit < tile.units; ++unit) {
    FailureOr<Value> value =
        values.evaluate(tile.operand->get(), placeOf(tile, start, unit));
    if (failed(value))
      return failure();
    units.push_back(*value);
  }
  return units;
}

void ProductEmitter::stash(const OperandTile &tile, ArrayRef<Value> units,
                           Value buffer) {
  for (auto [unit, value] : llvm::enumerate(units)) {
    Value stored = value;
    if (getElementTypeOrSelf(stored.getType()) != tile.element)
      stored = arith::TruncFOp::create(
          builder, loc, VectorType::get({tile.width}, tile.element), stored);
    LLVM::StoreOp::create(builder, loc, stored, destination(tile, buffer, unit),
                          tile.elementBytes() * tile.width);
  }
}

/// With two buffers a step has one barrier, with one it has two, and may be
/// twice as deep.
FailureOr<ProductEmitter::Values> ProductEmitter::emitThroughRegisters() {
  auto bring = [&](Value start, Value buffer,
                   llvm::function_ref<void()> compute) -> LogicalResult {
    values.enterScope();
    FailureOr<Values> a = fetch(left, start), b = fetch(right, start);
    values.leaveScope();
    if (failed(a) || failed(b))
      return failure();
    if (compute) {
      compute();
      if (buffers == 1) // All have read it.
        NVVM::Barrier0Op::create(builder, loc);
    }
    stash(left, *a, buffer);
    stash(right, *b, buffer);
    publish();
    NVVM::Barrier0Op::create(builder, loc);
    return success();
  };
  auto nothing = [] {};
  if (failed(bring(constant(0), constant(0), nullptr)))
    return failure();
  int64_t steps = llvm::divideCeil(depth, k);
  Values sums = start();
  Value buffer = constant(0);
  if (steps > 1) {
    Values carried = sums;
    carried.push_back(buffer);
    auto loop = scf::ForOp::create(builder, loc, constant(k),
                                   constant(steps * k), constant(k), carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value current = loop.getRegionIterArgs().back();
    Value other = current;
    if (buffers == 2)
      other = arith::SubIOp::create(builder, loc, constant(1), current);
    Values next;
    if (failed(bring(loop.getInductionVar(), other, [&] {
          next = step(current, loop.getRegionIterArgs().drop_back(), nothing);
        })))
      return failure();
    next.push_back(other);
    scf::YieldOp::create(builder, loc, next);
    sums.assign(loop.getResults().begin(), std::prev(loop.getResults().end()));
    buffer = loop.getResults().back();
  }
  return step(buffer, sums, nothing);
}
