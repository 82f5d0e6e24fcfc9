//===- GeoFolds.cpp - algebra of the geo ops ------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Laws, each with its condition. They hold in exact arithmetic, for finite
// numbers; a rewritten program may round differently in the last place.
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::geo;

/// The value of a constant.
static std::optional<double> getConstant(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return number.convertToDouble();
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  // 1 X -> X
  if (getConstant(getFactor()) == 1.0)
    return getInput();
  return {};
}

OpFoldResult CorrectBiasOp::fold(FoldAdaptor) {
  // B / (1 - 0^t) -> B, since t >= 1
  if (getBeta().isZero())
    return getInput();
  return {};
}

OpFoldResult CenterOp::fold(FoldAdaptor) {
  // P P X -> P X
  if (getInput().getDefiningOp<CenterOp>())
    return getInput();
  // P S -> S, where the geometry's answer S is centred
  auto geometry = getInput().getDefiningOp<GeometryOpInterface>();
  if (geometry && geometry.hasCenteredResult())
    return getInput();
  return {};
}

OpFoldResult NormalizeRowsOp::fold(FoldAdaptor) {
  // RN RN X -> RN X, exact normalisation only
  auto inner = getInput().getDefiningOp<NormalizeRowsOp>();
  if (inner && inner.getEps().isZero() && getEps().isZero())
    return getInput();
  return {};
}

OpFoldResult ShapeScaleOp::fold(FoldAdaptor) {
  // s(m, n) = 1: r -> r
  std::optional<double> factor = getFactor();
  if (factor == 1.0)
    return getRadius();
  return {};
}

//===----------------------------------------------------------------------===//
// Positive factors before homogeneous maps
//===----------------------------------------------------------------------===//

/// A matrix c X of which only c > 0 is known, or c itself.
struct PositiveMultiple {
  Value matrix;
  std::optional<double> factor;
};

static std::optional<PositiveMultiple> getPositiveMultiple(Value value) {
  if (auto scale = value.getDefiningOp<ScaleOp>()) {
    std::optional<double> factor = getConstant(scale.getFactor());
    if (factor && *factor > 0 && std::isfinite(*factor))
      return PositiveMultiple{scale.getInput(), factor};
  }
  // 1 / (1 - beta^t) > 0, since 0 <= beta < 1 and t >= 1
  if (auto correct = value.getDefiningOp<CorrectBiasOp>())
    return PositiveMultiple{correct.getInput(), std::nullopt};
  return std::nullopt;
}

/// The eps that makes `||X|| + eps'` the same divisor up to c as
/// `||c X|| + eps`: eps / c. Nothing if c is unknown, or eps leaves f32
/// or what verifies.
static std::optional<APFloat> getEpsWithout(PositiveMultiple multiple,
                                            APFloat eps) {
  if (!multiple.factor)
    return std::nullopt;
  double divided = eps.convertToDouble() / *multiple.factor;
  if (!std::isnormal(static_cast<float>(divided)) ||
      divided >= geo::detail::epsBound)
    return std::nullopt;
  return APFloat(divided);
}

/// map_eps(c X) -> map_(eps/c)(X) for c > 0, and map(c X) -> map(X) where the
/// map is homogeneous of degree 0.
static LogicalResult dropPositiveFactor(Operation *op, OpOperand &input,
                                        bool homogeneous, APFloat eps,
                                        function_ref<void(APFloat)> setEps,
                                        PatternRewriter &rewriter) {
  std::optional<PositiveMultiple> multiple = getPositiveMultiple(input.get());
  if (!multiple)
    return rewriter.notifyMatchFailure(op, "no positive factor before it");
  std::optional<APFloat> newEps =
      homogeneous ? eps : getEpsWithout(*multiple, eps);
  if (!newEps)
    return rewriter.notifyMatchFailure(op, "eps cannot take the factor");
  rewriter.modifyOpInPlace(op, [&] {
    input.set(multiple->matrix);
    setEps(*newEps);
  });
  return success();
}

namespace {

struct DropFactorBeforeGeometry
    : OpInterfaceRewritePattern<GeometryOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(GeometryOpInterface op,
                                PatternRewriter &rewriter) const override {
    return dropPositiveFactor(
        op, op.getGradientMutable(), op.isHomogeneous(), op.getEps(),
        [&](APFloat eps) { op.setEps(eps); }, rewriter);
  }
};

struct DropFactorBeforeNormalizeRows : OpRewritePattern<NormalizeRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NormalizeRowsOp op,
                                PatternRewriter &rewriter) const override {
    return dropPositiveFactor(
        op, op.getInputMutable(), op.getEps().isZero(), op.getEps(),
        [&](APFloat eps) { op.setEps(eps); }, rewriter);
  }
};

/// LMO(P G) -> LMO(G), where the geometry is blind to common row shifts
struct DropCenterBeforeBlindGeometry
    : OpInterfaceRewritePattern<GeometryOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(GeometryOpInterface op,
                                PatternRewriter &rewriter) const override {
    auto center = op.getGradient().getDefiningOp<CenterOp>();
    if (!center || !op.isBlindToRowShifts())
      return rewriter.notifyMatchFailure(op, "not a blind one after a centre");
    rewriter.modifyOpInPlace(
        op, [&] { op.getGradientMutable().set(center.getInput()); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// d (c X) -> (c d) X
struct MergeScales : OpRewritePattern<ScaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScaleOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<ScaleOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "not a scale of a scale");
    Value factor = arith::MulFOp::create(rewriter, op.getLoc(),
                                         inner.getFactor(), op.getFactor());
    rewriter.replaceOpWithNewOp<ScaleOp>(op, inner.getInput(), factor);
    return success();
  }
};

/// r s(m, n) -> r * constant, on static shapes
struct ResolveShapeScale : OpRewritePattern<ShapeScaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShapeScaleOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> factor = op.getFactor();
    if (!factor)
      return rewriter.notifyMatchFailure(op, "the shape is dynamic");
    Value constant = geo::detail::createF32(rewriter, op.getLoc(), *factor);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, op.getRadius(), constant);
    return success();
  }
};

/// U (1 - lr 0) + S -> U + S
struct DropZeroDecay : OpRewritePattern<ApplyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ApplyOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getWd() || getConstant(op.getWd()) != 0.0)
      return rewriter.notifyMatchFailure(op, "there may be decay");
    rewriter.replaceOpWithNewOp<ApplyOp>(op, op.getWeight(), op.getIncrement(),
                                         Value(), Value(), /*cautious=*/false);
    return success();
  }
};

} // namespace

void ScaleOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<MergeScales>(context);
}

void NormalizeRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<DropFactorBeforeNormalizeRows>(context);
}

void ShapeScaleOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<ResolveShapeScale>(context);
}

void ApplyOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<DropZeroDecay>(context);
}

void GeoDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<DropFactorBeforeGeometry, DropCenterBeforeBlindGeometry>(
      getContext());
}
