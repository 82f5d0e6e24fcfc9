//===- ProductFMA.cpp - products by fused multiply-adds -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::block;

namespace {
/// A thread has 8x8 results: four rows of either half of the tile, and four
/// columns of either half. So the lanes of a warp read adjacent vectors of
/// shared memory, and every number that they read serves eight times.
class FMAProduct : public ProductEmitter {
public:
  using ProductEmitter::ProductEmitter;

protected:
  void layOut(OperandTile &tile) override;
  Values start() override;
  Values step(Value buffer, ValueRange sums,
              llvm::function_ref<void()> meanwhile) override;
  LogicalResult finish(ValueRange sums) override;

private:
  VectorType quad() { return VectorType::get({4}, builder.getF32Type()); }
  Value extract(Value vector, int64_t lane) {
    return vector::ExtractOp::create(builder, loc, vector,
                                     ArrayRef<int64_t>{lane});
  }
  void load(const OperandTile &tile, Value buffer, Value first, int64_t term,
            Value (&numbers)[4][8]);

  Value firstRow, firstColumn; ///< of this thread
};
} // namespace

/// As in memory. A row is four numbers longer than the tile, so that the rows
/// that a warp reads start in different banks.
void FMAProduct::layOut(OperandTile &tile) {
  tile.element = builder.getF32Type();
  tile.stride = tile.columns + 4;
}

ProductEmitter::Values FMAProduct::start() {
  firstRow = multiply(divide(thread, n / 8), 4);
  firstColumn = multiply(remainder(thread, n / 8), 4);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(quad()));
  return Values(16, zero);
}

/// This thread's eight numbers of an operand for each of the terms `term` to
/// `term + 3`: four from `first` on, four from half a tile further on. Where
/// the depth is contiguous, a vector holds four terms, else four numbers of
/// one.
void FMAProduct::load(const OperandTile &tile, Value buffer, Value first,
                      int64_t term, Value (&numbers)[4][8]) {
  int64_t half = (tile.alongDepth ? tile.rows : tile.columns) / 2;
  Value zero = constant(0);
  Value index =
      tile.alongDepth ? indexIn(tile, first, zero) : indexIn(tile, zero, first);
  auto loadAt = [&](int64_t row, int64_t column) -> Value {
    return LLVM::LoadOp::create(
        builder, loc, quad(),
        at(tile, buffer, index, row * tile.stride + column), 16);
  };
  if (tile.alongDepth) {
    for (int64_t i = 0; i < 8; ++i) {
      Value terms = loadAt(i / 4 * half + i % 4, term);
      for (int64_t t = 0; t < 4; ++t)
        numbers[t][i] = extract(terms, t);
    }
    return;
  }
  for (int64_t t = 0; t < 4; ++t)
    for (int64_t side : {0, 1}) {
      Value four = loadAt(term + t, side * half);
      for (int64_t i = 0; i < 4; ++i)
        numbers[t][side * 4 + i] = extract(four, i);
    }
}

ProductEmitter::Values FMAProduct::step(Value buffer, ValueRange sums,
                                        llvm::function_ref<void()> meanwhile) {
  meanwhile();
  Values next(sums);
  Value rows[4][8], columns[4][8];
  for (int64_t term = 0; term < k; term += 4) {
    load(left, buffer, firstRow, term, rows);
    load(right, buffer, firstColumn, term, columns);
    for (int64_t t = 0; t < 4; ++t)
      for (int64_t half : {0, 1}) {
        Value right = vector::FromElementsOp::create(
            builder, loc, quad(),
            ValueRange(ArrayRef(columns[t] + half * 4, 4)));
        for (int64_t row = 0; row < 8; ++row) {
          Value factor =
              vector::BroadcastOp::create(builder, loc, quad(), rows[t][row]);
          Value &sum = next[row * 2 + half];
          sum = math::FmaOp::create(builder, loc, factor, right, sum);
        }
      }
  }
  return next;
}

LogicalResult FMAProduct::finish(ValueRange sums) {
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t half : {0, 1})
      if (failed(emitResults(add(firstRow, row / 4 * (m / 2) + row % 4),
                             firstColumn, half * n / 2, sums[row * 2 + half])))
        return failure();
  if (!shape.symmetric)
    return success();
  for (int64_t column = 0; column < 8; ++column)
    for (int64_t half : {0, 1}) {
      Values elements;
      for (int64_t row = 0; row < 4; ++row)
        elements.push_back(
            extract(sums[(half * 4 + row) * 2 + column / 4], column % 4));
      Value turned =
          vector::FromElementsOp::create(builder, loc, quad(), elements);
      if (failed(
              emitMirrored(add(firstColumn, column / 4 * (n / 2) + column % 4),
                           firstRow, half * m / 2, turned)))
        return failure();
    }
  return success();
}

std::unique_ptr<ProductEmitter>
mlir::block::createFMAProduct(OpBuilder &builder, KernelEntry &entry,
                              const KernelShape &shape, ThreadEmitter &values) {
  ArrayRef<int64_t> tile = shape.config.getTile();
  if (tile[0] % 8 != 0 || tile[1] % 8 != 0 ||
      tile[0] * tile[1] / 64 != 32 * shape.warps() || tile[2] % 4 != 0) {
    shape.func.emitOpError("expected a tile of 64 results a thread, 8x8, and "
                           "steps of 4, but got tile = [")
        << tile << "] and warps = " << shape.warps();
    return nullptr;
  }
  return std::make_unique<FMAProduct>(builder, entry, shape, values);
}
