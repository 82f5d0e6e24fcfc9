//===- ExpandSpectral.cpp - geo.spectral as its matrix products -----------===//
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
    SmallVector<SpectralOp> ops;
    getOperation().walk([&](SpectralOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (SpectralOp op : ops) {
      rewriter.setInsertionPoint(op);
      FailureOr<Value> increment = op.expand(rewriter, padTo);
      if (failed(increment)) {
        op.emitOpError("expected a static shape to be expanded, but got ")
            << op.getGradient().getType();
        return signalPassFailure();
      }
      rewriter.replaceOp(op, *increment);
    }
  }
};
} // namespace
