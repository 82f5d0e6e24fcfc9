//===- GeoMoments.cpp - second moments after an oracle --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;

LogicalResult RowMomentOp::verify() {
  if (failed(verifyBeta(*this, "beta", getBeta())) ||
      failed(verifyEps(*this, getEps())))
    return failure();
  if (getEps().isZero())
    return emitOpError("expected eps to be positive");
  auto rows = cast<RankedTensorType>(getInput().getType()).getDimSize(0);
  auto moments = cast<RankedTensorType>(getMoments().getType());
  if (moments.getDimSize(1) != 1 || moments.getDimSize(0) != rows)
    return emitOpError("expected one moment a row of ")
           << getInput().getType() << ", in a matrix of one column, but got "
           << moments;
  return success();
}

FailureOr<SmallVector<Value>> RowMomentOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  double beta = getBeta().convertToDouble();
  Value keep = createF32(b, loc, beta), take = createF32(b, loc, 1 - beta);
  Value eps = createF32(b, loc, getEps().convertToDouble());
  Value columns = createSize(b, loc, getInput(), 1);
  OpFoldResult rows = tensor::getMixedSize(b, loc, getInput(), 0);
  auto createRows = [&]() -> Value {
    return tensor::EmptyOp::create(b, loc, rows, b.getF32Type());
  };

  // 1. The moments, one a row.
  Value squares = createRowSquares(b, loc, getInput());
  Value averages = createGeneric(
      b, loc, {{squares, {0}}, {getMoments(), {0, firstOnly}}},
      {{createRows(), {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value exact = arith::DivFOp::create(b, loc, v[0], columns);
        Value mean = arith::TruncFOp::create(b, loc, b.getF32Type(), exact);
        Value taken = arith::MulFOp::create(b, loc, take, mean);
        return {math::FmaOp::create(b, loc, keep, v[1], taken)};
      })[0];

  // 2. What rows are divided by.
  Value divisors = createGeneric(
      b, loc, {{averages, {0}}}, {{createRows(), {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value root = math::SqrtOp::create(b, loc, v[0]);
        return {arith::AddFOp::create(b, loc, root, eps)};
      })[0];

  // 3. The rows, and the moments as they are stored.
  Value normalized = createGeneric(
      b, loc, {{getInput(), {0, 1}}, {divisors, {0}}},
      {{createEmpty(b, loc, getInput()), {0, 1}}}, "pp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::DivFOp::create(b, loc, v[0], v[1])};
      })[0];
  Value stored = createGeneric(
      b, loc, {{averages, {0}}}, {{createEmpty(b, loc, getMoments()), {0, 1}}},
      "pp", [](OpBuilder &, Location, ValueRange v) -> SmallVector<Value> {
        return {v[0]};
      })[0];
  return SmallVector<Value>{normalized, stored};
}
