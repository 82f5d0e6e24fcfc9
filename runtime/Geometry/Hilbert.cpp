//===- Hilbert.cpp - the Hilbert RMS --------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Error.h"
#include "runtime/Core/ThreadPool.h"
#include "runtime/Geometry/Cloud.h"
#include "runtime/Geometry/Measure.h"

using namespace steep;
using namespace steep::geometry;

namespace {

template <typename T>
Panels<T> pack(const MatrixView &x, const std::vector<double> &shift,
               double scale, ThreadPool *pool) {
  Panels<T> packed(x.rows, x.columns);
  forEach(pool, packed.panels(), [&](int64_t p) {
    const int64_t end = std::min(x.rows, (p + 1) * panelRows<T>);
    for (int64_t i = p * panelRows<T>; i < end; ++i)
      for (int64_t k = 0; k < x.columns; ++k)
        packed.at(i, k) = static_cast<T>((x(i, k) - shift[k]) * scale);
  });
  return packed;
}

/// Largest and smallest logit change of one position, and whose they are.
template <typename T> struct Range {
  T most = -std::numeric_limits<T>::infinity();
  T least = std::numeric_limits<T>::infinity();
  int64_t top = 0, bottom = 0;
};

template <typename T>
double hilbert(const MatrixView &s, const MatrixView &h,
               const std::vector<double> &mean, double scaleS, double scaleH,
               ThreadPool *pool) {
  const Panels<T> rows = pack<T>(s, mean, scaleS, pool);
  const std::vector<double> none(h.columns, 0.0);
  const Panels<T> states = pack<T>(h, none, scaleH, pool);
  std::vector<double> squares(h.rows);

  // <s_i - s_j, h> of the rows that win in T, in FP64.
  auto exact = [&](int64_t position, const Range<T> &range) {
    double sum = 0;
    for (int64_t k = 0; k < s.columns; ++k)
      sum += (s(range.top, k) - s(range.bottom, k)) * scaleS *
             (h(position, k) * scaleH);
    return sum;
  };
  constexpr int64_t width = panelRows<T>;
  forEach(pool, states.panels(), [&](int64_t p) {
    alignas(64) T values[tileRows * width];
    std::vector<Range<T>> ranges(width);
    // Panels of S outside, so that one stays in cache for all positions here.
    for (int64_t q = 0; q < rows.panels(); ++q) {
      const int64_t valid = std::min(width, s.rows - q * width);
      for (int64_t first = 0; first < width; first += tileRows) {
        innerProducts<T>(states.panel(p), first, rows.panel(q), s.columns,
                         values);
        for (int64_t i = 0; i < tileRows; ++i) {
          Range<T> &range = ranges[first + i];
          const T *line = values + i * width;
          int any = 0;
          for (int64_t j = 0; j < width; ++j)
            any |= (line[j] > range.most) | (line[j] < range.least);
          for (int64_t j = 0; any && j < valid; ++j) {
            if (line[j] > range.most) {
              range.most = line[j];
              range.top = q * width + j;
            }
            if (line[j] < range.least) {
              range.least = line[j];
              range.bottom = q * width + j;
            }
          }
        }
      }
    }
    const int64_t end = std::min(h.rows, (p + 1) * width);
    for (int64_t i = p * width; i < end; ++i) {
      const double range = exact(i, ranges[i - p * width]);
      squares[i] = range * range;
    }
  });
  double sum = 0;
  for (double square : squares)
    sum += square;
  return std::sqrt(sum / static_cast<double>(h.rows)) / scaleS / scaleH;
}

} // namespace

double steep::hilbertRms(const Tensor &increment, const Tensor &hidden,
                         ThreadPool *pool) {
  const MatrixView s(increment, "the increment s");
  const MatrixView h(hidden, "the hidden states h");
  if (s.columns != h.columns)
    fail("the increment s has {} columns and the hidden states h have {}: they "
         "must be equal",
         s.columns, h.columns);
  const std::vector<double> mean = s.meanRow();
  const double largestS = s.largest(mean);
  const double largestH = h.largest(std::vector<double>(h.columns, 0.0));
  if (std::isnan(largestS) || std::isnan(largestH))
    return std::numeric_limits<double>::quiet_NaN();
  if (largestS == 0 || largestH == 0)
    return 0;
  const double scaleS = scaleFor(largestS), scaleH = scaleFor(largestH);
  return s.isDouble() || h.isDouble()
             ? hilbert<double>(s, h, mean, scaleS, scaleH, pool)
             : hilbert<float>(s, h, mean, scaleS, scaleH, pool);
}
