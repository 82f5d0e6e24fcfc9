//===- SecondSolver.h - T(G) by another method ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_GEOMETRY_SECONDSOLVER_H
#define STEEP_TEST_UNIT_GEOMETRY_SECONDSOLVER_H

#include "runtime/Core/Tensor.h"

namespace steep::clouds {

struct Interval {
  double lower, upper;
};

/// Bounds of T(G) by the alternating direction method of multipliers over all
/// pairs: plain loops, O(V^2 d) memory, nothing shared with the oracle.
Interval solveByADMM(const Tensor &gradient, double tolerance,
                     int64_t mostIterations);

} // namespace steep::clouds

#endif // STEEP_TEST_UNIT_GEOMETRY_SECONDSOLVER_H
