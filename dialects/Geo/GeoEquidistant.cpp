//===- GeoEquidistant.cpp - the equidistant head --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A round is made of geo ops: how the polar factor is computed is decided where
// geo.spectral is expanded, how rows are normalised where geo.normalize_rows
// is.
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

/// Converges for relative singular values from 1e-3 on in six steps.
static constexpr StringLiteral polarSchedule = "polar_express";
static constexpr double polarSafety = 1.01;
static constexpr int64_t leastPolarSteps = 5;
static constexpr int64_t mostRounds = 50;
/// Sweeps over all pairs of rows: m^2 numbers of workspace.
static constexpr int64_t mostSweeps = 50, mostRepellingRows = 8192;
/// Rows that are nearer are equal, as far as products of f32 tell.
static constexpr double leastSquaredDistance = 1e-5;
static constexpr double damping = 1.5;

LogicalResult EquidistantOp::verify() {
  if (failed(verifyRadius(*this, getRadius())))
    return failure();
  int64_t rounds = getRounds(), steps = getSteps();
  if (rounds < 1 || rounds > mostRounds)
    return emitOpError("expected rounds in 1..")
           << mostRounds << ", but got " << rounds;
  if (steps < leastPolarSteps || steps > steep::schedules::maxSteps)
    return emitOpError("expected steps in ")
           << leastPolarSteps << ".." << steep::schedules::maxSteps
           << ", but got " << steps;
  int64_t sweeps = getRepulsion(), rows = getType().getDimSize(0);
  if (sweeps < 0 || sweeps > mostSweeps)
    return emitOpError("expected repulsion in 0..")
           << mostSweeps << ", but got " << sweeps;
  if (sweeps > 0 && rows > mostRepellingRows)
    return emitOpError("expected at most ")
           << mostRepellingRows << " rows with repulsion, which works on all "
           << "pairs of them, but got " << rows;
  double distance = getDistance().convertToDouble();
  // Rows of length one are at most 2 apart.
  if (!(distance > 0 && distance <= 2))
    return emitOpError("expected distance in (0, 2], but got ")
           << str(distance);
  return success();
}

//===----------------------------------------------------------------------===//
// Repulsion
//===----------------------------------------------------------------------===//

namespace {

/// Builds sweeps over all pairs of rows.
class Repulsion {
public:
  Repulsion(RewriterBase &b, EquidistantOp op)
      : b(b), op(op), loc(op.getLoc()), f64(b.getF64Type()),
        rows(op.getType().getDimSize(0)), columns(op.getType().getDimSize(1)) {}

  Value sweep(Value x);

private:
  Value createProduct(Value left, Value right, int64_t width);
  Value createForces(Value cosines);

  RewriterBase &b;
  EquidistantOp op;
  Location loc;
  Type f64;
  int64_t rows, columns;
};

} // namespace

Value Repulsion::createProduct(Value left, Value right, int64_t width) {
  Value zeros = createZeros(
      b, loc, {b.getIndexAttr(rows), b.getIndexAttr(width)}, b.getF32Type());
  auto product = linalg::MatmulOp::create(
      b, loc, zeros.getType(), ValueRange{left, right}, ValueRange{zeros});
  if (op.getDot() != Dot::ieee)
    product->setAttr(GeoDialect::dotAttrName, op.getDotAttr());
  return product.getResult(0);
}

/// c_ij from <x_i, x_j>, rows being of length one; 0 for a row and itself or
/// its equal.
Value Repulsion::createForces(Value cosines) {
  double distance = op.getDistance().convertToDouble();
  Value target = createF32(b, loc, distance), two = createF32(b, loc, 2),
        half = createF32(b, loc, 0.5), zero = createF32(b, loc, 0),
        least = createF32(b, loc, leastSquaredDistance);
  return createElementwise(
      b, loc, {cosines}, {createEmpty(b, loc, cosines)},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value minusTwo = arith::NegFOp::create(b, loc, two);
        Value square = math::FmaOp::create(b, loc, minusTwo, v[0], two);
        Value isApart = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                              square, least);
        Value known = arith::SelectOp::create(b, loc, isApart, square, two);
        Value length = math::SqrtOp::create(b, loc, known);
        Value missing = arith::SubFOp::create(b, loc, target, length);
        Value pushed = arith::MaximumFOp::create(b, loc, missing, zero);
        Value force = arith::DivFOp::create(
            b, loc, arith::MulFOp::create(b, loc, half, pushed), length);
        return {arith::SelectOp::create(b, loc, isApart, force, zero)};
      })[0];
}

/// x_i + f_i sum_j c_ij (x_i - x_j), centred and normalised.
Value Repulsion::sweep(Value x) {
  SmallVector<OpFoldResult> turned = {b.getIndexAttr(columns),
                                      b.getIndexAttr(rows)};
  Value empty = tensor::EmptyOp::create(b, loc, turned, b.getF32Type());
  Value transposed = createGeneric(
      b, loc, {{x, {1, 0}}}, {{empty, {0, 1}}}, "pp",
      [](OpBuilder &, Location, ValueRange v) -> SmallVector<Value> {
        return {v[0]};
      })[0];
  Value cosines = createProduct(x, transposed, rows);
  cosines.getDefiningOp()->setAttr(GeoDialect::symmetricAttrName,
                                   b.getUnitAttr());
  Value forces = createForces(cosines);
  Value zeros = createZeros(b, loc, {b.getIndexAttr(rows)}, f64);
  SmallVector<Value> sums = createGeneric(
      b, loc, {{forces, {0, 1}}}, {{zeros, {0}}, {zeros, {0}}}, "pr",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value c = arith::ExtFOp::create(b, loc, b.getF64Type(), v[0]);
        Value square = arith::MulFOp::create(b, loc, c, c);
        return {arith::AddFOp::create(b, loc, v[1], c),
                arith::AddFOp::create(b, loc, v[2], square)};
      });
  Value pulled = createProduct(forces, x, columns);

  // f_i = min(1, damping sum c^2 / (sum c)^2): damping over the number of
  // neighbours, where all are as near.
  Value one = createF64(b, loc, 1), zero = createF64(b, loc, 0),
        factor = createF64(b, loc, damping);
  Value damped = createGeneric(
      b, loc, {{sums[0], {0}}, {sums[1], {0}}},
      {{createEmpty(b, loc, sums[0]), {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value square = arith::MulFOp::create(b, loc, v[0], v[0]);
        Value isFree = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                             square, zero);
        Value divisor = arith::SelectOp::create(b, loc, isFree, one, square);
        Value share = arith::DivFOp::create(b, loc, v[1], divisor);
        Value scaled = arith::MulFOp::create(b, loc, factor, share);
        return {arith::MinimumFOp::create(b, loc, scaled, one)};
      })[0];
  Value moved = createGeneric(
      b, loc, {{x, {0, 1}}, {pulled, {0, 1}}, {sums[0], {0}}, {damped, {0}}},
      {{createEmpty(b, loc, x), {0, 1}}}, "pp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value sum = arith::TruncFOp::create(b, loc, b.getF32Type(), v[2]);
        Value share = arith::TruncFOp::create(b, loc, b.getF32Type(), v[3]);
        Value minus = arith::NegFOp::create(b, loc, v[1]);
        Value push = math::FmaOp::create(b, loc, sum, v[0], minus);
        return {math::FmaOp::create(b, loc, share, push, v[0])};
      })[0];
  return NormalizeRowsOp::create(b, loc, op.getType(),
                                 CenterOp::create(b, loc, moved),
                                 b.getF64FloatAttr(0));
}

/// The polar factor of x. What is not said here is as geo.spectral has it by
/// default.
static Value createPolar(RewriterBase &b, EquidistantOp op, Value x,
                         Value minusOne) {
  OperationState state(op.getLoc(), SpectralOp::getOperationName());
  state.addOperands({x, minusOne});
  state.addTypes(x.getType());
  state.addAttributes(
      {b.getNamedAttr("schedule", b.getStringAttr(polarSchedule)),
       b.getNamedAttr("safety", b.getF64FloatAttr(polarSafety)),
       b.getNamedAttr("steps", op.getStepsAttr()),
       b.getNamedAttr("dot", op.getDotAttr())});
  return b.create(state)->getResult(0);
}

FailureOr<SmallVector<Value>> EquidistantOp::expand(RewriterBase &rewriter,
                                                    int64_t) {
  Location loc = getLoc();
  Type type = getType();
  if (!cast<RankedTensorType>(type).hasStaticShape())
    return failure();
  FloatAttr exact = rewriter.getF64FloatAttr(0);
  // The spectral oracle's radius is signed: -1 gives the polar factor itself.
  Value minusOne = createF32(rewriter, loc, -1);
  Value x = NormalizeRowsOp::create(rewriter, loc, type, getGradient(), exact);
  for (uint64_t round = 0; round < getRounds(); ++round) {
    Value polar = createPolar(rewriter, *this, x, minusOne);
    Value centered = CenterOp::create(rewriter, loc, polar);
    x = NormalizeRowsOp::create(rewriter, loc, type, centered, exact);
  }
  for (uint64_t sweep = 0; sweep < getRepulsion(); ++sweep)
    x = Repulsion(rewriter, *this).sweep(x);
  Value factor = arith::NegFOp::create(rewriter, loc, getRadius());
  return SmallVector<Value>{ScaleOp::create(rewriter, loc, x, factor)};
}

FailureOr<SmallVector<Value>> EquidistantOp::decomposeOperation(OpBuilder &b) {
  IRRewriter rewriter(b);
  return expand(rewriter, /*padTo=*/1);
}
