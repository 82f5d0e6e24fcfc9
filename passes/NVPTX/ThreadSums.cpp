//===- ThreadSums.cpp - walks along rows, and sums ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ThreadEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::block;

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

Walk ThreadEmitter::walkOf(int64_t extent) const {
  int64_t width = extent == shape.columns ? shape.width
                  : extent % 4 == 0       ? 4
                  : extent % 2 == 0       ? 2
                                          : 1;
  return {extent, width, threads};
}

/// Which threads have elements in the last chunk. It is computed where threads
/// learn who they are, so that it is known everywhere.
Value ThreadEmitter::tailMask(const Walk &walk) {
  Value &mask = tailMasks[{walk.extent, walk.width}];
  if (!mask) {
    OpBuilder::InsertionGuard guard(builder);
    Value left = constant(walk.extent % walk.chunk());
    builder.setInsertionPointAfterValue(firsts[4]);
    mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                 firsts[walk.width], left);
  }
  return mask;
}

/// Calls `body` for every chunk of a row, in a loop if the row is long. What is
/// carried from chunk to chunk is replaced.
LogicalResult ThreadEmitter::emitWalk(
    const Walk &walk, Values &carried,
    llvm::function_ref<LogicalResult(const ThreadPlace &, Values &)> body) {
  ThreadPlace column;
  column.index = {firsts[walk.width]};
  column.along = 0;
  column.width = walk.width;
  if (walk.isShort()) {
    for (int64_t chunk = 0; chunk < walk.chunks(); ++chunk) {
      column.shift = chunk * walk.chunk();
      column.mask = chunk == walk.whole() ? tailMask(walk) : Value();
      if (failed(body(column, carried)))
        return failure();
    }
    return success();
  }
  auto loop = scf::ForOp::create(builder, loc, constant(0),
                                 constant(walk.whole() * walk.chunk()),
                                 constant(walk.chunk()), carried);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    column.index = {arith::AddIOp::create(builder, loc, loop.getInductionVar(),
                                          firsts[walk.width])};
    Values inside(loop.getRegionIterArgs());
    enterScope();
    LogicalResult result = body(column, inside);
    leaveScope();
    if (failed(result))
      return failure();
    if (!carried.empty() || loop.getBody()->empty() ||
        !loop.getBody()->back().hasTrait<OpTrait::IsTerminator>())
      scf::YieldOp::create(builder, loc, inside);
  }
  carried.assign(loop.getResults().begin(), loop.getResults().end());
  if (!walk.hasTail())
    return success();
  column.index = {firsts[walk.width]};
  column.shift = walk.whole() * walk.chunk();
  column.mask = tailMask(walk);
  return body(column, carried);
}

//===----------------------------------------------------------------------===//
// Which sums there are
//===----------------------------------------------------------------------===//

/// The loops of a sum at a chunk of columns.
ThreadPlace ThreadEmitter::sumLoops(linalg::LinalgOp op,
                                    const ThreadPlace &place,
                                    const ThreadPlace &column) {
  ThreadPlace loops =
      loopPlace(op, op.getIndexingMapMatchingResult(op->getResult(0)), place);
  loops.along = getReductionLoop(op);
  loops.index[loops.along] =
      column.index.empty() ? Value() : column.index.back();
  loops.shift = column.shift;
  loops.width = column.width;
  loops.mask = column.mask;
  return loops;
}

/// The sums along rows that `value` needs, those that others need first.
void ThreadEmitter::collectSums(Value value, const ThreadPlace &place,
                                SmallVectorImpl<Sum> &sums) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || op.getNumReductionLoops() == 0 || place.isVector()) {
    visitOperands(value, place, [&](Value operand, const ThreadPlace &at) {
      collectSums(operand, at, sums);
    });
    return;
  }
  for (const Sum &known : sums)
    if (known.op == op && known.place.index == place.index)
      return;
  SmallVector<Sum> inner;
  ThreadPlace loops = sumLoops(op, place, ThreadPlace());
  for (OpOperand *input : op.getDpsInputOperands()) {
    FailureOr<ThreadPlace> at =
        operandPlace(op.getMatchingIndexingMap(input), loops);
    if (succeeded(at))
      collectSums(input->get(), *at, inner);
  }
  for (const Sum &sum : inner)
    if (llvm::none_of(sums, [&](const Sum &known) {
          return known.op == sum.op && known.place.index == sum.place.index;
        }))
      sums.push_back(sum);
  sums.push_back({op, place, !inner.empty()});
}

/// Sums of squares of binary32 numbers, stated in binary64.
bool ThreadEmitter::isSumOfSquares(linalg::LinalgOp op) {
  Block &body = op->getRegion(0).front();
  if (op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      !body.getArgument(0).getType().isF32() ||
      !body.getArgument(1).getType().isF64())
    return false;
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value term = sum.getLhs() == body.getArgument(1)   ? sum.getRhs()
               : sum.getRhs() == body.getArgument(1) ? sum.getLhs()
                                                     : Value();
  auto square = term ? term.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!square || square.getLhs() != square.getRhs())
    return false;
  auto wide = square.getLhs().getDefiningOp<arith::ExtFOp>();
  return wide && wide.getIn() == body.getArgument(0);
}

//===----------------------------------------------------------------------===//
// Sums along rows
//===----------------------------------------------------------------------===//

LogicalResult ThreadEmitter::emitSum(const Sum &sum) {
  linalg::LinalgOp op = sum.op;
  SmallVector<Operation *> combine;
  if (failed(findCombiners(op, combine)))
    return failure();
  Walk walk = walkOf(getReductionExtent(op));
  Values carried;
  for (auto [last, result] : llvm::zip(combine, op->getResults()))
    carried.push_back(toVector(
        identity(last, getElementTypeOrSelf(result.getType())), walk.width));
  auto add = [&](const ThreadPlace &column, Values &sums) -> LogicalResult {
    FailureOr<Values> after =
        evaluateBody(op, sumLoops(op, sum.place, column), sums);
    if (failed(after))
      return failure();
    for (auto [before, value] : llvm::zip(sums, *after)) {
      value = toVector(value, walk.width);
      if (column.mask)
        value =
            arith::SelectOp::create(builder, loc, column.mask, value, before);
      before = value;
    }
    return emitEarlyStores(column);
  };
  if (failed(emitWalk(walk, carried, add)) || failed(finishEarlyStores()))
    return failure();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    FailureOr<Value> total = reduceTeam(carried[index], combine[index]);
    FailureOr<Value> start =
        evaluate(op.getDpsInitOperand(index)->get(), sum.place);
    if (failed(total) || failed(start))
      return failure();
    Attribute known, neutral;
    Value zero = identity(combine[index], total->getType());
    bool isNeutral = matchPattern(*start, m_Constant(&known)) &&
                     matchPattern(zero, m_Constant(&neutral)) &&
                     known == neutral;
    // -0.0 is addition's identity, but sums start from 0.0.
    isNeutral |= isa<arith::AddFOp, math::FmaOp>(combine[index]) &&
                 matchPattern(*start, m_PosZeroFloat());
    remember(result, sum.place,
             isNeutral
                 ? *total
                 : combineTwo(builder, loc, combine[index], *start, *total));
  }
  return success();
}

/// A sum of squares in binary32, or null if the sum has a start.
FailureOr<Value> ThreadEmitter::emitNarrowSum(const Sum &sum) {
  linalg::LinalgOp op = sum.op;
  Walk walk = walkOf(getReductionExtent(op));
  OpOperand *input = op.getDpsInputOperand(0);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Values carried = {toVector(zero, walk.width)};
  auto add = [&](const ThreadPlace &column, Values &sums) -> LogicalResult {
    FailureOr<ThreadPlace> at = operandPlace(op.getMatchingIndexingMap(input),
                                             sumLoops(op, sum.place, column));
    FailureOr<Value> value = failure();
    if (succeeded(at))
      value = evaluate(input->get(), *at);
    if (failed(value))
      return failure();
    Value x = toVector(*value, walk.width);
    Value after = math::FmaOp::create(builder, loc, x, x, sums[0]);
    if (column.mask)
      after =
          arith::SelectOp::create(builder, loc, column.mask, after, sums[0]);
    sums[0] = after;
    return emitEarlyStores(column);
  };
  if (failed(emitWalk(walk, carried, add)) || failed(finishEarlyStores()))
    return failure();
  SmallVector<Operation *> combine;
  if (failed(findCombiners(op, combine)))
    return failure();
  return reduceTeam(carried[0], combine[0]);
}

FailureOr<Value> ThreadEmitter::reduceTeam(Value vector, Operation *combine) {
  Value sum = reduceVector(vector, combine);
  for (int64_t mask = 16; mask >= 1; mask /= 2)
    sum = combineTwo(builder, loc, combine, sum, shuffle(sum, mask));
  return wholeBlock && entry.warps > 1 ? reduceWarps(sum, combine) : sum;
}

/// Halves onto halves, so the order is in the code.
Value ThreadEmitter::reduceVector(Value vector, Operation *combine) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  Values parts;
  for (int64_t lane = 0; lane < type.getDimSize(0); ++lane)
    parts.push_back(vector::ExtractOp::create(builder, loc, vector,
                                              ArrayRef<int64_t>{lane}));
  for (; parts.size() > 1; parts.truncate(parts.size() / 2))
    for (size_t i = 0, half = parts.size() / 2; i < half; ++i)
      parts[i] = combineTwo(builder, loc, combine, parts[i], parts[i + half]);
  return parts.front();
}

/// The value of the lane whose number differs in the bits of `mask`.
Value ThreadEmitter::shuffle(Value value, int64_t mask) {
  Type type = value.getType(), i32 = builder.getI32Type();
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantIntOp::create(builder, loc, n, 32);
  };
  auto exchange = [&](Value part) -> Value {
    return NVVM::ShflOp::create(builder, loc, part.getType(), number(-1), part,
                                number(mask), number(31), NVVM::ShflKind::bfly,
                                UnitAttr());
  };
  if (type.isF32() || type.isInteger(32))
    return exchange(value);
  // Eight bytes travel as two halves.
  auto halves = VectorType::get({2}, i32);
  auto whole = VectorType::get({1}, type);
  Value split = vector::BitCastOp::create(
      builder, loc, halves,
      vector::BroadcastOp::create(builder, loc, whole, value));
  Values parts;
  for (int64_t half : {0, 1})
    parts.push_back(exchange(vector::ExtractOp::create(
        builder, loc, split, ArrayRef<int64_t>{half})));
  Value joined = vector::FromElementsOp::create(builder, loc, halves, parts);
  return vector::ExtractOp::create(
      builder, loc, vector::BitCastOp::create(builder, loc, whole, joined),
      ArrayRef<int64_t>{0});
}

/// One value a warp, equal in its lanes, to one value for the block. Every sum
/// has shared memory of its own, so one barrier is enough.
Value ThreadEmitter::reduceWarps(Value value, Operation *combine) {
  Type type = value.getType();
  Value buffer = entry.createShared(
      builder, "sums" + std::to_string(sharedBuffers++), type, entry.warps);
  auto at = [&](LLVM::GEPArg index) -> Value {
    return LLVM::GEPOp::create(builder, loc, buffer.getType(), type, buffer,
                               ArrayRef<LLVM::GEPArg>{index},
                               LLVM::GEPNoWrapFlags::inbounds);
  };
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      entry.lane, constant(0));
  auto branch = scf::IfOp::create(builder, loc, first);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    LLVM::StoreOp::create(builder, loc, value, at(entry.warp));
  }
  NVVM::Barrier0Op::create(builder, loc);
  std::vector<Value> parts;
  for (int64_t warp = 0; warp < entry.warps; ++warp)
    parts.push_back(
        LLVM::LoadOp::create(builder, loc, type, at(int32_t(warp))));
  while (parts.size() > 1) {
    std::vector<Value> next;
    for (size_t i = 0; i < parts.size(); i += 2)
      next.push_back(
          i + 1 == parts.size()
              ? parts[i]
              : combineTwo(builder, loc, combine, parts[i], parts[i + 1]));
    parts = std::move(next);
  }
  return parts.front();
}

//===----------------------------------------------------------------------===//
// Sums down the rows
//===----------------------------------------------------------------------===//

/// In a kernel of the kind Columns the warps share the rows, four sums each;
/// elsewhere a thread adds all of them.
LogicalResult ThreadEmitter::emitColumnSum(linalg::LinalgOp op,
                                           const ThreadPlace &place) {
  SmallVector<Operation *> combine;
  if (failed(findCombiners(op, combine)))
    return failure();
  bool shared = shape.kind == KernelKind::Columns && entry.warps > 1;
  unsigned red = getReductionLoop(op);
  int64_t extent = op.getStaticLoopRanges()[red];
  int64_t step = shared ? entry.warps : 1, unroll = 4;
  Value first = shared ? entry.warp : constant(0);
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  unsigned results = combine.size();
  Values carried;
  for (int64_t copy = 0; copy < unroll; ++copy)
    for (auto [last, result] : llvm::zip(combine, op->getResults()))
      carried.push_back(toVector(
          identity(last, getElementTypeOrSelf(result.getType())), place.width));

  auto emitLoop = [&](Value low, int64_t high, int64_t copies) {
    auto loop = scf::ForOp::create(builder, loc, low, constant(high),
                                   constant(copies * step), carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Values inside(loop.getRegionIterArgs());
    enterScope();
    LogicalResult status = success();
    for (int64_t copy = 0; copy < copies && succeeded(status); ++copy) {
      ThreadPlace loops = loopPlace(op, map, place);
      loops.index[red] = arith::AddIOp::create(
          builder, loc, loop.getInductionVar(), constant(copy * step));
      auto sums = MutableArrayRef(inside).slice(copy * results, results);
      FailureOr<Values> after = evaluateBody(op, loops, ValueRange(sums));
      if (failed(after))
        status = failure();
      else
        for (auto [sum, value] : llvm::zip(sums, *after))
          sum = toVector(value, place.width);
    }
    leaveScope();
    if (!loop.getBody()->mightHaveTerminator())
      scf::YieldOp::create(builder, loc, inside);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
    return status;
  };
  // Whole groups of rows for every warp, then what is left.
  int64_t whole = extent / (step * unroll) * (step * unroll);
  if (whole > 0 && failed(emitLoop(first, whole, unroll)))
    return failure();
  if (whole < extent) {
    Value low = arith::AddIOp::create(builder, loc, first, constant(whole));
    if (failed(emitLoop(low, extent, 1)))
      return failure();
  }
  for (unsigned index = 0; index < results; ++index) {
    auto part = [&](int64_t copy) { return carried[copy * results + index]; };
    Value total =
        combineTwo(builder, loc, combine[index],
                   combineTwo(builder, loc, combine[index], part(0), part(1)),
                   combineTwo(builder, loc, combine[index], part(2), part(3)));
    if (shared)
      total = reduceRowsOfWarps(total, combine[index]);
    FailureOr<Value> start =
        evaluate(op.getDpsInitOperand(index)->get(), place);
    if (failed(start))
      return failure();
    remember(op->getResult(index), place,
             combineTwo(builder, loc, combine[index],
                        toVector(*start, place.width), total));
  }
  return success();
}

/// A vector a thread, one row of them a warp, to their sum over warps.
Value ThreadEmitter::reduceRowsOfWarps(Value vector, Operation *combine) {
  auto type = cast<VectorType>(vector.getType());
  Value buffer = entry.createShared(
      builder, "rows" + std::to_string(sharedBuffers++), type.getElementType(),
      32 * entry.warps * type.getDimSize(0));
  auto at = [&](Value warp) -> Value {
    Value index = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, warp, constant(32)),
        entry.lane);
    return LLVM::GEPOp::create(builder, loc, buffer.getType(), type, buffer,
                               index, LLVM::GEPNoWrapFlags::inbounds);
  };
  LLVM::StoreOp::create(builder, loc, vector, at(entry.warp));
  NVVM::Barrier0Op::create(builder, loc);
  Value total;
  for (int64_t warp = 0; warp < entry.warps; ++warp) {
    Value part = LLVM::LoadOp::create(builder, loc, type, at(constant(warp)));
    total = total ? combineTwo(builder, loc, combine, total, part) : part;
  }
  return total;
}

//===----------------------------------------------------------------------===//
// What combines
//===----------------------------------------------------------------------===//

/// What `combine` leaves its other operand unchanged with.
Value ThreadEmitter::identity(Operation *combine, Type type) {
  return arith::ConstantOp::create(builder, loc, getNeutral(combine, type));
}
