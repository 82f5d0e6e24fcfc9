//===- Passes.h - passes of the block level ---------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_PASSES_H
#define STEEP_PASSES_BLOCK_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::block {
#define GEN_PASS_DECL
#include "passes/Block/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_PASSES_H
