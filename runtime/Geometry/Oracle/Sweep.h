//===- Sweep.h - all pairs of rows ------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the core.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_SWEEP_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_SWEEP_H

#include "runtime/Geometry/Oracle/Dense.h"
#include "runtime/Geometry/Oracle/Presolve.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// Rows in T, by rows and as panels of columns, with their squares.
template <typename T> struct Cloud {
  int64_t count = 0, stride = 0, padded = 0;
  T *rows = nullptr;
  T *columns = nullptr;
  T *squares = nullptr; ///< very negative where there is no row
  double largest = 0;   ///< largest square

  void lay(Arena &arena, int64_t mostRows, int64_t mostStride) {
    const int64_t most = roundUp(mostRows, blockSize);
    rows = arena.take<T>(most * mostStride);
    columns = arena.take<T>(most * mostStride);
    squares = arena.take<T>(most);
  }

  /// Takes `n` rows of `x`, times `factor`; they should be centred.
  void load(const double *x, int64_t n, int64_t givenStride, double factor) {
    count = n;
    stride = givenStride;
    padded = roundUp(n, blockSize);
    largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0;
      T *row = rows + i * stride;
      const double *from = x + i * stride;
      for (int64_t k = 0; k < stride; ++k)
        row[k] = static_cast<T>(from[k] * factor);
      if (sizeof(T) == sizeof(double)) {
        sum = dotRows(from, from, stride) * factor * factor;
      } else {
        for (int64_t k = 0; k < stride; ++k)
          sum += static_cast<double>(row[k]) * static_cast<double>(row[k]);
      }
      squares[i] = static_cast<T>(sum);
      largest = sum > largest ? sum : largest;
    }
    memset(rows + n * stride, 0, (padded - n) * stride * sizeof(T));
    for (int64_t i = n; i < padded; ++i)
      squares[i] = T(-1e30);
    transposeToPanels(rows, padded, stride, stride, columns);
  }

  /// How far a squared distance by products can be from the truth: rounding of
  /// the sums in any order, of the rows and of the last additions.
  double margin() const {
    constexpr double unit = sizeof(T) == sizeof(double) ? 0x1p-53 : 0x1p-24;
    return static_cast<double>(2 * stride + 32) * unit * 4 * largest;
  }
};

/// Calls visit(i, j0, d) for rows i and panels of rows j0 .. j0 + panelWidth -
/// 1, d[c] being the squared distance of i and j0 + c. Every pair i < j is
/// seen, and some others are, but for those that isDone(a, b) rules out: rows
/// of the block that begins at a with rows from b on.
template <typename T, typename Visit, typename Done>
inline void sweepPairs(const Cloud<T> &cloud, Visit visit, Done isDone) {
  constexpr int64_t width = panelWidth<T>;
  alignas(64) T products[blockSize * width], distances[width];
  for (int64_t a = 0; a < cloud.count; a += blockSize) {
    const T *rows = cloud.rows + a * cloud.stride;
    const int64_t end =
        cloud.count - a < blockSize ? cloud.count - a : blockSize;
    for (int64_t b = a; b < cloud.count && !isDone(a, b); b += width) {
      memset(products, 0, sizeof(products));
      multiply(rows, cloud.stride, cloud.columns + b * cloud.stride,
               cloud.stride, products, width, blockSize, T(-2));
      for (int64_t i = 0; i < end; ++i) {
        const T own = cloud.squares[a + i];
#pragma GCC unroll 8
        for (int64_t c = 0; c < width; c += lanes<T>)
          vectorAt(distances + c) = vectorAt(products + i * width + c) +
                                    (vectorAt(cloud.squares + b + c) + own);
        visit(a + i, b, static_cast<const T *>(distances));
      }
    }
  }
}

/// The same of all pairs.
template <typename T, typename Visit>
inline void sweepPairs(const Cloud<T> &cloud, Visit visit) {
  sweepPairs(cloud, visit, [](int64_t, int64_t) { return false; });
}

/// The largest of a panel's values.
template <typename T> inline T largestOf(const T *values) {
  T most = values[0];
  for (int64_t c = 1; c < panelWidth<T>; ++c)
    most = values[c] > most ? values[c] : most;
  return most;
}

/// An upper bound of D(X)^2, within rounding of it, for rows `x` that `cloud`
/// was loaded from with the factor 1: every pair that could be the farthest,
/// rounding considered, is measured by subtraction.
template <typename T>
inline double diameterSquared(const Cloud<T> &cloud, const double *x) {
  const double margin = cloud.margin();
  double best = 0;
  sweepPairs(cloud, [&](int64_t i, int64_t j0, const T *d) {
    // Rounded up, so that a candidate is never missed.
    if (!(static_cast<double>(largestOf(d)) > best - margin))
      return;
    for (int64_t c = 0; c < panelWidth<T>; ++c) {
      const int64_t j = j0 + c;
      if (j <= i || j >= cloud.count ||
          !(static_cast<double>(d[c]) > best - margin))
        continue;
      const double exact = distanceRows(x + i * cloud.stride,
                                        x + j * cloud.stride, cloud.stride);
      best = exact > best ? exact : best;
    }
  });
  return best * (1 + static_cast<double>(cloud.stride + 8) * 0x1p-52);
}

} // namespace steep::oracle::STEEP_ORACLE_ISA

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_SWEEP_H
