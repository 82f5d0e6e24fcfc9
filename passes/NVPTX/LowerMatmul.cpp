//===- LowerMatmul.cpp - block-lower-matmul -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/Passes.h"
#include "passes/NVPTX/ThreadEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::block {
#define GEN_PASS_DEF_LOWERMATMUL
#include "passes/NVPTX/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

namespace {
struct LowerMatmulPass : block::impl::LowerMatmulBase<LowerMatmulPass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(BlockDialect::kernelAttrName)) {
        func.emitOpError("products are not lowered yet");
        return signalPassFailure();
      }
  }
};
} // namespace
