//===- ExpandCentering.cpp - geo.center as means and a subtraction --------===//
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
#define GEN_PASS_DEF_EXPANDCENTERING
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

namespace {
struct ExpandCentering : mlir::geo::impl::ExpandCenteringBase<ExpandCentering> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<CenterOp> ops;
    getOperation().walk([&](CenterOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (CenterOp op : ops) {
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, *op.decomposeOperation(rewriter));
    }
  }
};
} // namespace
