//===- Repair.cpp - rows pushed out, then pairs repaired ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Repair.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// Radius of the first ball.
static constexpr double startRadius = 0.6;
/// Pairs that are longer than 1 by less are left alone.
static constexpr double repairTolerance = 1e-7;

void Repair::lay(Arena &arena, int64_t rows, int64_t stride) {
  cloud.lay(arena, rows, stride);
  moves = arena.take<double>(rows * stride);
  weights = arena.take<double>(rows);
  sums = arena.take<double>(rows);
  most = arena.take<double>(rows);
}

/// One pass over all pairs; false where none is too long.
bool Repair::repairOnce(const Reduced &g, double *x) {
  const int64_t stride = g.stride;
  center(x, g.rows, stride, g.scratch);
  cloud.load(x, g.rows, stride, 1);
  memset(moves, 0, g.rows * stride * sizeof(double));
  for (int64_t i = 0; i < g.rows; ++i)
    weights[i] = sums[i] = most[i] = 0;
  bool any = false;
  auto pull = [&](int64_t i, int64_t j, double excess, double length) {
    const double share = excess * g.norms[j] / (g.norms[i] + g.norms[j]);
    most[i] = share > most[i] ? share : most[i];
    sums[i] += share;
    weights[i] += share / length;
    addRow(moves + i * stride, share / length, x + j * stride, stride);
  };
  constexpr float least = 1 + 2 * static_cast<float>(repairTolerance);
  sweepPairs(cloud, [&](int64_t i, int64_t j0, const float *d) {
    if (!(largestOf(d) > least))
      return;
    for (int64_t c = 0; c < panelWidth<float>; ++c) {
      const int64_t j = j0 + c;
      // Two zero rows pull at nothing.
      if (j <= i || !(d[c] > least) || !(g.norms[i] + g.norms[j] > 0))
        continue;
      const double length = __builtin_sqrt(static_cast<double>(d[c]));
      pull(i, j, length - 1, length);
      pull(j, i, length - 1, length);
      any = true;
    }
  });
  for (int64_t i = 0; i < g.rows; ++i) {
    if (!(sums[i] > 0))
      continue;
    const double factor = most[i] / sums[i];
    double *row = x + i * stride, *move = moves + i * stride;
    const double keep = 1 - factor * weights[i];
    for (int64_t k = 0; k < stride; ++k)
      row[k] = keep * row[k] + factor * move[k];
  }
  return any;
}

void Repair::run(const Reduced &g, int64_t repairs, double *x, Report &report) {
  for (int64_t i = 0; i < g.rows; ++i) {
    const double *from = g.full + i * g.stride;
    const double factor = g.norms[i] > 0 ? startRadius / g.norms[i] : 0;
    for (int64_t k = 0; k < g.stride; ++k)
      x[i * g.stride + k] = factor * from[k];
  }
  for (report.steps = 0; report.steps < repairs; ++report.steps)
    if (!repairOnce(g, x))
      break;
}

} // namespace steep::oracle::STEEP_ORACLE_ISA
