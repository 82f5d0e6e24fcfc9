//===- Costs.h - bytes and operations of a kernel ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_COSTS_H
#define STEEP_LIB_TARGET_COSTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace steepc {

struct Cost {
  /// What a kernel takes from and gives to memory when its blocks fit the
  /// caches: every argument, or the fixed part of it that is touched, once for
  /// each direction in which it is moved.
  std::vector<double> argumentBytes;
  /// Floating-point operations of the compiled loops; a fused multiply-add is
  /// two. Padding that is computed counts too.
  double flops = 0;

  double bytes() const;
};

/// Counts a kernel at the block level, whose loops have known bounds.
Cost estimateCost(mlir::func::FuncOp kernel);

} // namespace steepc

#endif // STEEP_LIB_TARGET_COSTS_H
