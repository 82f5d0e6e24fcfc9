//===- Core.h - the row-diameter oracle without a runtime -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The row-diameter oracle (arXiv:2608.22253): for a gradient G [V, d],
//
//   minimise <G, S>  over  S with  D(S) = max_{i<j} ||s_i - s_j|| <= eta,
//                                  1^T S = 0;
//
// the minimum is -eta T(G), where T(G) is the least tension of a flow that
// balances the centred G:
//
//   T(G) = min sum_{i<j} ||y_ij||  over  y_ij = -y_ji, sum_j y_ij = g_i.
//
// One source serves the runtime and the compiled step. So the core throws
// nothing, allocates nothing (the caller hands over an arena, whose size a
// function gives), calls nothing but sqrt and memory functions, and knows
// neither tensors nor threads. It is compiled once for every level of the
// instruction set, into a namespace of its own: STEEP_ORACLE_ISA.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_CORE_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_CORE_H

#include <stdint.h>

namespace steep::oracle {

/// What the exact solver serves: dense factors of V x V, and O(V d) besides.
constexpr int64_t maxExactRows = 4096;
constexpr int64_t maxExactColumns = 4096;
/// What the repairs serve; they are quadratic in time, not in memory.
constexpr int64_t maxRepairRows = int64_t(1) << 22;
constexpr int64_t maxRepairColumns = int64_t(1) << 16;

enum class Form : int64_t {
  Exact = 0,  ///< cutting planes and primal-dual Newton steps
  Repair = 1, ///< rows pushed out, then pairs that are too long repaired
};

enum class Status : int64_t {
  Converged = 0,  ///< the certified gap is within the tolerance
  StepLimit = 1,  ///< feasible and certified, but the gap is larger
  Stalled = 2,    ///< the same; rounding lets no step make it smaller
  TooLarge = 3,   ///< more rows or columns than the form serves
  ArenaSmall = 4, ///< fewer bytes than arenaBytes() says
  NonFinite = 5,  ///< an entry of G is not finite
  BadOption = 6,  ///< a tolerance, limit or radius makes no sense
};

/// Whether S was written.
constexpr bool hasAnswer(Status status) { return status < Status::TooLarge; }

struct Options {
  Form form = Form::Exact;
  /// Relative gap (upper - lower) / upper to reach; exact only.
  double tolerance = 1e-6;
  /// Newton steps, or full repairs, at most.
  int64_t maxSteps = 200;
};

/// What is known of T(G) after a call; eta = 1 throughout.
struct Report {
  Status status = Status::BadOption;
  /// lower <= T(G) <= upper, both certified by what was computed in FP64: the
  /// lower value by an X with D(X) <= 1, the upper value by a balanced flow.
  double lower = 0, upper = 0;
  /// (upper - lower) / upper; 0 where G is constant.
  double gap = 0;
  /// -<G, S> / eta of the S that was written, for the stored FP32 values.
  double decrease = 0;
  /// D(S) of the stored values, in FP64, an upper bound; at most eta.
  double diameter = 0;
  /// Decrease of projected RowNorm at eta = 1: (1/2) sum_i ||(P G)_i||.
  double rowNorm = 0;
  /// Newton steps or repairs, products with the Hessian, pairs at the end.
  int64_t steps = 0, products = 0, edges = 0;
  /// Rows and columns after the presolve.
  int64_t rows = 0, columns = 0;
};

/// Called after every step with the report so far; for tests and logs.
using Observer = void (*)(const Report &soFar, void *context);

/// A gradient, a place for S, and what to do.
struct Problem {
  int64_t rows = 0, columns = 0;
  const float *single = nullptr; ///< G, or
  const double *wide = nullptr;  ///< G in FP64
  float *update = nullptr;       ///< S; may be null
  double *wideUpdate = nullptr;  ///< -eta X in FP64; may be null
  double eta = 1;                ///< D(S) <= eta
  Options options;
  void *arena = nullptr; ///< 64-byte aligned
  int64_t arenaBytes = 0;
  Observer observer = nullptr;
  void *context = nullptr;
};

/// Bytes that solve() needs: O(V^2 + V d) for exact, O(V d) for repair; -1
/// where the form does not serve the size.
///
/// The same code stands here for three levels of the instruction set; callers
/// choose one that the CPU has.
namespace baseline {
int64_t arenaBytes(Form form, int64_t rows, int64_t columns);
Report solve(const Problem &problem);
} // namespace baseline
namespace avx2 {
int64_t arenaBytes(Form form, int64_t rows, int64_t columns);
Report solve(const Problem &problem);
} // namespace avx2
namespace avx512 {
int64_t arenaBytes(Form form, int64_t rows, int64_t columns);
Report solve(const Problem &problem);
} // namespace avx512

} // namespace steep::oracle

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_CORE_H
