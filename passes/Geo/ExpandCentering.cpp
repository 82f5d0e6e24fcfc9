//===- ExpandCentering.cpp - geo.center as means and a subtraction --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "passes/Geo/Passes.h"
#include "passes/Geo/Scaled.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::geo {
#define GEN_PASS_DEF_EXPANDCENTERING
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

/// A matrix that is made from another one, element by element, is not written
/// for the sums and read again after them, but made from that one twice. Sums
/// are of the numbers that the mean row is taken from, so rows that are nothing
/// but rounding errors, which a norm may have made large, cancel all the same.
static Value expand(CenterOp op, const Cone &cone, OpBuilder &b) {
  Location loc = op.getLoc();
  ArrayRef<geo::detail::Operand> inputs = cone.getInputs();
  Value rows = geo::detail::createSize(b, loc, op.getInput(), 0), mean;
  if (std::optional<Scaled> scaled = Scaled::find(cone, b)) {
    mean = createScaledMean(b, loc, cone, *scaled, rows);
  } else {
    Value sums = geo::detail::createColumnSums(
        b, loc, inputs,
        [&](OpBuilder &b, Location loc, ValueRange v, Value sum) -> Value {
          Value x =
              arith::ExtFOp::create(b, loc, b.getF64Type(), cone.emit(b, v));
          return arith::AddFOp::create(b, loc, sum, x);
        });
    mean = geo::detail::createMeanRow(b, loc, sums, rows);
  }
  SmallVector<geo::detail::Operand> operands(inputs);
  operands.push_back({mean, {1}});
  return geo::detail::createGeneric(
      b, loc, operands,
      {{geo::detail::createEmpty(b, loc, op.getInput()), {0, 1}}}, "pp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = cone.emit(b, v.take_front(inputs.size()));
        return {arith::SubFOp::create(b, loc, x, v[inputs.size()])};
      })[0];
}

namespace {
struct ExpandCentering : mlir::geo::impl::ExpandCenteringBase<ExpandCentering> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<CenterOp> ops;
    getOperation().walk([&](CenterOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (CenterOp op : ops) {
      Cone::decompose(op.getInput(), rewriter);
      rewriter.setInsertionPoint(op);
      Cone cone(op.getInput());
      if (cone.getInputs().front().value == op.getInput())
        rewriter.replaceOp(op, *op.decomposeOperation(rewriter));
      else
        rewriter.replaceOp(op, expand(op, cone, rewriter));
    }
    // What nobody reads any more.
    (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};
} // namespace
