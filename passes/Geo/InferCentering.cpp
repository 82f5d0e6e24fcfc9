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

namespace {
struct InferCentering : mlir::geo::impl::InferCenteringBase<InferCentering> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    IRRewriter rewriter(&getContext());
    for (CommonBallOp op : collect<CommonBallOp>(function)) {
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, *op.decomposeOperation(rewriter));
    }

    // Centred operands first: a value replaced by its equal keeps what is
    // known of every other value.
    ColumnSums sums(function);
    for (CenterOp op : collect<CenterOp>(function))
      if (sums.areZero(op.getInput())) {
        rewriter.replaceOp(op, op.getInput());
        ++numCentered;
      }

    // Then those that nobody sees. They change values, by a common row, so the
    // sums are not asked again, and the uses are looked at anew each time.
    for (CenterOp op : collect<CenterOp>(function))
      if (RowShifts(function).areUnseen(op.getResult())) {
        rewriter.replaceOp(op, op.getInput());
        ++numUnseen;
      }
  }
};
} // namespace
