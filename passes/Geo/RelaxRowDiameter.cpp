//===- RelaxRowDiameter.cpp - row diameters as common balls ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "lib/Schedules/RowDiameter.h"
#include "passes/Geo/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace mlir::geo {
#define GEN_PASS_DEF_RELAXROWDIAMETER
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

static LogicalResult check(RowDiameterOp op) {
  auto type = cast<RankedTensorType>(op.getGradient().getType());
  if (!type.hasStaticShape())
    return op.emitOpError("expected a static shape, on which the guarantee "
                          "depends, but got ")
           << type;
  return success();
}

/// The radius, or NaN where it has no answer: the ball itself would turn round.
static Value createChecked(RowDiameterOp op, OpBuilder &b) {
  Value radius = op.getRadius();
  Location loc = op.getLoc();
  if (matchPattern(radius, m_Constant()))
    return radius; // the verifier has seen it
  auto f32 = Float32Type::get(op.getContext());
  auto create = [&](APFloat value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(f32, value));
  };
  const llvm::fltSemantics &single = f32.getFloatSemantics();
  Value isLeast = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE,
                                        radius, create(APFloat(0.0f)));
  Value isFinite =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, radius,
                            create(APFloat::getLargest(single)));
  Value isRadius = arith::AndIOp::create(b, loc, isLeast, isFinite);
  return arith::SelectOp::create(b, loc, isRadius, radius,
                                 create(APFloat::getNaN(single)));
}

static void relax(RowDiameterOp op, func::FuncOp function,
                  RewriterBase &rewriter) {
  auto type = cast<RankedTensorType>(op.getGradient().getType());
  double ratio =
      steep::schedules::jungRatio(type.getDimSize(0), type.getDimSize(1));
  Attribute guarantee = rewriter.getF64FloatAttr(ratio);
  remark::analysis(op.getLoc(), remark::RemarkOpts::name("Relaxed")
                                    .category("geo-relax-row-diameter")
                                    .function(function.getName()))
      << remark::add("the row diameter is relaxed to the common ball, which "
                     "reaches at least {0} of the exact decrease",
                     ratio);
  rewriter.setInsertionPoint(op);
  auto ball = CommonBallOp::create(
      rewriter, op.getLoc(), type, op.getGradient(),
      createChecked(op, rewriter), rewriter.getF64FloatAttr(0));
  ball->setAttr(GeoDialect::guaranteeAttrName, guarantee);
  function->setAttr(GeoDialect::guaranteeAttrName, guarantee);
  rewriter.replaceAllUsesWith(op.getResult(), ball.getResult());
  if (!op.getLower().use_empty() || !op.getUpper().use_empty()) {
    auto bounds =
        MeasureTensionOp::create(rewriter, op.getLoc(), op.getGradient());
    rewriter.replaceAllUsesWith(op.getLower(), bounds.getLower());
    rewriter.replaceAllUsesWith(op.getUpper(), bounds.getUpper());
  }
  rewriter.eraseOp(op);
}

namespace {
struct RelaxRowDiameter
    : mlir::geo::impl::RelaxRowDiameterBase<RelaxRowDiameter> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<RowDiameterOp> ops;
    getOperation().walk([&](RowDiameterOp op) {
      if (op.isRelaxed())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (RowDiameterOp op : ops) {
      if (failed(check(op)))
        return signalPassFailure();
      relax(op, getOperation(), rewriter);
    }
  }
};
} // namespace
