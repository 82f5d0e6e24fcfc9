//===- GeoAverages.cpp - momentum as a mixture of averages ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::geo;
using namespace mlir::geo::detail;

//===----------------------------------------------------------------------===//
// geo.switched_ema
//===----------------------------------------------------------------------===//

LogicalResult SwitchedEmaOp::verify() {
  if (failed(verifyBeta(*this, "beta", getBeta())) ||
      failed(verifyBeta(*this, "after", getAfter())))
    return failure();
  if (static_cast<int64_t>(getSwitchStep()) < 0)
    return emitOpError("expected switch_step to be at least 0, but got ")
           << static_cast<int64_t>(getSwitchStep());
  return success();
}

FailureOr<SmallVector<Value>> SwitchedEmaOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  double beta = getBeta().convertToDouble();
  double after = getAfter().convertToDouble();
  Value last = arith::ConstantOp::create(b, loc, getSwitchStepAttr());
  Value before =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, getStep(), last);
  // Both factors are those of geo.ema, so that its bits are.
  Value keep = arith::SelectOp::create(b, loc, before, createF32(b, loc, beta),
                                       createF32(b, loc, after));
  Value take =
      arith::SelectOp::create(b, loc, before, createF32(b, loc, 1 - beta),
                              createF32(b, loc, 1 - after));
  return createElementwise(
      b, loc, {getGradient()}, {getBuffer()},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value taken = arith::MulFOp::create(b, loc, take, v[0]);
        return {math::FmaOp::create(b, loc, keep, v[1], taken)};
      });
}

namespace {
/// an average that switches to its own rate -> geo.ema
struct DropSwitch : OpRewritePattern<SwitchedEmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SwitchedEmaOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBeta() != op.getAfter())
      return rewriter.notifyMatchFailure(op, "the rate changes");
    rewriter.replaceOpWithNewOp<EmaOp>(op, op.getType(), op.getBuffer(),
                                       op.getGradient(), op.getBetaAttr());
    return success();
  }
};
} // namespace

void SwitchedEmaOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add<DropSwitch>(context);
}

//===----------------------------------------------------------------------===//
// geo.mix
//===----------------------------------------------------------------------===//

ParseResult MixOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  OpAsmParser::UnresolvedOperand step;
  Type type;
  if (parser.parseOperandList(inputs))
    return failure();
  bool hasStep = succeeded(parser.parseOptionalKeyword("step"));
  if (hasStep && (parser.parseLParen() || parser.parseOperand(step) ||
                  parser.parseRParen()))
    return failure();
  if (parseSettings(parser, result.attributes, type, getOperationName()) ||
      parser.resolveOperands(inputs, type, result.operands) ||
      (hasStep && parser.resolveOperand(step, parser.getBuilder().getI64Type(),
                                        result.operands)))
    return failure();
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(inputs.size()), hasStep ? 1 : 0};
  result.addTypes(type);
  return success();
}

void MixOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getInputs();
  if (getStep())
    printer << " step(" << getStep() << ')';
  printSettings(printer, *this, getResult().getType());
}

static SmallVector<double> getNumbers(ArrayAttr list) {
  SmallVector<double> numbers;
  for (FloatAttr number : list.getAsRange<FloatAttr>())
    numbers.push_back(number.getValueAsDouble());
  return numbers;
}

/// Published tables have six digits.
static constexpr double sumTolerance = 1e-5;

static LogicalResult verifyWeights(MixOp op, StringRef name, ArrayAttr list) {
  SmallVector<double> weights = getNumbers(list);
  if (weights.size() != op.getInputs().size())
    return op.emitOpError("expected as many ")
           << name << " as matrices, " << op.getInputs().size() << ", but got "
           << weights.size();
  double sum = 0;
  for (double weight : weights) {
    if (!(weight >= 0 && weight <= 1))
      return op.emitOpError("expected ")
             << name << " in [0, 1], but got " << str(weight);
    sum += weight;
  }
  if (!(std::abs(sum - 1) <= sumTolerance))
    return op.emitOpError("expected ")
           << name << " to sum to 1, but they sum to " << str(sum);
  return success();
}

LogicalResult MixOp::verify() {
  if (getInputs().size() < 2)
    return emitOpError("expected at least two matrices to mix, but got ")
           << getInputs().size();
  for (Value input : getInputs())
    if (input.getType() != getType())
      return emitOpError("expected matrices of one type, ")
             << getType() << ", but got " << input.getType();
  if (failed(verifyWeights(*this, "weights", getWeights())))
    return failure();
  bool anneals = getEndWeights() && getStart() && getAnnealSteps();
  bool any = getEndWeights() || getStart() || getAnnealSteps() || getStep();
  if (any && !(anneals && getStep()))
    return emitOpError("expected step, end_weights, start and anneal_steps "
                       "together, or none of them");
  if (!any)
    return success();
  if (failed(verifyWeights(*this, "end_weights", *getEndWeights())))
    return failure();
  if (static_cast<int64_t>(*getStart()) < 0)
    return emitOpError("expected start to be at least 0, but got ")
           << static_cast<int64_t>(*getStart());
  if (static_cast<int64_t>(*getAnnealSteps()) < 1)
    return emitOpError("expected anneal_steps to be at least 1, but got ")
           << static_cast<int64_t>(*getAnnealSteps());
  return success();
}

/// How far the weights have moved: clamp((t - start) / anneal_steps, 0, 1).
static Value createProgress(OpBuilder &b, MixOp op) {
  Location loc = op.getLoc();
  Value start = arith::ConstantOp::create(b, loc, op.getStartAttr());
  Value passed = arith::SubIOp::create(b, loc, op.getStep(), start);
  Value steps = createF64(b, loc, static_cast<double>(*op.getAnnealSteps()));
  Value share = arith::DivFOp::create(
      b, loc, arith::SIToFPOp::create(b, loc, b.getF64Type(), passed), steps);
  Value atLeast =
      arith::MaximumFOp::create(b, loc, share, createF64(b, loc, 0));
  return arith::MinimumFOp::create(b, loc, atLeast, createF64(b, loc, 1));
}

/// The weights of all matrices but the last, in f32.
static SmallVector<Value> createWeights(OpBuilder &b, MixOp op) {
  Location loc = op.getLoc();
  SmallVector<double> first = getNumbers(op.getWeights());
  SmallVector<Value> weights;
  if (!op.getEndWeights()) {
    for (double weight : ArrayRef(first).drop_back())
      weights.push_back(createF32(b, loc, weight));
    return weights;
  }
  SmallVector<double> last = getNumbers(*op.getEndWeights());
  Value progress = createProgress(b, op);
  Value rest = arith::SubFOp::create(b, loc, createF64(b, loc, 1), progress);
  for (size_t k = 0; k + 1 < first.size(); ++k) {
    Value from =
        arith::MulFOp::create(b, loc, rest, createF64(b, loc, first[k]));
    Value to =
        arith::MulFOp::create(b, loc, progress, createF64(b, loc, last[k]));
    Value weight = arith::AddFOp::create(b, loc, from, to);
    weights.push_back(arith::TruncFOp::create(b, loc, b.getF32Type(), weight));
  }
  return weights;
}

FailureOr<SmallVector<Value>> MixOp::decomposeOperation(OpBuilder &b) {
  SmallVector<Value> weights = createWeights(b, *this);
  SmallVector<Value> inputs(getInputs());
  return createElementwise(
      b, getLoc(), inputs, {createEmpty(b, getLoc(), inputs[0])},
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value last = v[weights.size()], sum = last;
        for (auto [k, weight] : llvm::enumerate(weights)) {
          Value difference = arith::SubFOp::create(b, loc, v[k], last);
          sum = math::FmaOp::create(b, loc, weight, difference, sum);
        }
        return {sum};
      });
}

OpFoldResult MixOp::fold(FoldAdaptor) {
  // w X + (1 - w) X -> X
  if (llvm::all_equal(getInputs()))
    return getInputs().front();
  return {};
}

namespace {
/// weights that end where they start -> weights that stay
struct DropAnnealing : OpRewritePattern<MixOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MixOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getEndWeightsAttr() != op.getWeightsAttr())
      return rewriter.notifyMatchFailure(op, "the weights move, or stay as is");
    rewriter.replaceOpWithNewOp<MixOp>(
        op, op.getType(), op.getInputs(), Value(), op.getWeightsAttr(),
        ArrayAttr(), IntegerAttr(), IntegerAttr());
    return success();
  }
};
} // namespace

void MixOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<DropAnnealing>(context);
}
