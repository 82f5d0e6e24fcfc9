//===- Newton.h - cutting planes and primal-dual steps ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An optimal flow is y_ij = w_ij (x_i - x_j) with scalar tensions w >= 0 and
// L_w X = G, so that
//
//   T(G) = min over w >= 0 of (1/2) tr(G^T L_w^+ G) + (1/2) sum_{i<j} w_ij.
//
// Its gradient is z_e = (1 - |x_e|^2)/2, the slack of pair e, its Hessian
// H_ef = (x_e . x_f) (b_e^T L_w^+ b_f), where b_e = e_i - e_j. The solver keeps
// tensions for a set of pairs, takes primal-dual Newton steps on w_e z_e = mu,
// and adds the pairs that come out too long.
//
// Every iterate certifies: X / D(X) is feasible, and w balances G up to a
// residual that Jung's theorem prices.
//
// Internal to the core.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_NEWTON_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_NEWTON_H

#include "runtime/Geometry/Oracle/Core.h"
#include "runtime/Geometry/Oracle/Stars.h"
#include "runtime/Geometry/Oracle/Sweep.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// With no more pairs than this the Newton system is solved by Cholesky.
constexpr int64_t denseEdges = 768;
/// With no more rows all pairs are there from the start.
constexpr int64_t allPairsRows = 24;

inline int64_t mostEdges(int64_t rows) {
  const int64_t pairs = rows * (rows - 1) / 2, sparse = 96 * rows + 1024;
  return pairs < sparse ? pairs : sparse;
}

/// The pairs of the restricted problem.
struct Edges {
  int64_t count = 0, most = 0;
  int32_t *i = nullptr, *j = nullptr;
  double *w = nullptr; ///< tensions
  double *z = nullptr; ///< slacks, an independent variable
  double *q = nullptr; ///< |x_e|^2
  uint8_t *bitmap = nullptr;
  int64_t side = 0;

  bool has(int64_t a, int64_t b) const {
    const int64_t bit = a * side + b;
    return bitmap[bit >> 3] >> (bit & 7) & 1;
  }
  void mark(int64_t a, int64_t b, bool on) {
    const int64_t bits[2] = {a * side + b, b * side + a};
    for (int64_t bit : bits) {
      uint8_t &byte = bitmap[bit >> 3];
      const int mask = 1 << (bit & 7);
      byte = static_cast<uint8_t>(on ? byte | mask : byte & ~mask);
    }
  }
  /// False where the pair is there already, or there is no room.
  bool add(int64_t a, int64_t b, double tension, double slack) {
    if (count == most || has(a, b))
      return false;
    mark(a, b, true);
    i[count] = static_cast<int32_t>(a);
    j[count] = static_cast<int32_t>(b);
    w[count] = tension;
    z[count++] = slack;
    return true;
  }
};

/// For every row, the pairs that score best, as far as they are kept.
struct BestPairs {
  static constexpr int64_t kept = 4;
  double *scores = nullptr; ///< rows x kept, descending
  int32_t *partners = nullptr;

  void clear(int64_t rows) {
    for (int64_t k = 0; k < rows * kept; ++k) {
      scores[k] = -1;
      partners[k] = -1;
    }
  }
  double least(int64_t row, int64_t wanted) const {
    return scores[row * kept + wanted - 1];
  }
  void offer(int64_t row, int64_t partner, double score, int64_t wanted) {
    double *s = scores + row * kept;
    int32_t *p = partners + row * kept;
    int64_t at = wanted - 1;
    if (!(score > s[at]))
      return;
    for (; at > 0 && score > s[at - 1]; --at) {
      s[at] = s[at - 1];
      p[at] = p[at - 1];
    }
    s[at] = score;
    p[at] = static_cast<int32_t>(partner);
  }
};

class Newton {
public:
  void lay(Arena &arena, int64_t rows, int64_t stride);
  /// Solves for the reduced gradient; `best` (count x reducedStride) gets the
  /// best X / D(X). Bounds are of the reduced gradient, of total norm 1.
  Status run(const Reduced &reduced, const Options &options, double *best,
             Report &report, Observer observer, void *context);

private:
  bool start();
  void startPairs();
  void assemble();
  bool factorizeAndSolve();
  double measurePairs();
  void sweep();
  double residualNorm();
  void evaluate(double *best, Report &report);
  bool wantsCuts(double tolerance) const;
  void addCuts();
  void dropIdle();

  // The Newton step.
  bool step();
  bool denseDirection();
  void sparseDirection();
  bool buildHessian();
  void setSlackDirection(double target, bool corrected);
  void solveDense();
  void applyHessian(const double *v, double *out);
  template <typename T>
  void applyHessianIn(const Factor<T> &f, const T *points, T *work, T *rows,
                      const double *v, double *out);
  bool conjugateGradients(double *solution);

  const Reduced *problem = nullptr;
  int64_t count = 0, stride = 0, padded = 0;
  int64_t denseSide = 0; ///< most padded rows of a dense step
  double background = 0; ///< tension of every pair: L_w is never singular
  Edges edges;
  BestPairs found;
  Cloud<double> cloud;
  Factor<double> laplacian;
  Factor<float> rounded;
  double *x = nullptr, *panels = nullptr, *flow = nullptr;
  float *x32 = nullptr, *panels32 = nullptr, *flow32 = nullptr;
  // Of the Newton system.
  Factor<double> hessian;
  Stars stars;
  double *inverse = nullptr, *inversePanels = nullptr;
  double *edgeRows = nullptr, *edgeColumns = nullptr;
  double *dw = nullptr, *dz = nullptr, *rhs = nullptr, *degrees = nullptr;
  double *r = nullptr, *p = nullptr, *ap = nullptr, *scaled = nullptr;
  // What the last iterate was like.
  double mu = 0, diameter = 0, edgeDiameter = 0, value = 0, upper = 0;
  double stepW = 0, stepZ = 0, violation = 0;
  bool wide = false; ///< FP32 products were too coarse
  int64_t products = 0;
};

} // namespace steep::oracle::STEEP_ORACLE_ISA

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_NEWTON_H
