//===- ProductEmitter.cpp - a block's tile of a matrix product ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
  buffers = std::max<int64_t>(1, shape.config.getStages());
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

Value ProductEmitter::indexIn(const OperandTile &tile, Value row,
                              Value column) {
  if (!tile.swizzled)
    return add(multiply(row, tile.stride), column);
  Value span = divide(column, spanOfSwizzle);
  Value unit = divide(remainder(column, spanOfSwizzle), unitOfSwizzle);
  unit = builder.createOrFold<arith::XOrIOp>(loc, unit,
                                             remainder(row, rowsOfSwizzle));
  Value index = add(multiply(span, tile.rows * spanOfSwizzle),
                    multiply(row, spanOfSwizzle));
  index = add(index, multiply(unit, unitOfSwizzle));
  return add(index, remainder(column, unitOfSwizzle));
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
  bool isRounded = shape.config.getDot() == Dot::bf16;
  unsigned outer = number; // of the loops m, n, k
  bool fits = type && type.getRank() == 2 &&
              (type.getElementType().isF32() ||
               (isRounded && type.getElementType().isBF16())) &&
              ((dimOf(0) == int(outer) && dimOf(1) == 2) ||
               (dimOf(0) == 2 && dimOf(1) == int(outer)));
  if (!fits)
    return op->emitOpError("expected operand ")
           << number << " to be a matrix of f32"
           << (isRounded ? " or bf16" : "") << " over two of the loops";
  tile.alongDepth = dimOf(1) == 2;
  int64_t size = number == 0 ? m : n;
  tile.rows = tile.alongDepth ? size : k;
  tile.columns = tile.alongDepth ? k : size;
  tile.width = 1;
  if (auto read =
          tile.operand->get().getDefiningOp<bufferization::ToTensorOp>())
    tile.width = alignedWidth(cast<MemRefType>(read.getBuffer().getType()),
                              128 / type.getElementTypeBitWidth());
  int64_t elements = tile.rows * tile.columns;
  if (tile.columns % tile.width != 0 ||
      threads % (tile.columns / tile.width) != 0 ||
      elements % (threads * tile.width) != 0)
    return op->emitOpError("expected ")
           << threads << " threads to share a tile of " << tile.rows << "x"
           << tile.columns << " in vectors of " << tile.width
           << ": choose tile and warps otherwise";
  tile.units = elements / (threads * tile.width);
  layOut(tile);
  return success();
}

void ProductEmitter::layOutRounded(OperandTile &tile) {
  tile.element = builder.getBF16Type();
  tile.swizzled = true;
}

/// Whether the operand goes to shared memory as it is, in vectors that
/// asynchronous copies have: 4, 8 or 16 bytes.
bool ProductEmitter::canCopy(const OperandTile &tile) const {
  Value value = tile.operand->get();
  return value.getDefiningOp<bufferization::ToTensorOp>() &&
         getElementTypeOrSelf(value.getType()) == tile.element &&
         tile.width * tile.elementBytes() >= 4;
}

/// One array for all buffers of both operands. What exceeds 48 KiB is dynamic:
/// an array without a size, and its size is an attribute for the launcher.
LogicalResult ProductEmitter::allocate() {
  constexpr int64_t mostStatic = 48 * 1024;
  constexpr int64_t most = 99 * 1024; // of the least of the targets
  int64_t bytes = buffers * (left.bytes() + right.bytes());
  if (bytes > most)
    return shape.product->emitOpError("needs ")
           << bytes << " bytes of shared memory for tile = [" << m << ", " << n
           << ", " << k << "] and stages = " << buffers << ", more than the "
           << most << " that a block has";
  // The swizzle is one of addresses: it repeats after eight rows of 128 bytes.
  int64_t alignment = left.swizzled ? 1024 : 16;
  Value memory = entry.createShared(builder, "operands", builder.getI8Type(),
                                    bytes, alignment, bytes > mostStatic);
  left.buffer = memory;
  right.buffer = LLVM::GEPOp::create(
      builder, loc, memory.getType(), builder.getI8Type(), memory,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(buffers * left.bytes()))},
      LLVM::GEPNoWrapFlags::inbounds);
  return success();
}

LogicalResult ProductEmitter::emit() {
  if (failed(readOperand(left, 0)) || failed(readOperand(right, 1)))
    return failure();
  bool copies = buffers > 1 && canCopy(left) && canCopy(right);
  if (!copies)
    buffers = std::min<int64_t>(buffers, 2);
  if (failed(allocate()))
    return failure();
  chooseTile();
  FailureOr<Values> sums = copies ? emitPipeline() : emitThroughRegisters();
  return failed(sums) ? failure() : emitAll(*sums);
}

//===----------------------------------------------------------------------===//
// Results
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

/// All results of the block. On the diagonal of what is symmetric each pair is
/// written from one sum: (i, j) and (j, i) may differ by rounding.
LogicalResult ProductEmitter::emitAll(ValueRange sums) {
  if (!shape.symmetric)
    return finish(sums);
  auto branch = scf::IfOp::create(builder, loc, onDiagonal,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (bool triangle : {true, false}) {
    emitsTriangle = triangle;
    builder.setInsertionPointToStart(triangle ? branch.thenBlock()
                                              : branch.elseBlock());
    if (failed(finish(sums)))
      return failure();
  }
  return success();
}

/// `width` results from (row, column + shift) on, numbers within the matrix,
/// where `sums` are the product's values there, under the mask, if any.
LogicalResult ProductEmitter::emitAt(Value row, Value column, int64_t shift,
                                     int64_t width, Value sums, Value mask) {
  ThreadPlace place;
  place.index = {row, column};
  place.along = 1;
  place.shift = shift;
  place.width = width;
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

/// Writes the sums in pieces as wide as memory is aligned; on the diagonal one
/// by one, those of the lower triangle and, mirrored, those below the diagonal.
LogicalResult ProductEmitter::emitPieces(Value row, Value column, int64_t shift,
                                         Value sums, bool mirrored) {
  int64_t width = cast<VectorType>(sums.getType()).getDimSize(0);
  int64_t piece = emitsTriangle ? 1 : std::min(width, shape.width);
  Value atRow = add(row0, row), atColumn = add(column0, column);
  for (int64_t first = 0; first < width; first += piece) {
    Value part = sums;
    if (piece != width)
      part = vector::ExtractStridedSliceOp::create(
          builder, loc, sums, ArrayRef<int64_t>{first},
          ArrayRef<int64_t>{piece}, ArrayRef<int64_t>{1});
    Value mask;
    if (emitsTriangle)
      mask = arith::CmpIOp::create(builder, loc,
                                   mirrored ? arith::CmpIPredicate::ult
                                            : arith::CmpIPredicate::uge,
                                   atRow, add(atColumn, shift + first));
    if (failed(emitAt(atRow, atColumn, shift + first, piece, part, mask)))
      return failure();
  }
  return success();
}

LogicalResult ProductEmitter::emitResults(Value row, Value column,
                                          int64_t shift, Value sums) {
  return emitPieces(row, column, shift, sums, /*mirrored=*/false);
}

LogicalResult ProductEmitter::emitMirrored(Value row, Value column,
                                           int64_t shift, Value sums) {
  if (!shape.symmetric)
    return success();
  std::swap(row0, column0);
  LogicalResult status =
      emitPieces(row, column, shift, sums, /*mirrored=*/true);
  std::swap(row0, column0);
  return status;
}

LogicalResult ProductEmitter::emitParts(ValueRange sums, Value row,
                                        Value column, int64_t down,
                                        int64_t across) {
  Value row0 = add(row, divide(entry.lane, 4)),
        column0 = add(column, multiply(remainder(entry.lane, 4), 2));
  auto vectorOf = [&](ValueRange elements) -> Value {
    auto type =
        VectorType::get({int64_t(elements.size())}, builder.getF32Type());
    return vector::FromElementsOp::create(builder, loc, type, elements);
  };
  for (int64_t i = 0; i < down; ++i)
    for (int64_t half : {0, 1})
      for (int64_t j = 0; j < across; ++j) {
        int64_t down = i * 16 + half * 8;
        ValueRange pair = sums.slice((i * across + j) * 4 + half * 2, 2);
        if (failed(
                emitResults(add(row0, down), column0, j * 8, vectorOf(pair))))
          return failure();
        for (int64_t lane : {0, 1})
          if (failed(emitMirrored(add(column0, j * 8 + lane), row0, down,
                                  vectorOf(pair.slice(lane, 1)))))
            return failure();
      }
  return success();
}
