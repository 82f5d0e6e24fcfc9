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
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"
#include "lib/Schedules/Schedules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;

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

  Value build(const steep::schedules::Schedule &schedule) {
    Value x = createStart(createInverseNorm());
    for (const steep::schedules::Triple &triple : schedule)
      x = createStep(x, triple);
    return createIncrement(x);
  }

private:
  bool isPadded() const { return paddedBig != big || paddedSmall != small; }

  /// The axes of the gradient, where X has {0, 1}.
  Axes getAxes() const { return wide ? Axes{1, 0} : Axes{0, 1}; }

  Value createInverseNorm();
  Value createStart(Value inverse);
  Value createStep(Value x, const steep::schedules::Triple &triple);
  Value createIncrement(Value x);
  Value createProduct(Value left, Value right, bool transposeLeft);

  OpBuilder &b;
  SpectralOp op;
  Location loc;
  Type f32;
  bool wide;
  int64_t big, small, paddedBig, paddedSmall;
};

} // namespace

/// 1 / (||G||_F + eps) as a tensor<f32>; 0 where G and eps are zero.
Value Expansion::createInverseNorm() {
  Type f64 = b.getF64Type();
  Value squares = RowSquaresOp::create(b, loc, op.getGradient());
  Value sum = createGeneric(
      b, loc, {{squares, {0}}}, {{createZeros(b, loc, {}, f64), {}}}, "r",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, loc, v[1], v[0])};
      })[0];

  APFloat eps = op.getEps();
  Value added = createF64(b, loc, eps.convertToDouble());
  Value zero = createF64(b, loc, 0), one = createF64(b, loc, 1);
  Value empty = tensor::EmptyOp::create(b, loc, ArrayRef<OpFoldResult>{}, f32);
  return createGeneric(
      b, loc, {{sum, {}}}, {{empty, {}}}, "",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value norm = math::SqrtOp::create(b, loc, v[0]);
        if (!eps.isZero())
          norm = arith::AddFOp::create(b, loc, norm, added);
        Value inverse = arith::DivFOp::create(b, loc, one, norm);
        if (eps.isZero()) {
          Value isZero = arith::CmpFOp::create(
              b, loc, arith::CmpFPredicate::OEQ, norm, zero);
          inverse = arith::SelectOp::create(b, loc, isZero, zero, inverse);
        }
        return {arith::TruncFOp::create(b, loc, f32, inverse)};
      })[0];
}

/// The gradient over its norm, tall, in the upper left corner of X.
Value Expansion::createStart(Value inverse) {
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(big),
                                     b.getIndexAttr(small)};
  Value empty = tensor::EmptyOp::create(b, loc, sizes, f32);
  Value start = createGeneric(
      b, loc, {{op.getGradient(), getAxes()}, {inverse, {}}}, {{empty, {0, 1}}},
      "pp", [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, v[0], v[1])};
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

/// X <- a X + X (b A + c A^2) with A = X^T X.
Value Expansion::createStep(Value x, const steep::schedules::Triple &triple) {
  Value a = createF32(b, loc, triple.a), bb = createF32(b, loc, triple.b),
        c = createF32(b, loc, triple.c);
  Value gram = createProduct(x, x, /*transposeLeft=*/true);
  Value square = createProduct(gram, gram, /*transposeLeft=*/false);
  Value mixed = createGeneric(
      b, loc, {{gram, {0, 1}}, {square, {0, 1}}},
      {{createEmpty(b, loc, gram), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value second = arith::MulFOp::create(b, loc, c, v[1]);
        return {math::FmaOp::create(b, loc, bb, v[0], second)};
      })[0];
  Value product = createProduct(x, mixed, /*transposeLeft=*/false);
  return createGeneric(
      b, loc, {{x, {0, 1}}, {product, {0, 1}}},
      {{createEmpty(b, loc, x), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {math::FmaOp::create(b, loc, a, v[0], v[1])};
      })[0];
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

FailureOr<SmallVector<Value>> SpectralOp::expand(RewriterBase &rewriter,
                                                 int64_t padTo) {
  if (!cast<RankedTensorType>(getGradient().getType()).hasStaticShape())
    return failure();
  std::optional<steep::schedules::Schedule> schedule = getTriples();
  if (!schedule)
    return failure();
  return SmallVector<Value>{Expansion(rewriter, *this, padTo).build(*schedule)};
}

FailureOr<SmallVector<Value>> SpectralOp::decomposeOperation(OpBuilder &b) {
  IRRewriter rewriter(b);
  return expand(rewriter, /*padTo=*/1);
}
