//===- ProductAMX.cpp - sums in the registers of AMX ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMX has eight registers of 16 rows of 64 bytes. Four of them hold 32 x 32
// sums in FP32, two by two; two hold 32 rows of the left operand, 32 terms
// each, which is a piece of one panel; two hold 32 columns of the right
// operand, 16 pairs of terms each. Four loads serve four products.
//
// The registers are named by number, and configured by the block: a value of
// the dialect `amx` cannot be carried by a loop in MLIR 22, and what LLVM's
// register allocator does with such values is not for us to say.
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Config.h"
#include "passes/CPU/ProductLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::block;

/// Registers: sums (row by row of parts), parts of the left operand, parts of
/// the right one.
static constexpr int64_t firstSum = 0, firstLeft = 4, firstRight = 6,
                         registers = 8;
static constexpr int64_t partRows = amxSizes[0], partColumns = amxSizes[1],
                         terms = amxSizes[2], rowBytes = 64;
/// Bytes of what `ldtilecfg` reads (Intel SDM, volume 1, table 18-1).
static constexpr int64_t configBytes = 64, rowsAt = 48, bytesPerRowAt = 16;
/// Rows of a part that are evaluated at once, pairs among them.
static constexpr int64_t rowsAtOnce = 4;

/// Whether the product starts from zero, which registers are cleared to.
bool ProductLoops::startsAtZero() const {
  linalg::LinalgOp op = product;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.value(), m_AnyZeroFloat());
}

LogicalResult ProductLoops::checkAMX() {
  if (config.getAmx() != ArrayRef(amxSizes) ||
      config.getMicro() != ArrayRef<int64_t>{amxMicro, amxMicro} ||
      lanes != partColumns)
    return func.emitOpError("expected amx = [16, 16, 32], micro = [32, 32] and "
                            "lanes = 16 in the config of a product on AMX");
  if (!liesForAMX(product, amxMicro))
    return product->emitOpError(
        "expected operands of BF16 in panels of 32 columns, the left one in "
        "rows and the right one in pairs, for a product on AMX");
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// The intrinsic of this name; numbers of registers come first.
void ProductLoops::callAMX(StringRef name, ArrayRef<int64_t> parts,
                           ValueRange memory) {
  SmallVector<Value> operands;
  for (int64_t part : parts)
    operands.push_back(LLVM::ConstantOp::create(
        builder, loc, builder.getI8Type(), builder.getI8IntegerAttr(part)));
  llvm::append_range(operands, memory);
  LLVM::CallIntrinsicOp::create(
      builder, loc, builder.getStringAttr("llvm.x86." + name), operands);
}

/// A load or a store of a register; rows of memory lie as its type says.
void ProductLoops::moveTile(StringRef name, int64_t part,
                            const TileMemory &memory, const TilePlace &place) {
  auto type = cast<MemRefType>(memory.memref.getType());
  int64_t stride = type.getShape().back() * type.getElementTypeBitWidth() / 8;
  Value bytes = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                         builder.getI64IntegerAttr(stride));
  callAMX(name, {part}, {values.pointer(memory, place), bytes});
}

/// Before the blocks: memory of the stack, and which output can take sums as
/// they are, being the product and not read here.
void ProductLoops::prepareAMX() {
  auto make = [&](ArrayRef<int64_t> shape, Type element) -> Value {
    return memref::AllocaOp::create(builder, loc,
                                    MemRefType::get(shape, element),
                                    builder.getI64IntegerAttr(rowBytes));
  };
  sumsBuffer = {make({amxMicro, amxMicro}, builder.getF32Type())};
  tileConfig = make({configBytes}, builder.getI8Type());
  if (!startsAtZero() || depth % terms != 0)
    return;
  for (auto [number, output] : llvm::enumerate(outputs))
    if (output.value == product->getResult(0) &&
        llvm::none_of(output.memref.getUsers(),
                      llvm::IsaPred<bufferization::ToTensorOp>))
      plainOutput = number;
}

/// Gives all registers 16 rows of 64 bytes.
void ProductLoops::configureAMX() {
  SmallVector<int8_t> bytes(configBytes, 0);
  bytes[0] = 1; // the palette
  for (int64_t i = 0; i < registers; ++i) {
    bytes[bytesPerRowAt + 2 * i] = rowBytes; // of two bytes the low one
    bytes[rowsAt + i] = partRows;
  }
  auto type = VectorType::get({configBytes}, builder.getI8Type());
  Value constant = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
  vector::StoreOp::create(builder, loc, constant, tileConfig,
                          values.constant(0));
  callAMX("ldtilecfg", {},
          values.pointer({tileConfig}, {{{values.constant(0)}}}));
}

//===----------------------------------------------------------------------===//
// A part of the result
//===----------------------------------------------------------------------===//

bool ProductLoops::canUseAMX(const Slab &slab, const Tile &tile) const {
  return tile.rows == amxMicro && tile.columns == amxMicro &&
         slab.size >= terms;
}

/// Loads or stores all sums, from `row` and `column` on.
void ProductLoops::moveSums(StringRef name, const TileMemory &memory, Value row,
                            Value column) {
  for (int64_t i : {0, 1})
    for (int64_t j : {0, 1})
      moveTile(name, firstSum + 2 * i + j, memory,
               {{{values.index(row, i * partRows),
                  values.index(column, j * partColumns)}}});
}

/// Where a result lies row by row, its part above the diagonal is scattered
/// over as many pages as it has rows; some rows are asked for in each step, so
/// that stores need not wait for all of them later.
void ProductLoops::askForMirror(const Slab &slab, const Tile &tile,
                                Value step) {
  if (!isSymmetric || !slab.isLast)
    return;
  int64_t count = llvm::divideCeil(amxMicro, slab.size / terms);
  Value at = arith::MulIOp::create(builder, loc, step, values.constant(count));
  Value first = arith::AddIOp::create(builder, loc, tile.column, at);
  for (const TileMemory &memory : memories) {
    if (memory.layout)
      continue;
    int64_t line = 8 * rowBytes / memory.elementType().getIntOrFloatBitWidth();
    for (int64_t row = 0; row < count; ++row)
      for (int64_t column = 0; column < amxMicro; column += line)
        values.prefetch(
            memory,
            {{{values.index(first, row), values.index(tile.row, column)}}},
            /*isWrite=*/true);
  }
}

/// The slab's whole steps of terms, added to the sums in the registers.
void ProductLoops::addTerms(const Slab &slab, const Tile &tile) {
  TileMemory left = *values.findMemory(product.getDpsInputs()[0]);
  TileMemory right = *values.findMemory(product.getDpsInputs()[1]);
  Value first = builder.createOrFold<arith::DivUIOp>(loc, slab.start,
                                                     values.constant(terms));
  Value end = add(first, values.constant(slab.size / terms));
  (void)values.buildFor(first, end, 1, [&](Value step) {
    Value term =
        arith::MulIOp::create(builder, loc, step, values.constant(terms));
    values.setPanel(term, amxMicro, step, values.constant(0));
    values.setPair(term, arith::MulIOp::create(builder, loc, step,
                                               values.constant(terms / 2)));
    auto load = [&](int64_t part, const TileMemory &memory, Value row,
                    Value column) {
      moveTile("tileloadd64", part, memory, {{{row, column}}});
    };
    auto multiply = [&](int64_t i, int64_t j) {
      callAMX("tdpbf16ps",
              {firstSum + 2 * i + j, firstLeft + i, firstRight + j});
    };
    Value number = arith::SubIOp::create(builder, loc, step, first);
    askForResult(slab, tile, number, slab.size / terms);
    askForMirror(slab, tile, number);
    load(firstLeft, left, tile.row, term);
    load(firstRight, right, term, tile.column);
    load(firstRight + 1, right, term, values.index(tile.column, partColumns));
    multiply(0, 0);
    load(firstLeft + 1, left, values.index(tile.row, partRows), term);
    multiply(0, 1);
    multiply(1, 0);
    multiply(1, 1);
    return success();
  });
}

LogicalResult ProductLoops::emitOnAMX(const Slab &slab, const Tile &tile) {
  Value zero = values.constant(0);
  if (slab.isFirst)
    for (int64_t i = 0; i < 4; ++i)
      callAMX("tilezero", {firstSum + i});
  else
    moveSums("tileloadd64", memories[sumsOutput], tile.row, tile.column);
  addTerms(slab, tile);
  if (!slab.isLast || plainOutput) {
    const TileMemory &memory =
        memories[slab.isLast ? *plainOutput : sumsOutput];
    moveSums("tilestored64", memory, tile.row, tile.column);
    return slab.isLast && outputs.size() > 1 ? finishAMX(slab, tile, memory)
                                             : success();
  }
  moveSums("tilestored64", sumsBuffer, zero, zero);
  return finishAMX(slab, tile, sumsBuffer);
}

/// What is made of the sums, which lie in `memory`, and of the terms that are
/// left, a few rows at a time.
LogicalResult ProductLoops::finishAMX(const Slab &slab, const Tile &tile,
                                      const TileMemory &memory) {
  bool isBuffer = memory.memref == sumsBuffer.memref;
  int64_t whole = slab.size - slab.size % terms, rest = slab.size % terms;
  return values.buildFor(
      values.constant(0), values.constant(tile.rows), rowsAtOnce,
      [&](Value row) -> LogicalResult {
        SmallVector<TilePlace> places;
        Values sums;
        Value first = add(tile.row, row);
        for (int64_t i = 0; i < rowsAtOnce; ++i)
          for (int64_t at = 0; at < tile.columns; at += lanes) {
            TilePlace place{
                {{values.index(first, i), values.index(tile.column, at)},
                 1,
                 lanes}};
            TilePlace inBuffer{
                {{values.index(row, i), values.constant(at)}, 1, lanes}};
            places.push_back(place);
            sums.push_back(values.load(memory, isBuffer ? inBuffer : place));
          }
        if (rest > 0) {
          Value start = add(slab.start, values.constant(whole));
          Value panel = builder.createOrFold<arith::DivUIOp>(
              loc, start, values.constant(leftPanel));
          FailureOr<Values> all = addPanel(start, panel, rest, places, sums);
          if (failed(all))
            return failure();
          sums = *all;
        }
        if (!startsAtZero())
          for (auto [place, sum] : llvm::zip(places, sums)) {
            FailureOr<Value> start =
                values.evaluate(product.getDpsInits()[0], place);
            if (failed(start))
              return failure();
            sum = arith::AddFOp::create(
                builder, loc, values.toVector(*start, place.width), sum);
          }
        return finish(places, sums, isBuffer ? std::nullopt : plainOutput);
      });
}
