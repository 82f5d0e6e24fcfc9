//===- Passes.h - passes of the geometry level ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_PASSES_H
#define STEEP_PASSES_GEO_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::geo {
#define GEN_PASS_DECL
#include "passes/Geo/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

#endif // STEEP_PASSES_GEO_PASSES_H
