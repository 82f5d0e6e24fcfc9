//===- StepQuality.h - a step against the exact oracle ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_STEPQUALITY_H
#define STEEP_RUNTIME_GEOMETRY_STEPQUALITY_H

#include "runtime/Core/Tensor.h"

#include <optional>

namespace steep {

class ThreadPool;

/// How an increment S compares with the steepest one of its row diameter.
struct StepQuality {
  /// -<P C, S>, C being what the oracle was fed (a positive factor aside).
  double decrease = 0;
  /// What projected RowNorm reaches at least of the optimum for C, in O(V d).
  double certificate = 1;
  /// 1 - decrease / (D(S) T), T a certified upper bound of T(C): S lacks no
  /// more of the optimum than this part. Nothing where the exact oracle does
  /// not serve the size; 0 where S and the optimum are zero.
  std::optional<double> gap;
};

/// Throws Error unless both are matrices of one shape. The bound comes from the
/// runtime's oracle, so that a compiled step is judged by another computation.
StepQuality stepQuality(const Tensor &direction, const Tensor &s,
                        ThreadPool *pool = nullptr);

/// -<G, S> in FP64: what a step S takes off a loss with gradient G, to first
/// order.
double firstOrderDecrease(const Tensor &gradient, const Tensor &s);

} // namespace steep

#endif // STEEP_RUNTIME_GEOMETRY_STEPQUALITY_H
