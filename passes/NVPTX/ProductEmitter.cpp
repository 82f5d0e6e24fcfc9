//===- ProductEmitter.cpp - a block's tile of a matrix product ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::block;

ProductEmitter::ProductEmitter(OpBuilder &builder, KernelEntry &entry,
                               const KernelShape &shape, ThreadEmitter &values)
    : builder(builder), entry(entry), shape(shape), values(values),
      loc(shape.func.getLoc()) {
  ArrayRef<int64_t> tile = shape.config.getTile();
  m = tile[0];
  n = tile[1];
  k = tile[2];
  depth = shape.product.getStaticLoopRanges()[2];
  buffers = shape.config.getStages() == 1 ? 1 : 2;
  threads = 32 * entry.warps;
  thread = add(multiply(entry.warp, 32), entry.lane);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value ProductEmitter::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}
Value ProductEmitter::add(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AddIOp>(loc, lhs, rhs);
}
Value ProductEmitter::add(Value lhs, int64_t rhs) {
  return rhs == 0 ? lhs : add(lhs, constant(rhs));
}
Value ProductEmitter::multiply(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::MulIOp>(loc, lhs, constant(rhs));
}
Value ProductEmitter::divide(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::DivUIOp>(loc, lhs, constant(rhs));
}
Value ProductEmitter::remainder(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::RemUIOp>(loc, lhs, constant(rhs));
}

Value ProductEmitter::at(const OperandTile &tile, Value buffer, Value index,
                         int64_t offset) {
  Type pointer = tile.buffer.getType();
  auto flags = LLVM::GEPNoWrapFlags::inbounds;
  Value first = add(multiply(buffer, tile.size()), index);
  Value base = LLVM::GEPOp::create(builder, loc, pointer, tile.element,
                                   tile.buffer, first, flags);
  if (offset == 0)
    return base;
  return LLVM::GEPOp::create(
      builder, loc, pointer, tile.element, base,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(offset))}, flags);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

LogicalResult ProductEmitter::readOperand(OperandTile &tile, unsigned number) {
  linalg::LinalgOp op = shape.product;
  tile.operand = op.getDpsInputOperand(number);
  AffineMap map = op.getMatchingIndexingMap(tile.operand);
  auto type = dyn_cast<RankedTensorType>(tile.operand->get().getType());
  auto dimOf = [&](unsigned result) {
    auto dim = dyn_cast<AffineDimExpr>(map.getResult(result));
    return dim ? int(dim.getPosition()) : -1;
  };
  unsigned outer = number; // of the loops m, n, k
  bool fits = type && type.getRank() == 2 && type.getElementType().isF32() &&
              ((dimOf(0) == int(outer) && dimOf(1) == 2) ||
               (dimOf(0) == 2 && dimOf(1) == int(outer)));
  if (!fits)
    return op->emitOpError("expected operand ")
           << number << " to be a matrix of f32 over two of the loops";
  tile.alongDepth = dimOf(1) == 2;
  int64_t size = number == 0 ? m : n;
  tile.rows = tile.alongDepth ? size : k;
  tile.columns = tile.alongDepth ? k : size;
  tile.width = 1;
  if (auto read =
          tile.operand->get().getDefiningOp<bufferization::ToTensorOp>())
    tile.width = alignedWidth(cast<MemRefType>(read.getBuffer().getType()));
  int64_t elements = tile.rows * tile.columns;
  if (tile.columns % tile.width != 0 ||
      threads % (tile.columns / tile.width) != 0 ||
      elements % (threads * tile.width) != 0)
    return op->emitOpError("expected ")
           << threads << " threads to share a tile of " << tile.rows << "x"
           << tile.columns << " in vectors of " << tile.width
           << ": choose tile and warps otherwise";
  tile.units = elements / (threads * tile.width);
  return success();
}

LogicalResult ProductEmitter::readOperands() {
  if (failed(readOperand(left, 0)) || failed(readOperand(right, 1)))
    return failure();
  int64_t bytes = 0;
  for (OperandTile *tile : {&left, &right}) {
    layOut(*tile);
    bytes += buffers * tile->size() * tile->element.getIntOrFloatBitWidth() / 8;
  }
  constexpr int64_t most = 48 * 1024;
  if (bytes > most)
    return shape.product->emitOpError("needs ")
           << bytes << " bytes of shared memory for tile = [" << m << ", " << n
           << ", " << k << "] and stages = " << buffers << ", more than the "
           << most << " that a block has";
  for (auto [tile, name] : {std::pair(&left, "left"), {&right, "right"}})
    tile->buffer = entry.createShared(builder, name, tile->element,
                                      buffers * tile->size());
  return success();
}

/// This thread's part of an operand's tile at one step of the depth.
FailureOr<ProductEmitter::Values> ProductEmitter::fetch(const OperandTile &tile,
                                                        Value start) {
  int64_t vectors = tile.columns / tile.width;
  Value column = multiply(remainder(thread, vectors), tile.width);
  Value row = divide(thread, vectors);
  bool isLeft = tile.operand == left.operand;
  Value outer0 = isLeft ? row0 : column0;
  int64_t outerSize = isLeft ? shape.rows : shape.columns;
  Values units;
  for (int64_t unit = 0; unit < tile.units; ++unit) {
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
         {std::tuple(outer, outerSize, isLeft ? m : n),
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
    FailureOr<Value> value = values.evaluate(tile.operand->get(), place);
    if (failed(value))
      return failure();
    units.push_back(*value);
  }
  return units;
}

void ProductEmitter::stash(const OperandTile &tile, ArrayRef<Value> units,
                           Value buffer) {
  int64_t vectors = tile.columns / tile.width;
  Value column = multiply(remainder(thread, vectors), tile.width);
  Value row = divide(thread, vectors);
  int64_t bytes = tile.element.getIntOrFloatBitWidth() / 8;
  Value first = tile.transposed ? add(multiply(column, tile.stride), row)
                                : add(multiply(row, tile.stride), column);
  for (auto [unit, value] : llvm::enumerate(units)) {
    int64_t rows = unit * (threads / vectors);
    Value stored = value;
    if (tile.element.isBF16())
      stored = arith::TruncFOp::create(
          builder, loc, VectorType::get({tile.width}, tile.element), stored);
    if (!tile.transposed) {
      LLVM::StoreOp::create(builder, loc, stored,
                            at(tile, buffer, first, rows * tile.stride),
                            bytes * tile.width);
      continue;
    }
    for (int64_t lane = 0; lane < tile.width; ++lane)
      LLVM::StoreOp::create(builder, loc,
                            vector::ExtractOp::create(builder, loc, stored,
                                                      ArrayRef<int64_t>{lane}),
                            at(tile, buffer, first, lane * tile.stride + rows),
                            bytes);
  }
}

//===----------------------------------------------------------------------===//
// The loop over the depth
//===----------------------------------------------------------------------===//

/// Which tile this block makes: down a panel of columns first, so that blocks
/// that run together share it; of what is symmetric only the lower half.
void ProductEmitter::chooseTile() {
  if (!shape.symmetric) {
    int64_t down = llvm::divideCeil(shape.rows, m);
    row0 = multiply(remainder(entry.block, down), m);
    column0 = multiply(divide(entry.block, down), n);
    return;
  }
  // Block b is in row i of the triangle if i (i + 1) / 2 <= b. The root is
  // exact where it has to be: 8 b + 1 is below 2^53.
  Type i64 = builder.getI64Type(), f64 = builder.getF64Type();
  Value odd = add(multiply(entry.block, 8), 1);
  Value root = math::SqrtOp::create(
      builder, loc, arith::UIToFPOp::create(builder, loc, f64, odd));
  Value whole = arith::FPToUIOp::create(builder, loc, i64, root);
  Value i = divide(add(whole, -1), 2);
  Value before = divide(arith::MulIOp::create(builder, loc, i, add(i, 1)), 2);
  Value j = arith::SubIOp::create(builder, loc, entry.block, before);
  row0 = multiply(i, m);
  column0 = multiply(j, n);
  onDiagonal =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, i, j);
}

LogicalResult ProductEmitter::emit() {
  if (failed(readOperands()))
    return failure();
  chooseTile();
  auto bring = [&](Value start, Value buffer,
                   llvm::function_ref<void()> meanwhile) -> LogicalResult {
    values.enterScope();
    FailureOr<Values> a = fetch(left, start), b = fetch(right, start);
    values.leaveScope();
    if (failed(a) || failed(b))
      return failure();
    if (meanwhile) {
      meanwhile();
      if (buffers == 1) // All have read it.
        NVVM::Barrier0Op::create(builder, loc);
    }
    stash(left, *a, buffer);
    stash(right, *b, buffer);
    NVVM::Barrier0Op::create(builder, loc);
    return success();
  };
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
          next = step(current, loop.getRegionIterArgs().drop_back());
        })))
      return failure();
    next.push_back(other);
    scf::YieldOp::create(builder, loc, next);
    sums.assign(loop.getResults().begin(), std::prev(loop.getResults().end()));
    buffer = loop.getResults().back();
  }
  return finish(step(buffer, sums));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// `width` results from (row, column + shift) on, where `sums` are the
/// product's values there. Numbers within the matrix.
LogicalResult ProductEmitter::emitAt(Value row, Value column, int64_t shift,
                                     int64_t width, Value sums) {
  ThreadPlace place;
  place.index = {row, column};
  place.along = 1;
  place.shift = shift;
  place.width = width;
  Value mask;
  for (auto [index, size, step] :
       {std::tuple(row, shape.rows, m),
        std::tuple(add(column, shift), shape.columns, n)}) {
    if (size % step == 0)
      continue;
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, index, constant(size));
    mask = mask ? arith::AndIOp::create(builder, loc, mask, inside).getResult()
                : inside;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (mask) {
    auto branch = scf::IfOp::create(builder, loc, mask);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  values.enterScope();
  Value product = shape.product->getResult(0);
  FailureOr<Value> start =
      values.evaluate(shape.product.getDpsInitOperand(0)->get(), place);
  if (succeeded(start) && !matchPattern(*start, m_PosZeroFloat())) {
    Value vector = *start;
    if (!isa<VectorType>(vector.getType()))
      vector =
          vector::BroadcastOp::create(builder, loc, sums.getType(), vector);
    sums = arith::AddFOp::create(builder, loc, vector, sums);
  }
  values.remember(product, place, sums);
  Values results;
  LogicalResult status = start;
  for (const KernelResult &result : shape.results) {
    FailureOr<Value> value = values.evaluate(result.value, place);
    if (failed(value)) {
      status = failure();
      break;
    }
    results.push_back(*value);
  }
  for (auto [value, result] : llvm::zip(results, shape.results))
    if (succeeded(status))
      status = values.write(value, result.memory, place);
  values.leaveScope();
  return status;
}

LogicalResult ProductEmitter::emitResults(Value row, Value column,
                                          int64_t shift, Value sums) {
  int64_t width = cast<VectorType>(sums.getType()).getDimSize(0);
  int64_t piece = std::min(width, shape.width);
  Value atRow = add(row0, row), atColumn = add(column0, column);
  for (int64_t first = 0; first < width; first += piece) {
    Value part = sums;
    if (piece != width)
      part = vector::ExtractStridedSliceOp::create(
          builder, loc, sums, ArrayRef<int64_t>{first},
          ArrayRef<int64_t>{piece}, ArrayRef<int64_t>{1});
    if (failed(emitAt(atRow, atColumn, shift + first, piece, part)))
      return failure();
  }
  return success();
}

LogicalResult ProductEmitter::emitMirrored(Value row, Value column,
                                           int64_t shift, Value sums) {
  if (!shape.symmetric)
    return success();
  // Here `row` runs along what are columns of the tile.
  Value off =
      arith::XOrIOp::create(builder, loc, onDiagonal,
                            arith::ConstantIntOp::create(builder, loc, 1, 1));
  auto branch = scf::IfOp::create(builder, loc, off);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  std::swap(row0, column0);
  LogicalResult status = emitResults(row, column, shift, sums);
  std::swap(row0, column0);
  return status;
}
