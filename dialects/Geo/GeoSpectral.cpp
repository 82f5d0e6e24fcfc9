//===- GeoSpectral.cpp - Newton-Schulz in terms of linalg -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The iterate X is kept tall, B x S, so that every product reads contiguous
// rows of its right operand: with A = X^T X the step is X (a I + b A + c A^2),
// which is the transpose of the wide form. Sides may be rounded up: zero rows
// and columns stay zero under an odd polynomial, so padding is exact.
//
// The Gram form keeps Q as q I + N, with q the product of the a's: N <- N Z +
// (q Z + a N) needs neither an identity matrix nor a diagonal, and with
// N = 0 the first step is free.
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"
#include "lib/Schedules/Schedules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;
using namespace steep::schedules;

namespace {

/// Builds the expansion of one op.
class Expansion {
public:
  Expansion(OpBuilder &b, SpectralOp op, int64_t padTo)
      : b(b), op(op), loc(op.getLoc()), f32(b.getF32Type()) {
    auto shape = cast<RankedTensorType>(op.getGradient().getType()).getShape();
    wide = shape[0] < shape[1];
    big = std::max(shape[0], shape[1]);
    small = std::min(shape[0], shape[1]);
    paddedBig = llvm::alignTo(big, padTo);
    paddedSmall = llvm::alignTo(small, padTo);
  }

  Value build(ArrayRef<Triple> schedule) {
    Value x = createStart();
    if (op.getChosenForm() == Form::standard) {
      for (const Triple &triple : schedule)
        x = createStep(x, triple);
      return createIncrement(x);
    }
    Restarts ends = op.getAllRestarts();
    ends.push_back(int64_t(schedule.size()));
    int64_t begin = 0;
    for (int64_t end : ends) {
      x = createGramSteps(x, schedule.slice(begin, end - begin));
      begin = end;
    }
    return createIncrement(x);
  }

private:
  bool isPadded() const { return paddedBig != big || paddedSmall != small; }

  /// The axes of the gradient, where X has {0, 1}.
  Axes getAxes() const { return wide ? Axes{1, 0} : Axes{0, 1}; }

  Value createStart();
  Value createStep(Value x, const Triple &triple);
  Value createGramSteps(Value x, ArrayRef<Triple> triples);
  Value createIncrement(Value x);
  Value createMix(Value gram, Value square, const Triple &triple);
  Value createFma(double a, Value x, Value y);
  Value createProduct(Value left, Value right, bool transposeLeft = false);
  Value createSymmetric(Value left, Value right, bool transposeLeft = false);

  OpBuilder &b;
  SpectralOp op;
  Location loc;
  Type f32;
  bool wide;
  int64_t big, small, paddedBig, paddedSmall;
};

} // namespace

/// The gradient over its norm, tall, in the upper left corner of X. Where no
/// eps keeps the inverse norm within f32, quotients are formed in f64, whose
/// range is what rescaling by a power of two would give f32.
Value Expansion::createStart() {
  bool isFree = op.getNormalization() == "scale_free";
  bool isWide = isFree || !hasInverse(op.getEps());
  Divisor divisor{1, op.getEps(), isFree};
  if (op.getNormalization() == "safety")
    divisor.factor = op.getSafety()->convertToDouble();
  Type f64 = b.getF64Type();
  Value inverse =
      createInverseNorm(b, loc, op.getGradient(), divisor, isWide ? f64 : f32);

  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(big),
                                     b.getIndexAttr(small)};
  Value empty = tensor::EmptyOp::create(b, loc, sizes, f32);
  Value start = createGeneric(
      b, loc, {{op.getGradient(), getAxes()}, {inverse, {}}}, {{empty, {0, 1}}},
      "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        if (!isWide)
          return {arith::MulFOp::create(b, loc, v[0], v[1])};
        Value wide = arith::ExtFOp::create(b, loc, f64, v[0]);
        Value quotient = arith::MulFOp::create(b, loc, wide, v[1]);
        return {arith::TruncFOp::create(b, loc, f32, quotient)};
      })[0];
  if (!isPadded())
    return start;
  SmallVector<OpFoldResult> padded = {b.getIndexAttr(paddedBig),
                                      b.getIndexAttr(paddedSmall)};
  SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  return tensor::InsertSliceOp::create(
      b, loc, start, createZeros(b, loc, padded, f32), offsets, sizes, strides);
}

/// left * right or left^T * right, accumulated onto zeros.
Value Expansion::createProduct(Value left, Value right, bool transposeLeft) {
  auto leftType = cast<RankedTensorType>(left.getType());
  auto rightType = cast<RankedTensorType>(right.getType());
  SmallVector<OpFoldResult> sizes = {
      b.getIndexAttr(leftType.getDimSize(transposeLeft ? 1 : 0)),
      b.getIndexAttr(rightType.getDimSize(1))};
  Value zeros = createZeros(b, loc, sizes, f32);
  linalg::MatmulOp product;
  if (transposeLeft)
    product = linalg::MatmulTransposeAOp::create(
        b, loc, zeros.getType(), ValueRange{left, right}, ValueRange{zeros});
  else
    product = linalg::MatmulOp::create(
        b, loc, zeros.getType(), ValueRange{left, right}, ValueRange{zeros});
  if (op.getDot() != Dot::ieee)
    product->setAttr(GeoDialect::dotAttrName, op.getDotAttr());
  return product.getResult(0);
}

/// The same, of which the expansion knows that the result is symmetric.
Value Expansion::createSymmetric(Value left, Value right, bool transposeLeft) {
  Value product = createProduct(left, right, transposeLeft);
  product.getDefiningOp()->setAttr(GeoDialect::symmetricAttrName,
                                   b.getUnitAttr());
  return product;
}

/// b A + c A^2.
Value Expansion::createMix(Value gram, Value square, const Triple &triple) {
  Value bb = createF32(b, loc, triple.b), c = createF32(b, loc, triple.c);
  return createGeneric(
      b, loc, {{gram, {0, 1}}, {square, {0, 1}}},
      {{createEmpty(b, loc, gram), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value second = arith::MulFOp::create(b, loc, c, v[1]);
        return {math::FmaOp::create(b, loc, bb, v[0], second)};
      })[0];
}

/// a x + y.
Value Expansion::createFma(double a, Value x, Value y) {
  Value factor = createF32(b, loc, a);
  return createGeneric(
      b, loc, {{x, {0, 1}}, {y, {0, 1}}}, {{createEmpty(b, loc, x), {0, 1}}},
      "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {math::FmaOp::create(b, loc, factor, v[0], v[1])};
      })[0];
}

/// X <- a X + X (b A + c A^2) with A = X^T X.
Value Expansion::createStep(Value x, const Triple &triple) {
  Value gram = createSymmetric(x, x, /*transposeLeft=*/true);
  Value square = createSymmetric(gram, gram);
  Value mixed = createMix(gram, square, triple);
  Value product = createProduct(x, mixed);
  return createFma(triple.a, x, product);
}

/// Several steps at once: X <- X Q, with Q from R = X^T X alone. Everything on
/// the way is a polynomial of R, so all of it is symmetric and commutes.
Value Expansion::createGramSteps(Value x, ArrayRef<Triple> triples) {
  Value gram = createSymmetric(x, x, /*transposeLeft=*/true);
  double q = 1; // Q = q I + rest, nothing at first
  Value rest;
  for (const Triple &triple : triples) {
    Value square = createSymmetric(gram, gram);
    Value mixed = createMix(gram, square, triple);
    // Q <- Q (a I + Z)
    if (rest) {
      Value product = createSymmetric(rest, mixed);
      rest = createFma(triple.a, rest, createFma(q, mixed, product));
    } else {
      rest = mixed;
    }
    q *= triple.a;
    if (&triple == &triples.back())
      break;
    // R <- (a I + Z) R (a I + Z), all of which commute
    Value half = createFma(triple.a, gram, createSymmetric(gram, mixed));
    gram = createFma(triple.a, half, createSymmetric(mixed, half));
  }
  return createFma(q, x, createProduct(x, rest));
}

/// -r X, as the gradient lies.
Value Expansion::createIncrement(Value x) {
  if (isPadded()) {
    SmallVector<OpFoldResult> sizes = {b.getIndexAttr(big),
                                       b.getIndexAttr(small)};
    SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
    x = tensor::ExtractSliceOp::create(b, loc, x, offsets, sizes, strides);
  }
  Value factor = arith::NegFOp::create(b, loc, op.getRadius());
  return createGeneric(
      b, loc, {{x, getAxes()}},
      {{createEmpty(b, loc, op.getGradient()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, factor, v[0])};
      })[0];
}

/// Says where the schedule takes singular values, and in which form.
static void remarkOnSchedule(SpectralOp op, const Schedule &schedule) {
  Band band = getBand(schedule, 0.01, 1);
  std::string text = "singular values in [0.01, 1] go to [" + str(band.low) +
                     ", " + str(band.high) + "], ";
  if (op.getChosenForm() == Form::standard) {
    text += "standard form";
  } else {
    text += "Gram form";
    const char *join = ", restarts after step ";
    for (int64_t step : op.getAllRestarts()) {
      text += join + std::to_string(step);
      join = ", ";
    }
  }
  auto function = op->getParentOfType<FunctionOpInterface>();
  remark::analysis(op.getLoc(),
                   remark::RemarkOpts::name("Schedule")
                       .category("geo-expand-spectral")
                       .function(function ? function.getName() : ""))
      << remark::add("{0}", text);
}

FailureOr<SmallVector<Value>> SpectralOp::expand(RewriterBase &rewriter,
                                                 int64_t padTo) {
  if (!cast<RankedTensorType>(getGradient().getType()).hasStaticShape())
    return failure();
  std::optional<Schedule> schedule = getTriples();
  if (!schedule)
    return failure();
  remarkOnSchedule(*this, *schedule);
  return SmallVector<Value>{Expansion(rewriter, *this, padTo).build(*schedule)};
}

FailureOr<SmallVector<Value>> SpectralOp::decomposeOperation(OpBuilder &b) {
  IRRewriter rewriter(b);
  return expand(rewriter, /*padTo=*/1);
}
