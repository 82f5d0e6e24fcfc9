//===- Levels.h - what a pass of the lower levels may be given --*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_LEVELS_H
#define STEEP_PASSES_BLOCK_LEVELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::block {

/// Whether a function is an update on tensors: bound, or at the geometry level.
bool isUpdate(func::FuncOp func);

/// Fails, on the op in question, where `module` is still at the spec level; a
/// pass that then found nothing to do would look like one that succeeded.
/// Modules without a spec pass.
LogicalResult checkBound(ModuleOp module);

/// Fails also where an update is not yet kernels.
LogicalResult checkBlocks(ModuleOp module);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_LEVELS_H
