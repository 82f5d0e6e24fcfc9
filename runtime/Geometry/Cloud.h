//===- Cloud.h - rows as a cloud of points ----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to runtime/Geometry.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_CLOUD_H
#define STEEP_RUNTIME_GEOMETRY_CLOUD_H

#include "runtime/Geometry/Panels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace steep::geometry {

/// The power of two that brings a positive `largest` into [0.5, 1), so that no
/// square over- or underflows where it matters.
inline double scaleFor(double largest) {
  int exponent = 0;
  std::frexp(largest, &exponent);
  // 2^-exponent itself must be finite.
  return std::ldexp(1.0, -std::max(exponent, -1000));
}

/// The rows of S minus their mean row, times a power of two, sorted by
/// descending norm, rounded to T and packed. Indices are positions in that
/// order.
template <typename T> class Cloud {
public:
  /// `scale` as scaleFor() gives it for the largest centred entry; rows of the
  /// last panel that do not exist get the square `missing`.
  Cloud(const MatrixView &s, const std::vector<double> &mean, double scale,
        T missing, ThreadPool *pool)
      : points(s.rows, s.columns), source(s), factor(scale), order(s.rows),
        norms(s.rows), squares(points.panels() * panelRows<T>, missing) {
    std::vector<double> unsorted(s.rows);
    constexpr int64_t chunk = 256;
    const int64_t chunks = (s.rows + chunk - 1) / chunk;
    forEach(pool, chunks, [&](int64_t c) {
      for (int64_t i = c * chunk; i < std::min(s.rows, (c + 1) * chunk); ++i) {
        double sum = 0;
        for (int64_t k = 0; k < s.columns; ++k) {
          const double x = (s(i, k) - mean[k]) * scale;
          sum += x * x;
        }
        unsorted[i] = std::sqrt(sum);
      }
    });
    std::iota(order.begin(), order.end(), int64_t(0));
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return unsorted[a] != unsorted[b] ? unsorted[a] > unsorted[b] : a < b;
    });
    forEach(pool, chunks, [&](int64_t c) {
      for (int64_t i = c * chunk; i < std::min(s.rows, (c + 1) * chunk); ++i) {
        norms[i] = unsorted[order[i]];
        double sum = 0;
        for (int64_t k = 0; k < s.columns; ++k) {
          const T x = static_cast<T>((s(order[i], k) - mean[k]) * scale);
          points.at(i, k) = x;
          sum += static_cast<double>(x) * x;
        }
        squares[i] = static_cast<T>(sum);
      }
    });
  }

  int64_t rows() const { return source.rows; }
  int64_t columns() const { return source.columns; }
  /// Norm of a row, in FP64.
  double norm(int64_t i) const { return norms[i]; }
  /// Squared distance of two rows in FP64, by subtraction of the input rows.
  double distance(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t k = 0; k < source.columns; ++k) {
      const double x = (source(order[i], k) - source(order[j], k)) * factor;
      sum += x * x;
    }
    return sum;
  }
  /// How far a squared distance |a|^2 + |b|^2 - 2ab in T can be from the truth
  /// where no norm exceeds `norm`: rounding of the sums in any order, of the
  /// centred entries and of the last additions.
  double margin(double norm) const {
    constexpr double unit = std::numeric_limits<T>::epsilon() / 2.0;
    return static_cast<double>(2 * source.columns + 32) * unit * norm * norm;
  }
  /// values[i * panelRows + j] = squared distance in T of the rows first + i
  /// of panel p and j of panel q.
  void distances(int64_t p, int64_t first, int64_t q, T *values) const {
    constexpr int64_t width = panelRows<T>;
    innerProducts<T>(points.panel(p), first, points.panel(q), source.columns,
                     values);
    const T *own = squares.data() + p * width + first;
    const T *other = squares.data() + q * width;
    for (int64_t i = 0; i < tileRows; ++i)
      for (int64_t j = 0; j < width; ++j)
        values[i * width + j] =
            (own[i] + other[j]) - T(2) * values[i * width + j];
  }

  Panels<T> points;

private:
  const MatrixView &source;
  double factor;
  std::vector<int64_t> order;
  std::vector<double> norms; // sorted
  std::vector<T> squares;
};

} // namespace steep::geometry

#endif // STEEP_RUNTIME_GEOMETRY_CLOUD_H
