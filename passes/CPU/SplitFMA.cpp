//===- SplitFMA.cpp - block-split-fma -------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::block {
#define GEN_PASS_DEF_SPLITFMA
#include "passes/CPU/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;

namespace {
struct SplitFMAPass : block::impl::SplitFMABase<SplitFMAPass> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([&](math::FmaOp fma) {
      OpBuilder b(fma);
      Value product =
          arith::MulFOp::create(b, fma.getLoc(), fma.getA(), fma.getB());
      Value sum = arith::AddFOp::create(b, fma.getLoc(), product, fma.getC());
      fma.replaceAllUsesWith(sum);
      fma.erase();
      ++numSplit;
    });
  }
};
} // namespace
