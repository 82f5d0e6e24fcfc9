//===- Distances.cpp - largest and smallest row distance ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both searches go over pairs of blocks of rows, sorted by norm. Norms alone
// rule out most pairs of a head's increment: a pair is no farther apart than
// the sum of its norms and no closer than their difference. What remains is
// screened as |a|^2 + |b|^2 - 2ab in the precision of the input; every pair
// that could win, rounding considered, is recomputed in FP64.
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/ThreadPool.h"
#include "runtime/Geometry/Cloud.h"
#include "runtime/Geometry/Measure.h"

#include <atomic>

using namespace steep;
using namespace steep::geometry;

namespace {

/// Rows of a block: a whole number of panels of either type.
constexpr int64_t blockRows = 128;
/// Of near ties in one pair of blocks, only this many leaders are recomputed
/// for FP32 input (they differ by rounding alone, as duplicates do).
constexpr std::size_t maxLeaders = 64;
/// Slack for comparing FP64 norms with FP64 distances.
constexpr double slack = 1e-12;

struct Pair {
  double value; // squared distance, as screened
  int64_t i, j;
};

/// A double that threads may raise or lower.
class SharedBound {
public:
  explicit SharedBound(double value) : bound(value) {}
  double get() const { return bound.load(); }
  void raise(double value) {
    double now = bound.load();
    while (value > now && !bound.compare_exchange_weak(now, value)) {
    }
  }
  void lower(double value) {
    double now = bound.load();
    while (value < now && !bound.compare_exchange_weak(now, value)) {
    }
  }

private:
  std::atomic<double> bound;
};

int64_t blocksOf(int64_t rows) { return (rows + blockRows - 1) / blockRows; }

/// Appends the pairs (i < j) of the blocks a <= b whose screened squared
/// distance x satisfies wanted(x).
template <typename T, typename Wanted>
void screen(const Cloud<T> &cloud, int64_t a, int64_t b, Wanted wanted,
            std::vector<Pair> &found) {
  constexpr int64_t width = panelRows<T>;
  constexpr int64_t perBlock = blockRows / width;
  alignas(64) T values[tileRows * width];
  const int64_t last = cloud.points.panels();
  for (int64_t p = a * perBlock; p < std::min(last, (a + 1) * perBlock); ++p)
    for (int64_t q = b * perBlock; q < std::min(last, (b + 1) * perBlock); ++q)
      for (int64_t first = 0; q >= p && first < width; first += tileRows) {
        cloud.distances(p, first, q, values);
        // One bit a tile first: nearly all tiles hold nothing of interest.
        int any = 0;
        for (int64_t x = 0; x < tileRows * width; ++x)
          any |= wanted(values[x]);
        if (!any)
          continue;
        for (int64_t x = 0; x < tileRows * width; ++x) {
          const int64_t i = p * width + first + x / width;
          const int64_t j = q * width + x % width;
          if (i < j && j < cloud.rows() && wanted(values[x]))
            found.push_back({static_cast<double>(values[x]), i, j});
        }
      }
}

/// A pair that is far apart: hops to the farthest row from the last one.
template <typename T> double farPair(const Cloud<T> &cloud, ThreadPool *pool) {
  double best = 0;
  int64_t from = 0;
  constexpr int64_t chunk = 1024;
  const int64_t chunks = (cloud.rows() + chunk - 1) / chunk;
  std::vector<Pair> far(chunks);
  for (int hop = 0; hop < 6; ++hop) {
    forEach(pool, chunks, [&](int64_t c) {
      far[c] = {-1, 0, 0};
      for (int64_t i = c * chunk; i < std::min(cloud.rows(), (c + 1) * chunk);
           ++i) {
        const double distance = cloud.distance(from, i);
        if (distance > far[c].value)
          far[c] = {distance, i, 0};
      }
    });
    Pair winner{-1, 0, 0};
    for (const Pair &pair : far)
      if (pair.value > winner.value)
        winner = pair;
    if (winner.value <= best)
      break;
    best = winner.value;
    from = winner.i;
  }
  return best;
}

/// The largest squared distance, and the part of all pairs of blocks that were
/// looked at.
template <typename T>
double largestDistance(const Cloud<T> &cloud, ThreadPool *pool,
                       double &looked) {
  SharedBound bound(farPair(cloud, pool));
  const int64_t blocks = blocksOf(cloud.rows());
  std::atomic<int64_t> visited{0};
  // One task a row of block pairs; the long norms come first.
  forEach(pool, blocks, [&](int64_t a) {
    std::vector<Pair> found;
    const double norm = cloud.norm(a * blockRows);
    const double margin = cloud.margin(norm);
    for (int64_t b = a; b < blocks; ++b) {
      const double least = bound.get();
      const double reach = norm + cloud.norm(b * blockRows);
      if (reach * reach * (1 + slack) < least)
        break;
      visited.fetch_add(1, std::memory_order_relaxed);
      found.clear();
      const T threshold = static_cast<T>(least - margin);
      screen(
          cloud, a, b, [=](T x) { return x > threshold; }, found);
      if (sizeof(T) == 4 && found.size() > maxLeaders) {
        std::nth_element(found.begin(), found.begin() + maxLeaders, found.end(),
                         [](const Pair &x, const Pair &y) {
                           return std::tie(y.value, x.i, x.j) <
                                  std::tie(x.value, y.i, y.j);
                         });
        found.resize(maxLeaders);
      }
      for (const Pair &pair : found)
        bound.raise(cloud.distance(pair.i, pair.j));
    }
  });
  looked = static_cast<double>(visited) / (0.5 * static_cast<double>(blocks) *
                                           static_cast<double>(blocks + 1));
  return bound.get();
}

/// The smallest squared distance of two different rows; at least two rows.
template <typename T>
double smallestDistance(const Cloud<T> &cloud, ThreadPool *pool) {
  SharedBound bound(cloud.distance(0, 1));
  for (int64_t i = 1; i + 1 < cloud.rows(); ++i)
    bound.lower(cloud.distance(i, i + 1));
  const int64_t blocks = blocksOf(cloud.rows());
  // Blocks of like norms first: there the close pairs are.
  forEach(pool, blocks, [&](int64_t apart) {
    std::vector<Pair> found;
    for (int64_t a = 0; a + apart < blocks && bound.get() > 0; ++a) {
      const int64_t b = a + apart;
      const double norm = cloud.norm(a * blockRows);
      const double gap = apart == 0
                             ? 0
                             : cloud.norm((a + 1) * blockRows - 1) -
                                   cloud.norm(b * blockRows) - slack * norm;
      if (gap > 0 && gap * gap > bound.get())
        continue;
      found.clear();
      const T threshold = static_cast<T>(bound.get() + cloud.margin(norm));
      screen(
          cloud, a, b, [=](T x) { return x < threshold; }, found);
      for (const Pair &pair : found)
        bound.lower(cloud.distance(pair.i, pair.j));
    }
  });
  return bound.get();
}

enum class Extreme { Largest, Smallest };

template <typename T>
double extreme(const MatrixView &s, const std::vector<double> &mean,
               double scale, Extreme which, ThreadPool *pool, double &looked) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const bool largest = which == Extreme::Largest;
  Cloud<T> cloud(s, mean, scale, largest ? -infinity : infinity, pool);
  const double squared = largest ? largestDistance(cloud, pool, looked)
                                 : smallestDistance(cloud, pool);
  return std::sqrt(squared) / scale;
}

double measure(const Tensor &tensor, Extreme which, ThreadPool *pool,
               double &looked) {
  const MatrixView s(tensor, "the increment s");
  const std::vector<double> mean = s.meanRow();
  const double largest = s.largest(mean);
  if (std::isnan(largest))
    return largest;
  if (s.rows == 1)
    return which == Extreme::Largest ? 0
                                     : std::numeric_limits<double>::infinity();
  if (largest == 0)
    return 0;
  const double scale = scaleFor(largest);
  return s.isDouble() ? extreme<double>(s, mean, scale, which, pool, looked)
                      : extreme<float>(s, mean, scale, which, pool, looked);
}

} // namespace

double steep::rowDiameter(const Tensor &s, ThreadPool *pool, double *looked) {
  double part = 0;
  const double diameter = measure(s, Extreme::Largest, pool, part);
  if (looked)
    *looked = part;
  return diameter;
}

double steep::rowSeparation(const Tensor &s, ThreadPool *pool) {
  double part = 0;
  return measure(s, Extreme::Smallest, pool, part);
}

double steep::separationRatio(double separation, double diameter) {
  return diameter > 0 ? separation / diameter
                      : std::numeric_limits<double>::quiet_NaN();
}
