//===- GeoDecompose.cpp - geo ops in terms of linalg ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every op becomes elementwise generics and row reductions on f32, with f64
// where a sum has to bear it. Constants are formed in f64 and rounded to f32
// once, FMAs are explicit, nothing carries fast-math flags: what is written
// here is what every target computes, bit for bit.
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::geo;
using geo::detail::Axes;
using geo::detail::createDivisors;
using geo::detail::createElementwise;
using geo::detail::createF32;
using geo::detail::createF64;
using geo::detail::createGeneric;
using geo::detail::createQuotient;
using geo::detail::createRowSquares;
using geo::detail::createSize;
using geo::detail::createZeros;
using geo::detail::firstOnly;
using geo::detail::hasInverse;

using Values = FailureOr<SmallVector<Value>>;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

Value geo::detail::createF32(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value geo::detail::createF64(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF64FloatAttr(value));
}

Value geo::detail::createEmpty(OpBuilder &b, Location loc, Value like) {
  return tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, like),
                                 getElementTypeOrSelf(like.getType()));
}

Value geo::detail::createZeros(OpBuilder &b, Location loc,
                               ArrayRef<OpFoldResult> sizes, Type element) {
  Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(element, 0));
  Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
  return linalg::FillOp::create(b, loc, zero, empty).getResult(0);
}

SmallVector<Value> geo::detail::createGeneric(OpBuilder &b, Location loc,
                                              ArrayRef<Operand> inputs,
                                              ArrayRef<Operand> outputs,
                                              StringRef loops, Body body) {
  SmallVector<Value> inputValues, outputValues;
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  auto addMap = [&](ArrayRef<unsigned> axes) {
    SmallVector<AffineExpr> exprs;
    for (unsigned axis : axes)
      exprs.push_back(axis == firstOnly ? b.getAffineConstantExpr(0)
                                        : b.getAffineDimExpr(axis));
    maps.push_back(AffineMap::get(loops.size(), 0, exprs, b.getContext()));
  };
  for (const Operand &input : inputs) {
    inputValues.push_back(input.value);
    addMap(input.axes);
  }
  for (const Operand &output : outputs) {
    outputValues.push_back(output.value);
    types.push_back(output.value.getType());
    addMap(output.axes);
  }
  SmallVector<utils::IteratorType> iterators;
  for (char loop : loops)
    iterators.push_back(loop == 'p' ? utils::IteratorType::parallel
                                    : utils::IteratorType::reduction);
  auto generic = linalg::GenericOp::create(
      b, loc, types, inputValues, outputValues, maps, iterators,
      [&](OpBuilder &b, Location loc, ValueRange v) {
        linalg::YieldOp::create(b, loc, body(b, loc, v));
      });
  return llvm::to_vector_of<Value>(generic.getResults());
}

SmallVector<Value> geo::detail::createElementwise(OpBuilder &b, Location loc,
                                                  ArrayRef<Value> inputs,
                                                  ArrayRef<Value> outputs,
                                                  Body body) {
  SmallVector<geo::detail::Operand> ins, outs;
  for (Value input : inputs)
    ins.push_back({input, Axes{0, 1}});
  for (Value output : outputs)
    outs.push_back({output, Axes{0, 1}});
  return createGeneric(b, loc, ins, outs, "pp", body);
}

static Value createFma(OpBuilder &b, Location loc, Value x, Value y, Value z) {
  return math::FmaOp::create(b, loc, x, y, z);
}

//===----------------------------------------------------------------------===//
// What an oracle is fed
//===----------------------------------------------------------------------===//

Values ScaleOp::decomposeOperation(OpBuilder &b) {
  Value factor = getFactor();
  return createElementwise(
      b, getLoc(), {getInput()},
      {geo::detail::createEmpty(b, getLoc(), getInput())},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, v[0], factor)};
      });
}

Values EmaOp::decomposeOperation(OpBuilder &b) {
  double beta = getBeta().convertToDouble();
  Value keep = createF32(b, getLoc(), beta);
  Value take = createF32(b, getLoc(), 1 - beta);
  return createElementwise(
      b, getLoc(), {getGradient()}, {getBuffer()},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value taken = arith::MulFOp::create(b, loc, take, v[0]);
        return {createFma(b, loc, keep, v[1], taken)};
      });
}

Values MomentumOp::decomposeOperation(OpBuilder &b) {
  Value beta = createF32(b, getLoc(), getBeta().convertToDouble());
  SmallVector<Value> outputs = {getBuffer()};
  if (getNesterov())
    outputs.push_back(geo::detail::createEmpty(b, getLoc(), getBuffer()));
  return createElementwise(
      b, getLoc(), {getGradient()}, outputs,
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        SmallVector<Value> results = {createFma(b, loc, beta, v[1], v[0])};
        if (getNesterov())
          results.push_back(createFma(b, loc, beta, results[0], v[0]));
        return results;
      });
}

/// 1 - beta^t in f64.
static Value createCorrection(OpBuilder &b, Location loc, APFloat beta,
                              Value step) {
  Value t = arith::SIToFPOp::create(b, loc, b.getF64Type(), step);
  Value base = createF64(b, loc, beta.convertToDouble());
  Value power = math::PowFOp::create(b, loc, base, t);
  return arith::SubFOp::create(b, loc, createF64(b, loc, 1), power);
}

Values CorrectBiasOp::decomposeOperation(OpBuilder &b) {
  Value step = getStep();
  if (getAhead() != 0)
    step = arith::AddIOp::create(
        b, getLoc(), step,
        arith::ConstantIntOp::create(b, getLoc(), getAhead(), 64));
  Value correction = createCorrection(b, getLoc(), getBeta(), step);
  Value exact =
      arith::DivFOp::create(b, getLoc(), createF64(b, getLoc(), 1), correction);
  Value factor = arith::TruncFOp::create(b, getLoc(), b.getF32Type(), exact);
  return createElementwise(
      b, getLoc(), {getInput()},
      {geo::detail::createEmpty(b, getLoc(), getInput())},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, v[0], factor)};
      });
}

Value geo::detail::createSize(OpBuilder &b, Location loc, Value matrix,
                              int64_t dim) {
  OpFoldResult size = tensor::getMixedSize(b, loc, matrix, dim);
  if (std::optional<int64_t> known = getConstantIntValue(size))
    return createF64(b, loc, static_cast<double>(*known));
  Value count =
      arith::IndexCastOp::create(b, loc, b.getI64Type(), cast<Value>(size));
  return arith::SIToFPOp::create(b, loc, b.getF64Type(), count);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// ||x_i||^2 in f64. The product of two f32 is exact there, so a multiplication
/// and an addition round as a fused one would, and stay a sum that tiling and
/// vectorisation know.
Value geo::detail::createRowSquares(OpBuilder &b, Location loc, Value matrix) {
  OpFoldResult rows = tensor::getMixedSize(b, loc, matrix, 0);
  Value zeros = createZeros(b, loc, {rows}, b.getF64Type());
  return createGeneric(
      b, loc, {{matrix, {0, 1}}}, {{zeros, {0}}}, "pr",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = arith::ExtFOp::create(b, loc, b.getF64Type(), v[0]);
        Value square = arith::MulFOp::create(b, loc, x, x);
        return {arith::AddFOp::create(b, loc, v[1], square)};
      })[0];
}

bool geo::detail::hasInverse(const APFloat &eps) {
  return eps.convertToDouble() >= std::numeric_limits<float>::min();
}

Value geo::detail::createDivisors(OpBuilder &b, Location loc, Value squares,
                                  APFloat eps) {
  OpFoldResult count = tensor::getMixedSize(b, loc, squares, 0);
  Value empty = tensor::EmptyOp::create(b, loc, count, b.getF32Type());
  Value added = createF32(b, loc, eps.convertToDouble());
  Value zero = createF32(b, loc, 0), one = createF32(b, loc, 1);
  return createGeneric(
      b, loc, {{squares, {0}}}, {{empty, {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value root = math::SqrtOp::create(b, loc, v[0]);
        Value norm = arith::TruncFOp::create(b, loc, b.getF32Type(), root);
        if (!eps.isZero())
          norm = arith::AddFOp::create(b, loc, norm, added);
        if (hasInverse(eps))
          return {arith::DivFOp::create(b, loc, one, norm)};
        if (!eps.isZero())
          return {norm};
        Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                             norm, zero);
        return {arith::SelectOp::create(b, loc, isZero, one, norm)};
      })[0];
}

Value geo::detail::createQuotient(OpBuilder &b, Location loc, Value element,
                                  Value divisor, APFloat eps) {
  return hasInverse(eps)
             ? arith::MulFOp::create(b, loc, element, divisor).getResult()
             : arith::DivFOp::create(b, loc, element, divisor).getResult();
}

Values RowSquaresOp::decomposeOperation(OpBuilder &b) {
  return SmallVector<Value>{createRowSquares(b, getLoc(), getInput())};
}

Value geo::detail::createInverseNorm(OpBuilder &b, Location loc, Value matrix,
                                     const Divisor &divisor, Type element) {
  Type f64 = b.getF64Type();
  Value squares = RowSquaresOp::create(b, loc, matrix);
  Value sum = createGeneric(
      b, loc, {{squares, {0}}}, {{createZeros(b, loc, {}, f64), {}}}, "r",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, loc, v[1], v[0])};
      })[0];

  double eps = divisor.eps.convertToDouble();
  double factor = divisor.factor * (divisor.isRelative ? 1 + eps : 1);
  bool adds = !divisor.isRelative && eps != 0;
  Value empty =
      tensor::EmptyOp::create(b, loc, ArrayRef<OpFoldResult>{}, element);
  Value one = createF64(b, loc, 1), zero = createF64(b, loc, 0);
  return createGeneric(
      b, loc, {{sum, {}}}, {{empty, {}}}, "",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value norm = math::SqrtOp::create(b, loc, v[0]);
        if (factor != 1)
          norm = arith::MulFOp::create(b, loc, norm, createF64(b, loc, factor));
        if (adds)
          norm = arith::AddFOp::create(b, loc, norm, createF64(b, loc, eps));
        Value inverse = arith::DivFOp::create(b, loc, one, norm);
        if (!adds) {
          Value isZero = arith::CmpFOp::create(
              b, loc, arith::CmpFPredicate::OEQ, norm, zero);
          inverse = arith::SelectOp::create(b, loc, isZero, zero, inverse);
        }
        if (!element.isF64())
          inverse = arith::TruncFOp::create(b, loc, element, inverse);
        return {inverse};
      })[0];
}

Values NormalizeRowsOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value divisors =
      createDivisors(b, loc, createRowSquares(b, loc, getInput()), getEps());
  return createGeneric(
      b, loc, {{getInput(), {0, 1}}, {divisors, {0}}},
      {{geo::detail::createEmpty(b, loc, getInput()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {createQuotient(b, loc, v[0], v[1], getEps())};
      });
}

Values MaxRowOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value divisors =
      createDivisors(b, loc, createRowSquares(b, loc, getGradient()), getEps());
  // The quotient first: it is in [-1, 1] for every row that is finite, while
  // -r / (||g_i|| + eps) may overflow.
  Value factor = arith::NegFOp::create(b, loc, getRadius());
  return createGeneric(
      b, loc, {{getGradient(), {0, 1}}, {divisors, {0}}},
      {{geo::detail::createEmpty(b, loc, getGradient()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value quotient = createQuotient(b, loc, v[0], v[1], getEps());
        return {arith::MulFOp::create(b, loc, factor, quotient)};
      });
}

Values CommonBallOp::decomposeOperation(OpBuilder &b) {
  Value centered = CenterOp::create(b, getLoc(), getGradient());
  Value rows = MaxRowOp::create(b, getLoc(), getResult().getType(), centered,
                                getRadius(), getEpsAttr());
  return SmallVector<Value>{CenterOp::create(b, getLoc(), rows)};
}

//===----------------------------------------------------------------------===//
// From an increment to the weight
//===----------------------------------------------------------------------===//

std::optional<double> ShapeScaleOp::getFactor() {
  auto type = cast<RankedTensorType>(getWeight().getType());
  if (!type.hasStaticShape())
    return std::nullopt;
  double m = type.getDimSize(0), n = type.getDimSize(1);
  return llvm::StringSwitch<std::optional<double>>(getKind())
      .Case("original", std::sqrt(std::max(1.0, m / n)))
      .Case("original_columns", std::sqrt(std::max(1.0, n / m)))
      .Case("ratio", std::sqrt(m / n))
      .Case("match_rms_adamw", 0.2 * std::sqrt(std::max(m, n)))
      .Case("row_rms", std::sqrt(n))
      .Case("rms", std::sqrt(m * n))
      .Case("mean", 1 / n)
      .Default(std::nullopt);
}

/// The factor of an m x n matrix that is known at run time, in f64.
static Value createShapeFactor(OpBuilder &b, Location loc, StringRef kind,
                               Value m, Value n) {
  if (kind == "mean")
    return arith::DivFOp::create(b, loc, createF64(b, loc, 1), n);
  Value square = n; // row_rms
  if (kind == "original" || kind == "ratio")
    square = arith::DivFOp::create(b, loc, m, n);
  if (kind == "original_columns")
    square = arith::DivFOp::create(b, loc, n, m);
  if (kind == "original" || kind == "original_columns")
    square = arith::MaximumFOp::create(b, loc, createF64(b, loc, 1), square);
  if (kind == "match_rms_adamw")
    square = arith::MaximumFOp::create(b, loc, m, n);
  if (kind == "rms")
    square = arith::MulFOp::create(b, loc, m, n);
  Value root = math::SqrtOp::create(b, loc, square);
  if (kind == "match_rms_adamw")
    root = arith::MulFOp::create(b, loc, createF64(b, loc, 0.2), root);
  return root;
}

Values ShapeScaleOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  if (std::optional<double> factor = getFactor())
    return SmallVector<Value>{
        arith::MulFOp::create(b, loc, getRadius(), createF32(b, loc, *factor))};
  Value m = createSize(b, loc, getWeight(), 0);
  Value n = createSize(b, loc, getWeight(), 1);
  Value factor = createShapeFactor(b, loc, getKind(), m, n);
  Value rounded = arith::TruncFOp::create(b, loc, b.getF32Type(), factor);
  return SmallVector<Value>{
      arith::MulFOp::create(b, loc, getRadius(), rounded)};
}

Values AdamWOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  double beta1 = getBeta1().convertToDouble();
  double beta2 = getBeta2().convertToDouble();
  auto round = [&](Value x) -> Value {
    return arith::TruncFOp::create(b, loc, b.getF32Type(), x);
  };

  // -lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t), rounded once.
  Value lr = arith::ExtFOp::create(b, loc, b.getF64Type(), getLr());
  Value correction1 = createCorrection(b, loc, getBeta1(), getStep());
  Value correction2 = createCorrection(b, loc, getBeta2(), getStep());
  Value negated = arith::NegFOp::create(b, loc, lr);
  Value size = round(arith::DivFOp::create(b, loc, negated, correction1));
  Value root = math::SqrtOp::create(b, loc, correction2);
  Value inverse =
      round(arith::DivFOp::create(b, loc, createF64(b, loc, 1), root));

  Value keep1 = createF32(b, loc, beta1), take1 = createF32(b, loc, 1 - beta1);
  Value keep2 = createF32(b, loc, beta2), take2 = createF32(b, loc, 1 - beta2);
  Value eps = createF32(b, loc, getEps().convertToDouble());
  Value empty = geo::detail::createEmpty(b, loc, getGradient());
  return createElementwise(
      b, loc, {getGradient()}, {empty, getExpAvg(), getExpAvgSq()},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value g = v[0];
        Value taken = arith::MulFOp::create(b, loc, take1, g);
        Value m = createFma(b, loc, keep1, v[2], taken);
        Value scaled = arith::MulFOp::create(b, loc, take2, g);
        Value squared = arith::MulFOp::create(b, loc, scaled, g);
        Value s = createFma(b, loc, keep2, v[3], squared);
        Value norm = math::SqrtOp::create(b, loc, s);
        Value divisor = createFma(b, loc, norm, inverse, eps);
        Value quotient = arith::DivFOp::create(b, loc, m, divisor);
        return {arith::MulFOp::create(b, loc, size, quotient), m, s};
      });
}

Values ApplyOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value keep, one = createF32(b, loc, 1), zero = createF32(b, loc, 0);
  if (getLr()) {
    Value negated = arith::NegFOp::create(b, loc, getLr());
    keep = createFma(b, loc, negated, getWd(), one);
  }
  return createElementwise(
      b, loc, {getIncrement()}, {getWeight()},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        if (!keep)
          return {arith::AddFOp::create(b, loc, v[1], v[0])};
        if (!getCautious())
          return {createFma(b, loc, v[1], keep, v[0])};
        // The sign of the weight, not its product with s, which may vanish.
        Value sign = math::CopySignOp::create(b, loc, one, v[1]);
        Value along = arith::MulFOp::create(b, loc, sign, v[0]);
        Value moves = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                            along, zero);
        Value factor = arith::SelectOp::create(b, loc, moves, one, keep);
        return {createFma(b, loc, v[1], factor, v[0])};
      });
}
