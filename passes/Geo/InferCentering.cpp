//===- InferCentering.cpp - leave out redundant projections ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Optim.h"
#include "passes/Geo/Centering.h"
#include "passes/Geo/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace mlir::geo {
#define GEN_PASS_DEF_INFERCENTERING
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

template <typename OpTy> static SmallVector<OpTy> collect(Operation *root) {
  SmallVector<OpTy> ops;
  root->walk([&](OpTy op) { ops.push_back(op); });
  return ops;
}

static remark::RemarkOpts getRemark(StringRef name, func::FuncOp function) {
  return remark::RemarkOpts::name(name)
      .category("geo-infer-centering")
      .function(function.getName());
}

/// What the oracles of the function promise, before they are taken apart.
static void remarkOnGeometries(func::FuncOp function) {
  function.walk([&](GeometryOpInterface op) {
    remark::analysis(op->getLoc(), getRemark("Geometry", function))
        << remark::add("{0} decreases <G, S> by up to radius * {1}",
                       op->getName().getStringRef(), op.getDualNorm());
  });
}

static void leaveOut(CenterOp op, StringRef why, func::FuncOp function,
                     IRRewriter &rewriter) {
  remark::passed(op.getLoc(), getRemark("ProjectionLeftOut", function))
      << remark::reason("{0}", why);
  rewriter.replaceOp(op, op.getInput());
}

namespace {
struct InferCentering : mlir::geo::impl::InferCenteringBase<InferCentering> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    remarkOnGeometries(function);
    IRRewriter rewriter(&getContext());
    for (CommonBallOp op : collect<CommonBallOp>(function)) {
      rewriter.setInsertionPoint(op);
      Value answer = op.decomposeOperation(rewriter)->front();
      // What is promised of it stays visible.
      if (Attribute guarantee = op->getAttr(GeoDialect::guaranteeAttrName))
        answer.getDefiningOp<CenterOp>().getInput().getDefiningOp()->setAttr(
            GeoDialect::guaranteeAttrName, guarantee);
      rewriter.replaceOp(op, answer);
    }

    // Centred operands first: a value replaced by its equal keeps what is
    // known of every other value.
    ColumnSums sums(function);
    function.walk([&](MeasureOpInterface op) {
      Value input = op.getCenteredInput();
      if (input && sums.areZero(input))
        op.assumeCentered();
    });
    for (CenterOp op : collect<CenterOp>(function))
      if (sums.areZero(op.getInput())) {
        leaveOut(op, "columns of its operand sum to zero", function, rewriter);
        ++numCentered;
      }

    // Then those that nobody sees. They change values, by a common row, so the
    // sums are not asked again, and the uses are looked at anew each time.
    for (CenterOp op : collect<CenterOp>(function))
      if (RowShifts(function).areUnseen(op.getResult())) {
        leaveOut(op, "nobody sees a common row of its result", function,
                 rewriter);
        ++numUnseen;
      }

    for (CenterOp op : collect<CenterOp>(function))
      remark::missed(op.getLoc(), getRemark("ProjectionKept", function))
          << remark::reason("no fact says that columns of its operand sum to "
                            "zero, or that a common row is not seen");
  }
};
} // namespace
