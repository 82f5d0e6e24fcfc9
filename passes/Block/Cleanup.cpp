//===- Cleanup.cpp - what passes of the level do at their end -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Cleanup.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

void block::eraseDead(func::FuncOp func) {
  bool changed = true;
  while (changed) {
    changed = false;
    func.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (op != func && isOpTriviallyDead(op)) {
        op->erase();
        changed = true;
      }
    });
  }
}

void block::mergeEqual(func::FuncOp func) {
  IRRewriter rewriter(func.getContext());
  DominanceInfo dominance(func);
  eliminateCommonSubExpressions(rewriter, dominance, func);
}

void block::hoistInvariant(func::FuncOp func,
                           llvm::function_ref<bool(Operation *)> which) {
  func.walk([&](LoopLikeOpInterface loop) {
    moveLoopInvariantCode(
        loop.getLoopRegions(),
        [&](Value value, Region *) {
          return loop.isDefinedOutsideOfLoop(value);
        },
        [&](Operation *op, Region *) {
          return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
                 isSpeculatable(op) && which(op);
        },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  });
}

LogicalResult block::decomposeGeo(func::FuncOp func) {
  SmallVector<linalg::AggregatedOpInterface> ops;
  func.walk([&](linalg::AggregatedOpInterface op) {
    if (op->getDialect() && op->getDialect()->getNamespace() == "geo")
      ops.push_back(op);
  });
  IRRewriter rewriter(func.getContext());
  for (linalg::AggregatedOpInterface op : ops) {
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return op->emitOpError("cannot be decomposed into linalg ops");
    rewriter.replaceOp(op, *values);
  }
  return success();
}
