//===- ConvertGeoToLinalg.cpp - every geo op in terms of linalg -----------===//
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
#define GEN_PASS_DEF_CONVERTGEOTOLINALG
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

/// The geo ops of a function; other dialects' aggregated ops are not ours.
static SmallVector<linalg::AggregatedOpInterface> collect(Operation *root) {
  SmallVector<linalg::AggregatedOpInterface> ops;
  root->walk([&](linalg::AggregatedOpInterface op) {
    if (isa<GeoDialect>(op->getDialect()))
      ops.push_back(op);
  });
  return ops;
}

namespace {
struct ConvertGeoToLinalg
    : mlir::geo::impl::ConvertGeoToLinalgBase<ConvertGeoToLinalg> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    // Some ops become simpler geo ops first.
    for (auto ops = collect(getOperation()); !ops.empty();
         ops = collect(getOperation()))
      for (linalg::AggregatedOpInterface op : ops) {
        rewriter.setInsertionPoint(op);
        FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
        if (failed(values)) {
          op->emitOpError("cannot be written in linalg: expected a static "
                          "shape, but got ")
              << op->getOperand(0).getType();
          return signalPassFailure();
        }
        rewriter.replaceOp(op, *values);
      }
  }
};
} // namespace
