//===- Passes.h - passes of the NVPTX level ---------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_NVPTX_PASSES_H
#define STEEP_PASSES_NVPTX_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::block {
#define GEN_PASS_DECL
#include "passes/NVPTX/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/NVPTX/Passes.h.inc"

/// Adds the upstream passes that take GPU kernels (llvm.func with scf, vector,
/// arith, math and nvvm inside) to the LLVM dialect alone. Registered for
/// steep-opt as the pipeline `block-lower-to-nvvm`.
void buildLowerToNVVM(OpPassManager &manager);
void registerLowerToNVVM();

} // namespace mlir::block

#endif // STEEP_PASSES_NVPTX_PASSES_H
