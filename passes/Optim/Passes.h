//===- Passes.h - from a spec to bound functions ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_OPTIM_PASSES_H
#define STEEP_PASSES_OPTIM_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::optim {
#define GEN_PASS_DECL
#include "passes/Optim/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Optim/Passes.h.inc"
} // namespace mlir::optim

#endif // STEEP_PASSES_OPTIM_PASSES_H
