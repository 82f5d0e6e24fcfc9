//===- VerifyBound.cpp - is a module at the bound level? ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Optim.h"
#include "passes/Optim/Passes.h"

namespace mlir::optim {
#define GEN_PASS_DEF_VERIFYBOUND
#include "passes/Optim/Passes.h.inc"
} // namespace mlir::optim

using namespace mlir;
using namespace mlir::optim;

namespace {
struct VerifyBoundPass : optim::impl::VerifyBoundBase<VerifyBoundPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (!isa<GroupOp, RuleOp>(op))
        return WalkResult::advance();
      op->emitOpError("is not bound to parameters: expected a module at the "
                      "bound level or below, as --steep-spec-to-bound gives "
                      "it");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
