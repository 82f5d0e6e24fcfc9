//===- Config.h - the decisions about a kernel ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_CONFIG_H
#define STEEP_PASSES_BLOCK_CONFIG_H

#include "dialects/Block/Block.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::block {

/// What AMX multiplies in one instruction: 16 x 16 FP32 sums, 32 terms of BF16.
constexpr int64_t amxSizes[] = {16, 16, 32};
/// Four such parts of a result, two by two, are the sums that products on AMX
/// keep in its eight registers; two parts of each operand are the others. So
/// each load of an operand serves two instructions, and panels are as wide.
constexpr int64_t amxMicro = 32;

/// The #block.config of a kernel. Without one nothing was decided about it:
/// an error is reported, for no pass but block-select-config decides.
FailureOr<ConfigAttr> getConfig(func::FuncOp kernel);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_CONFIG_H
