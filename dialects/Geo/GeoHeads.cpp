//===- GeoHeads.cpp - clipped rows, equalised rows and columns ------------===//
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

#include <cmath>

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;

//===----------------------------------------------------------------------===//
// geo.clipped_row
//===----------------------------------------------------------------------===//

StringRef ClippedRowOp::getDualNorm() {
  return "sum_i max{<g_i, u> : ||u||^2 <= n, |u_j| <= clip}";
}
APFloat ClippedRowOp::getEps() { return APFloat(0.0); }
void ClippedRowOp::setEps(APFloat) {}

LogicalResult ClippedRowOp::verify() {
  if (failed(verifyRadius(*this, getRadius())))
    return failure();
  double clip = getClip().convertToDouble();
  // Below 1 no row could have the root mean square 1.
  if (std::isfinite(clip) && clip >= 1)
    return success();
  return emitOpError("expected clip to be finite and at least 1, but got ")
         << str(clip);
}

namespace {

/// Builds the expansion of one geo.clipped_row: a value a row in f64.
class Clipping {
public:
  Clipping(OpBuilder &b, ClippedRowOp op)
      : b(b), op(op), loc(op.getLoc()),
        shape(tensor::getMixedSizes(b, loc, op.getGradient())),
        clip(constant(op.getClip().convertToDouble())), zero(constant(0)),
        one(constant(1)) {
    clipSquared = arith::MulFOp::create(b, loc, clip, clip);
    columns = createSize(b, loc, op.getGradient(), 1);
  }

  Value build();

private:
  Value constant(double value) { return createF64(b, loc, value); }
  Value widen(OpBuilder &b, Value x) {
    return arith::ExtFOp::create(b, loc, b.getF64Type(), x);
  }
  Value createFirstScale();
  Value createNextScale(Value scale);
  Value createRows(ArrayRef<Operand> inputs, Body body);

  /// Each time the row is feasible, so where it ends is a matter of cost.
  static constexpr int rounds = 12;
  /// Above every scale that a row of f32 asks for; times one it is finite.
  static constexpr double unbounded = 1e200;

  OpBuilder &b;
  ClippedRowOp op;
  Location loc;
  SmallVector<OpFoldResult> shape;
  Value clip, zero, one, clipSquared, columns;
};

} // namespace

/// A value a row, from other such values.
Value Clipping::createRows(ArrayRef<Operand> inputs, Body body) {
  Value empty = tensor::EmptyOp::create(b, loc, ArrayRef(shape).take_front(),
                                        b.getF64Type());
  return createGeneric(b, loc, inputs, {{empty, {0}}}, "p", body)[0];
}

/// The scale without clipping, or none where all entries are to be clipped.
Value Clipping::createFirstScale() {
  auto rows = ArrayRef(shape).take_front();
  Value zeros = createZeros(b, loc, rows, b.getF64Type());
  SmallVector<Value> sums = createGeneric(
      b, loc, {{op.getGradient(), {0, 1}}}, {{zeros, {0}}, {zeros, {0}}}, "pr",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = widen(b, v[0]);
        Value square = arith::MulFOp::create(b, loc, x, x);
        Value isZero =
            arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, zero);
        Value count = arith::SelectOp::create(b, loc, isZero, zero, one);
        return {arith::AddFOp::create(b, loc, v[1], square),
                arith::AddFOp::create(b, loc, v[2], count)};
      });
  return createRows(
      {{sums[0], {0}}, {sums[1], {0}}},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value most = arith::MulFOp::create(b, loc, clipSquared, v[1]);
        Value isFull = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE,
                                             most, columns);
        Value divisor = arith::SelectOp::create(b, loc, isFull, one, v[0]);
        Value square = arith::DivFOp::create(b, loc, columns, divisor);
        Value scale = math::SqrtOp::create(b, loc, square);
        return {arith::SelectOp::create(b, loc, isFull, constant(unbounded),
                                        scale)};
      });
}

/// What is left of the norm, given to the entries that `scale` does not clip.
Value Clipping::createNextScale(Value scale) {
  auto rows = ArrayRef(shape).take_front();
  Value zeros = createZeros(b, loc, rows, b.getF64Type());
  SmallVector<Value> sums = createGeneric(
      b, loc, {{op.getGradient(), {0, 1}}, {scale, {0}}},
      {{zeros, {0}}, {zeros, {0}}}, "pr",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = widen(b, v[0]);
        Value square = arith::MulFOp::create(b, loc, x, x);
        Value size = math::AbsFOp::create(
            b, loc, arith::MulFOp::create(b, loc, x, v[1]));
        Value isFree = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                             size, clip);
        Value free = arith::SelectOp::create(b, loc, isFree, square, zero);
        Value count = arith::SelectOp::create(b, loc, isFree, zero, one);
        return {arith::AddFOp::create(b, loc, v[2], free),
                arith::AddFOp::create(b, loc, v[3], count)};
      });
  return createRows(
      {{sums[0], {0}}, {sums[1], {0}}, {scale, {0}}},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value taken = arith::MulFOp::create(b, loc, clipSquared, v[1]);
        Value left = arith::SubFOp::create(b, loc, columns, taken);
        Value isNone = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                             v[0], zero);
        Value divisor = arith::SelectOp::create(b, loc, isNone, one, v[0]);
        Value square = arith::DivFOp::create(b, loc, left, divisor);
        Value next = math::SqrtOp::create(
            b, loc, arith::MaximumFOp::create(b, loc, square, zero));
        // It never falls; what rounding takes from it is not taken.
        Value grown = arith::MaximumFOp::create(b, loc, next, v[2]);
        return {arith::SelectOp::create(b, loc, isNone, v[2], grown)};
      });
}

Value Clipping::build() {
  Value scale = createFirstScale();
  for (int round = 0; round < rounds; ++round)
    scale = createNextScale(scale);
  Value least = arith::NegFOp::create(b, loc, clip);
  Value factor = arith::NegFOp::create(b, loc, op.getRadius());
  return createGeneric(
      b, loc, {{op.getGradient(), {0, 1}}, {scale, {0}}},
      {{createEmpty(b, loc, op.getGradient()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value scaled = arith::MulFOp::create(b, loc, widen(b, v[0]), v[1]);
        Value above = arith::MaximumFOp::create(b, loc, scaled, least);
        Value clipped = arith::MinimumFOp::create(b, loc, above, clip);
        Value u = arith::TruncFOp::create(b, loc, b.getF32Type(), clipped);
        return {arith::MulFOp::create(b, loc, factor, u)};
      })[0];
}

FailureOr<SmallVector<Value>> ClippedRowOp::decomposeOperation(OpBuilder &b) {
  return SmallVector<Value>{Clipping(b, *this).build()};
}

//===----------------------------------------------------------------------===//
// geo.equalize
//===----------------------------------------------------------------------===//

LogicalResult EqualizeOp::verify() {
  if (failed(verifyRadius(*this, getRadius())))
    return failure();
  double floor = getFloor().convertToDouble();
  if (!(std::isfinite(floor) && floor >= 0))
    return emitOpError("expected floor to be finite and at least 0, but got ")
           << str(floor);
  if (getOrder() != "rows_columns" && getOrder() != "columns_rows")
    return emitOpError("expected order to be \"rows_columns\" or "
                       "\"columns_rows\", but got \"")
           << getOrder() << '"';
  return success();
}

/// Sums of squares of the rows (kept = 0) or columns (kept = 1) of a matrix, in
/// f64.
static Value createSquares(OpBuilder &b, Location loc, Value matrix,
                           unsigned kept) {
  if (kept == 0)
    return RowSquaresOp::create(b, loc, matrix);
  return createColumnSums(b, loc, matrix, /*ofSquares=*/true);
}

/// 1 / sqrt(mean of squares), or 0 where the root is at most `floor`.
static Value createInverses(OpBuilder &b, Location loc, Value squares,
                            int64_t count, double floor) {
  Value number = createF64(b, loc, static_cast<double>(count));
  Value least = createF64(b, loc, floor), zero = createF64(b, loc, 0),
        one = createF64(b, loc, 1);
  return createGeneric(
      b, loc, {{squares, {0}}}, {{createEmpty(b, loc, squares), {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value mean = arith::DivFOp::create(b, loc, v[0], number);
        Value root = math::SqrtOp::create(b, loc, mean);
        Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE,
                                             root, least);
        Value divisor = arith::SelectOp::create(b, loc, isZero, one, root);
        Value inverse = arith::DivFOp::create(b, loc, one, divisor);
        return {arith::SelectOp::create(b, loc, isZero, zero, inverse)};
      })[0];
}

/// `matrix` with every row (kept = 0) or column (kept = 1) over its root mean
/// square.
static Value createNormalized(OpBuilder &b, Location loc, Value matrix,
                              unsigned kept, double floor) {
  auto type = cast<RankedTensorType>(matrix.getType());
  Value inverses = createInverses(b, loc, createSquares(b, loc, matrix, kept),
                                  type.getDimSize(1 - kept), floor);
  return createGeneric(
      b, loc, {{matrix, {0, 1}}, {inverses, {kept}}},
      {{createEmpty(b, loc, matrix), {0, 1}}}, "pp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = arith::ExtFOp::create(b, loc, b.getF64Type(), v[0]);
        Value scaled = arith::MulFOp::create(b, loc, x, v[1]);
        return {arith::TruncFOp::create(b, loc, b.getF32Type(), scaled)};
      })[0];
}

FailureOr<SmallVector<Value>> EqualizeOp::expand(RewriterBase &rewriter,
                                                 int64_t) {
  Location loc = getLoc();
  if (!cast<RankedTensorType>(getType()).hasStaticShape())
    return failure();
  double floor = getFloor().convertToDouble();
  unsigned first = getOrder() == "rows_columns" ? 0 : 1;
  Value once = createNormalized(rewriter, loc, getGradient(), first, floor);
  Value twice = createNormalized(rewriter, loc, once, 1 - first, floor);
  Value factor = arith::NegFOp::create(rewriter, loc, getRadius());
  return SmallVector<Value>{ScaleOp::create(rewriter, loc, twice, factor)};
}

FailureOr<SmallVector<Value>> EqualizeOp::decomposeOperation(OpBuilder &b) {
  IRRewriter rewriter(b);
  return expand(rewriter, /*padTo=*/1);
}
