//===- Certificate.h - how good a step is at least --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Let n_i = ||(P G)_i||, u_i = (P G)_i / n_i, N = sum n_i. The flow
// y_ij = (n_i n_j / N)(u_i - u_j) balances P G, so that
//
//   T(G) <= F = (1/N) sum_{i<j} n_i n_j ||u_i - u_j||
//        <= (N/sqrt 2) sqrt(1 - sum (n_i/N)^2)            (Cauchy-Schwarz),
//
// while projected RowNorm (arXiv:2608.22253) decreases by N/2 at eta = 1. Hence
// for this very gradient it reaches at least
//
//   N/(2 F) >= 1/sqrt(2 (1 - 1/V_eff)),   V_eff = N^2 / sum n_i^2,
//
// of the exact row-diameter oracle's decrease: exact normalisation (eps = 0) of
// the centred gradient is meant.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_CERTIFICATE_H
#define STEEP_RUNTIME_GEOMETRY_CERTIFICATE_H

#include "runtime/Core/Tensor.h"

namespace steep {

class ThreadPool;

/// How far a gradient is from having zero column sums.
struct ColumnSums {
  double norm = 0;   ///< ||1^T G||
  double defect = 0; ///< that over sum_i ||g_i||; 0 for a zero gradient
};
ColumnSums columnSums(const Tensor &gradient);

/// A gradient whose column defect is larger is not centred to rounding in FP32.
constexpr double mostColumnDefect = 1e-3;

struct Certificate {
  /// V_eff of the centred rows, rounded up: between 2 and V; 0 where the
  /// centred gradient is zero.
  double effectiveRows = 0;
  /// 1/sqrt(2 (1 - 1/V_eff)), rounded down; 1 for a zero gradient. NaN where
  /// it is refused.
  double ratio = 1;
  ColumnSums sums;
};

/// The certificate in O(V d). With `takenAsCentered` it is that of a step which
/// left out the centring because a fact said that the column sums are zero: it
/// is refused (NaN) where their defect exceeds mostColumnDefect, since such a
/// step is not projected RowNorm.
Certificate rowNormCertificate(const Tensor &gradient,
                               bool takenAsCentered = false);

struct FlowBound {
  double upper = 0; ///< F, an upper bound of T(G) at eta = 1
  double ratio = 1; ///< N/(2 F), rounded down
};

/// The sharper certificate: one sweep over all pairs of rows, in FP64.
FlowBound rowNormFlowBound(const Tensor &gradient, ThreadPool *pool = nullptr);

/// Bounds of the covering radius rad(S) = min_c max_i ||s_i - c||.
struct CoveringRadius {
  double lower = 0, upper = 0;
};

/// By Frank-Wolfe steps on the dual of the smallest ball, until the bounds are
/// within `tolerance` of each other or `mostSteps` are done, O(V d) a step; and
/// by the diameter: D(S)/2 <= lower and upper <= sqrt(k/(2 (k+1))) D(S) with
/// k = min(V - 1, d) (Jung's theorem).
CoveringRadius coveringRadius(const Tensor &s, double tolerance = 1e-3,
                              int64_t mostSteps = 2000,
                              ThreadPool *pool = nullptr);

/// ||G||_* for every ball that has a closed form: the decrease of its oracle at
/// radius 1. NaN where an entry is not finite.
struct DualNorms {
  double nuclear = 0;    ///< spectral ball: sum of singular values
  double commonBall = 0; ///< sum_i ||(P G)_i||
  double maxRow = 0;     ///< sum_i ||g_i||
  double maxColumn = 0;  ///< sum_j ||G_:j||
  double sign = 0;       ///< sum |g_ij|
  double frobenius = 0;  ///< ||G||_F
};
DualNorms dualNorms(const Tensor &gradient);

} // namespace steep

#endif // STEEP_RUNTIME_GEOMETRY_CERTIFICATE_H
