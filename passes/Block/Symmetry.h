//===- Symmetry.h - products whose results are symmetric --------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_SYMMETRY_H
#define STEEP_PASSES_BLOCK_SYMMETRY_H

#include "mlir/IR/Operation.h"

namespace mlir::block {

/// Whether a product is marked as symmetric but for rounding. In a kernel, so is
/// then all that the kernel stores.
bool isSymmetricProduct(Operation *product);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_SYMMETRY_H
