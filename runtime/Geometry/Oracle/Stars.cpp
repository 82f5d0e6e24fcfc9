//===- Stars.cpp - a preconditioner for the Newton system -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Stars.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

void Stars::lay(Arena &arena, int64_t rows, int64_t mostPairs,
                int64_t mostStride) {
  order = arena.take<int32_t>(mostPairs);
  starts = arena.take<int32_t>(rows + 1);
  factors = arena.take<float>(mostPairs * most);
  scratch = arena.take<double>(most * mostStride);
}

/// The lighter end of a pair, the first one of equals.
static int32_t endOf(const StarPairs &pairs, int64_t e) {
  return pairs.degrees[pairs.j[e]] < pairs.degrees[pairs.i[e]] ? pairs.j[e]
                                                               : pairs.i[e];
}

void Stars::sort(const StarPairs &pairs) {
  ends = pairs.rows;
  memset(starts, 0, (ends + 1) * sizeof(int32_t));
  for (int64_t e = 0; e < pairs.count; ++e)
    ++starts[endOf(pairs, e) + 1];
  for (int64_t i = 0; i < ends; ++i)
    starts[i + 1] += starts[i];
  for (int64_t e = 0; e < pairs.count; ++e)
    order[starts[endOf(pairs, e)]++] = static_cast<int32_t>(e);
  // Every start has moved to the next one.
  for (int64_t i = ends; i > 0; --i)
    starts[i] = starts[i - 1];
  starts[0] = 0;
}

template <typename Visit> void Stars::forEachBlock(Visit visit) const {
  for (int64_t end = 0; end < ends; ++end)
    for (int64_t first = starts[end]; first < starts[end + 1]; first += most) {
      const int64_t rest = starts[end + 1] - first;
      visit(first, rest < most ? rest : most, end);
    }
}

void Stars::factorizeBlock(const StarPairs &pairs, int64_t first,
                           int64_t length, int64_t end) {
  const int64_t stride = pairs.stride;
  const double share = 1 / pairs.degrees[end];
  float *block = factors + first * most;
  for (int64_t a = 0; a < length; ++a) {
    const int64_t e = order[first + a];
    const int64_t other = pairs.i[e] == end ? pairs.j[e] : pairs.i[e];
    double *own = scratch + a * stride;
    memcpy(own, pairs.x + end * stride, stride * sizeof(double));
    addRow(own, -1, pairs.x + other * stride, stride);
    for (int64_t b = 0; b < a; ++b)
      block[a * most + b] = static_cast<float>(
          share * dotRows(own, scratch + b * stride, stride));
    block[a * most + a] =
        static_cast<float>(pairs.q[e] * (share + 1 / pairs.degrees[other]) +
                           pairs.z[e] / pairs.w[e]);
  }
  for (int64_t a = 0; a < length; ++a) {
    float *row = block + a * most;
    const float least = 1e-5f * row[a];
    for (int64_t b = 0; b <= a; ++b) {
      const float *other = block + b * most;
      float sum = row[b];
      for (int64_t k = 0; k < b; ++k)
        sum -= row[k] * other[k];
      // Rounding must not take the definiteness.
      row[b] =
          b < a ? sum / other[b] : __builtin_sqrtf(sum > least ? sum : least);
    }
  }
}

void Stars::factorize(const StarPairs &pairs) {
  sort(pairs);
  forEachBlock([&](int64_t first, int64_t length, int64_t end) {
    factorizeBlock(pairs, first, length, end);
  });
}

void Stars::solve(const double *rhs, double *solution) const {
  forEachBlock([&](int64_t first, int64_t length, int64_t) {
    const float *block = factors + first * most;
    const int32_t *pairs = order + first;
    double y[most];
    for (int64_t a = 0; a < length; ++a) {
      const float *row = block + a * most;
      double sum = rhs[pairs[a]];
      for (int64_t k = 0; k < a; ++k)
        sum -= static_cast<double>(row[k]) * y[k];
      y[a] = sum / static_cast<double>(row[a]);
    }
    for (int64_t a = length - 1; a >= 0; --a) {
      const float *row = block + a * most;
      const double value = y[a] / static_cast<double>(row[a]);
      for (int64_t k = 0; k < a; ++k)
        y[k] -= static_cast<double>(row[k]) * value;
      solution[pairs[a]] = value;
    }
  });
}

} // namespace steep::oracle::STEEP_ORACLE_ISA
