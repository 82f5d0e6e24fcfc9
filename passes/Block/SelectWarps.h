//===- SelectWarps.h - how kernels are executed on GPUs ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The half of block-select-config that decides for the target nvptx.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_SELECTWARPS_H
#define STEEP_PASSES_BLOCK_SELECTWARPS_H

#include "dialects/Block/Block.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::block {

/// Tile, warps and stages of a kernel with the matrix product `product`, a
/// contraction of static shape, in the precision `dot`.
ConfigAttr selectForWarpProduct(Operation *product, Dot dot);

/// Rows and warps of any other kernel, whose geometries are `linalg` ops.
ConfigAttr selectForWarps(func::FuncOp func);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_SELECTWARPS_H
