//===- Bufferize.cpp - block-bufferize ------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/Block/Cleanup.h"
#include "passes/Block/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::block {
#define GEN_PASS_DEF_BUFFERIZE
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

/// Removes what bufferisation leaves: casts, copies of a view to itself, loops
/// of one iteration. The whole canonicaliser would also inline a forall over
/// one block, which is the grid.
static LogicalResult cleanUp(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  RewritePatternSet patterns(context);
  memref::CastOp::getCanonicalizationPatterns(patterns, context);
  memref::CopyOp::getCanonicalizationPatterns(patterns, context);
  memref::SubViewOp::getCanonicalizationPatterns(patterns, context);
  affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
  affine::AffineMinOp::getCanonicalizationPatterns(patterns, context);
  scf::ForOp::getCanonicalizationPatterns(patterns, context);
  scf::IfOp::getCanonicalizationPatterns(patterns, context);
  return applyPatternsGreedily(func, std::move(patterns));
}

/// Memory of the stack was there before: bufferisation takes it from the heap.
static LogicalResult checkInPlace(func::FuncOp func) {
  WalkResult result = func.walk([](Operation *op) {
    if (isa<memref::AllocOp>(op))
      op->emitOpError("kernel needs a buffer of its own: it cannot be "
                      "bufferised in place");
    else if (isa<memref::CopyOp>(op))
      op->emitOpError("kernel needs a copy: it cannot be bufferised in place");
    else if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
      op->emitOpError("was not bufferised");
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct BufferizePass : block::impl::BufferizeBase<BufferizePass> {
  using Base::Base;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (!func->hasAttr(BlockDialect::kernelAttrName))
        continue;
      bufferization::OneShotBufferizationOptions options;
      bufferization::BufferizationState state;
      if (failed(bufferization::runOneShotBufferize(func, options, state)) ||
          failed(cleanUp(func)))
        return signalPassFailure();
      mergeEqual(func);
      if (failed(cleanUp(func)) || failed(checkInPlace(func)))
        return signalPassFailure();
    }
  }
};
} // namespace
