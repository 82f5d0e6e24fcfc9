//===- Cleanup.h - what passes of the level do at their end -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_CLEANUP_H
#define STEEP_PASSES_BLOCK_CLEANUP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::block {

/// Erases ops whose results nobody uses, and what only they used.
void eraseDead(func::FuncOp func);

/// Makes equal ops one.
void mergeEqual(func::FuncOp func);

/// Takes ops that do not depend on a loop, and that `which` accepts, out of it.
/// Loops and branches stay where they are, so that the work of a block stays
/// in the grid; the canonicaliser's and upstream's hoisting would not leave it
/// there.
void hoistInvariant(func::FuncOp func,
                    llvm::function_ref<bool(Operation *)> which);

/// `geo` ops state their mathematics as `linalg` ops. Other aggregated ops
/// (linalg.softmax) are not ours to rewrite.
LogicalResult decomposeGeo(func::FuncOp func);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_CLEANUP_H
