//===- ExpandSpectral.cpp - geometries as their matrix products -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "passes/Geo/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::geo {
#define GEN_PASS_DEF_EXPANDSPECTRAL
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

static SmallVector<ExpandOpInterface> collect(Operation *root) {
  SmallVector<ExpandOpInterface> ops;
  root->walk([&](ExpandOpInterface op) { ops.push_back(op); });
  return ops;
}

namespace {
struct ExpandSpectral : mlir::geo::impl::ExpandSpectralBase<ExpandSpectral> {
  using Base::Base;

  void runOnOperation() override {
    if (padTo < 1) {
      getOperation().emitError("expected option pad-to of geo-expand-spectral "
                               "to be at least 1, but got ")
          << padTo.getValue();
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    // An expansion may hold ops that are expanded in turn.
    for (auto ops = collect(getOperation()); !ops.empty();
         ops = collect(getOperation()))
      for (ExpandOpInterface op : ops) {
        rewriter.setInsertionPoint(op);
        FailureOr<SmallVector<Value>> values = op.expand(rewriter, padTo);
        if (failed(values)) {
          op->emitOpError("expected a static shape to be expanded, but got ")
              << op->getOperand(0).getType();
          return signalPassFailure();
        }
        rewriter.replaceOp(op, *values);
      }
  }
};
} // namespace
