//===- GeoBalls.cpp - oracles without matrix products ---------------------===//
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
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;

//===----------------------------------------------------------------------===//
// The largest entry
//===----------------------------------------------------------------------===//

StringRef SignOp::getDualNorm() { return "sum |g_ij|"; }

LogicalResult SignOp::verify() { return verifyBall(*this); }

/// -r (g / (|g| + eps)), where a zero is divided by 1 if eps is zero.
FailureOr<SmallVector<Value>> SignOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  bool exact = getEps().isZero();
  Value added = createF32(b, loc, getEps().convertToDouble());
  Value zero = createF32(b, loc, 0), one = createF32(b, loc, 1);
  Value factor = arith::NegFOp::create(b, loc, getRadius());
  return createGeneric(
      b, loc, {{getGradient(), {0, 1}}},
      {{createEmpty(b, loc, getGradient()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value divisor = math::AbsFOp::create(b, loc, v[0]);
        if (exact) {
          Value isZero = arith::CmpFOp::create(
              b, loc, arith::CmpFPredicate::OEQ, divisor, zero);
          divisor = arith::SelectOp::create(b, loc, isZero, one, divisor);
        } else {
          divisor = arith::AddFOp::create(b, loc, divisor, added);
        }
        Value quotient = arith::DivFOp::create(b, loc, v[0], divisor);
        return {arith::MulFOp::create(b, loc, factor, quotient)};
      });
}

//===----------------------------------------------------------------------===//
// The Frobenius norm
//===----------------------------------------------------------------------===//

StringRef FrobeniusOp::getDualNorm() { return "||G||_F"; }

LogicalResult FrobeniusOp::verify() { return verifyBall(*this); }

FailureOr<SmallVector<Value>> FrobeniusOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value inverse = createInverseNorm(
      b, loc, getGradient(), Divisor{1, getEps(), false}, b.getF64Type());
  Value factor = arith::NegFOp::create(b, loc, getRadius());
  return createGeneric(
      b, loc, {{getGradient(), {0, 1}}, {inverse, {}}},
      {{createEmpty(b, loc, getGradient()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value wide = arith::ExtFOp::create(b, loc, b.getF64Type(), v[0]);
        Value quotient = arith::MulFOp::create(b, loc, wide, v[1]);
        Value rounded =
            arith::TruncFOp::create(b, loc, b.getF32Type(), quotient);
        return {arith::MulFOp::create(b, loc, factor, rounded)};
      });
}

FailureOr<SmallVector<Value>> FrobeniusOp::expand(RewriterBase &rewriter,
                                                  int64_t) {
  if (!cast<RankedTensorType>(getGradient().getType()).hasStaticShape())
    return failure();
  return decomposeOperation(rewriter);
}

//===----------------------------------------------------------------------===//
// The largest column
//===----------------------------------------------------------------------===//

StringRef MaxColumnOp::getDualNorm() { return "sum_j ||G_:j||"; }

LogicalResult MaxColumnOp::verify() { return verifyBall(*this); }

FailureOr<SmallVector<Value>> MaxColumnOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value divisors = createDivisors(
      b, loc, createColumnSums(b, loc, getGradient(), /*ofSquares=*/true),
      getEps());
  Value factor = arith::NegFOp::create(b, loc, getRadius());
  return createGeneric(
      b, loc, {{getGradient(), {0, 1}}, {divisors, {1}}},
      {{createEmpty(b, loc, getGradient()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value quotient = createQuotient(b, loc, v[0], v[1], getEps());
        return {arith::MulFOp::create(b, loc, factor, quotient)};
      });
}

FailureOr<SmallVector<Value>> MaxColumnOp::expand(RewriterBase &rewriter,
                                                  int64_t) {
  if (!cast<RankedTensorType>(getGradient().getType()).hasStaticShape())
    return failure();
  return decomposeOperation(rewriter);
}
