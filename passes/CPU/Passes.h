//===- Passes.h - passes of the CPU level -----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_CPU_PASSES_H
#define STEEP_PASSES_CPU_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::block {
#define GEN_PASS_DECL
#include "passes/CPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/CPU/Passes.h.inc"

/// Adds the upstream passes that take the output of block-to-cpu (scf, vector,
/// memref, arith, math in llvm.func) to the LLVM dialect. Registered for
/// steep-opt as the pipeline `block-lower-to-llvm`.
void buildLowerToLLVM(OpPassManager &manager);
void registerLowerToLLVM();

} // namespace mlir::block

#endif // STEEP_PASSES_CPU_PASSES_H
