//===- Certificate.cpp - how good a step is at least ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums are taken in FP64 of entries times a power of two, so that no square
// over- or underflows. Every bound is moved to its safe side by the rounding
// that its sums can have.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Certificate.h"

#include "runtime/Core/ThreadPool.h"
#include "runtime/Geometry/Cloud.h"
#include "runtime/Geometry/Measure.h"

#include <cmath>

using namespace steep;
using namespace steep::geometry;

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// Norms of the rows of G - 1 a^T, times `scale`.
struct Norms {
  double scale = 1;
  std::vector<double> values;
  double sum = 0, squares = 0;
  bool finite = true;

  Norms(const MatrixView &g, const std::vector<double> &shift)
      : values(g.rows) {
    const double largest = g.largest(shift);
    finite = std::isfinite(largest);
    if (!(largest > 0) || !finite)
      return;
    scale = scaleFor(largest);
    for (int64_t i = 0; i < g.rows; ++i) {
      double square = 0;
      for (int64_t k = 0; k < g.columns; ++k) {
        const double x = (g(i, k) - shift[k]) * scale;
        square += x * x;
      }
      squares += square;
      sum += values[i] = std::sqrt(square);
    }
  }
};

/// The relative rounding of a sum of this many terms, generously.
double slackOf(int64_t terms) {
  return static_cast<double>(terms + 16) * 0x1p-52;
}

/// The mean row, subtracted twice: a large common offset leaves a mean of its
/// rounding.
std::vector<double> accurateMean(const MatrixView &g) {
  std::vector<double> mean = g.meanRow();
  std::vector<double> rest(g.columns, 0.0);
  for (int64_t i = 0; i < g.rows; ++i)
    for (int64_t k = 0; k < g.columns; ++k)
      rest[k] += (g(i, k) - mean[k]) / static_cast<double>(g.rows);
  for (int64_t k = 0; k < g.columns; ++k)
    mean[k] += rest[k];
  return mean;
}

} // namespace

ColumnSums steep::columnSums(const Tensor &gradient) {
  const MatrixView g(gradient, "the gradient g");
  const std::vector<double> none(g.columns, 0.0);
  const Norms norms(g, none);
  ColumnSums sums;
  if (!norms.finite)
    return {undefined, undefined};
  double square = 0;
  for (int64_t k = 0; k < g.columns; ++k) {
    double sum = 0;
    for (int64_t i = 0; i < g.rows; ++i)
      sum += g(i, k) * norms.scale;
    square += sum * sum;
  }
  sums.norm = std::sqrt(square) / norms.scale;
  sums.defect = norms.sum > 0 ? std::sqrt(square) / norms.sum : 0;
  return sums;
}

Certificate steep::rowNormCertificate(const Tensor &gradient,
                                      bool takenAsCentered) {
  const MatrixView g(gradient, "the gradient g");
  Certificate certificate;
  certificate.sums = columnSums(gradient);
  const Norms norms(g, accurateMean(g));
  const bool refused =
      takenAsCentered && certificate.sums.defect > mostColumnDefect;
  if (!norms.finite || refused) {
    certificate.effectiveRows = certificate.ratio = undefined;
    return certificate;
  }
  if (!(norms.sum > 0))
    return certificate;
  // A larger 1/V_eff makes a better ratio: it is rounded down.
  const double share = norms.squares / (norms.sum * norms.sum) *
                       (1 - slackOf(g.rows + g.columns));
  certificate.effectiveRows = 1 / share;
  certificate.ratio =
      std::min(1.0, 1 / std::sqrt(2 * (1 - share)) * (1 - 0x1p-50));
  return certificate;
}

FlowBound steep::rowNormFlowBound(const Tensor &gradient, ThreadPool *pool) {
  const MatrixView g(gradient, "the gradient g");
  const std::vector<double> mean = accurateMean(g);
  const Norms norms(g, mean);
  if (!norms.finite)
    return {undefined, undefined};
  if (!(norms.sum > 0))
    return {};
  Panels<double> directions(g.rows, g.columns);
  for (int64_t i = 0; i < g.rows; ++i)
    for (int64_t k = 0; norms.values[i] > 0 && k < g.columns; ++k)
      directions.at(i, k) = (g(i, k) - mean[k]) * norms.scale / norms.values[i];
  // What rounding of unit rows and of their product adds to a square.
  const double margin = slackOf(2 * g.columns) * 4;
  constexpr int64_t width = panelRows<double>;
  std::vector<double> sums(directions.panels(), 0.0);
  forEach(pool, directions.panels(), [&](int64_t p) {
    alignas(64) double products[tileRows * width];
    double sum = 0;
    for (int64_t q = p; q < directions.panels(); ++q)
      for (int64_t first = 0; first < width; first += tileRows) {
        innerProducts<double>(directions.panel(p), first, directions.panel(q),
                              g.columns, products);
        for (int64_t x = 0; x < tileRows * width; ++x) {
          const int64_t i = p * width + first + x / width;
          const int64_t j = q * width + x % width;
          if (i >= j || j >= g.rows)
            continue;
          const double square = std::max(0.0, 2 - 2 * products[x]) + margin;
          sum += norms.values[i] * norms.values[j] * std::sqrt(square);
        }
      }
    sums[p] = sum;
  });
  double sum = 0;
  for (double part : sums)
    sum += part;
  // At most V^2/2 positive terms, in any order of partial sums.
  const double flow =
      sum / norms.sum * (1 + slackOf(g.rows * width + directions.panels()));
  FlowBound bound;
  bound.upper = flow / norms.scale;
  bound.ratio = std::min(1.0, norms.sum * (1 - slackOf(g.rows)) / (2 * flow));
  return bound;
}

namespace {

/// Rows minus the first one, times a power of two: a common offset cancels
/// with the rounding of one subtraction, and equal rows become zero.
class Differences {
public:
  Differences(const MatrixView &s, double scale) : s(s), scale(scale) {}
  double operator()(int64_t i, int64_t k) const {
    return (s(i, k) - s(0, k)) * scale;
  }

private:
  const MatrixView &s;
  double scale;
};

/// Weights of rows by their mean `centre` and value = sum w_i |x_i|^2 -
/// |centre|^2: for any weights value <= rad^2, for any centre max |x_i -
/// centre|^2 >= rad^2.
struct DualBall {
  std::vector<double> centre, squares;
  double weighted = 0;
  double lower = 0, upper = std::numeric_limits<double>::infinity();

  /// Equal weights.
  DualBall(const MatrixView &s, const Differences &x)
      : centre(s.columns, 0.0), squares(s.rows, 0.0) {
    const double share = 1 / static_cast<double>(s.rows);
    for (int64_t i = 0; i < s.rows; ++i) {
      for (int64_t k = 0; k < s.columns; ++k) {
        squares[i] += x(i, k) * x(i, k);
        centre[k] += x(i, k) * share;
      }
      weighted += squares[i] * share;
    }
  }

  /// Improves both bounds, then takes the best step towards the farthest row;
  /// false where they are near enough.
  bool step(const Differences &x, double tolerance) {
    double own = 0, farthest = -1;
    std::size_t row = 0;
    for (double c : centre)
      own += c * c;
    for (std::size_t i = 0; i < squares.size(); ++i) {
      double inner = 0;
      for (std::size_t k = 0; k < centre.size(); ++k)
        inner += x(i, k) * centre[k];
      const double distance = squares[i] - 2 * inner + own;
      if (distance > farthest) {
        farthest = distance;
        row = i;
      }
    }
    const double value = weighted - own;
    lower = std::max(lower, value);
    upper = std::min(upper, farthest);
    if (upper - lower <= 2 * tolerance * upper)
      return false;
    const double length =
        std::min(1.0, (farthest - value) / (2 * std::max(farthest, 1e-300)));
    for (std::size_t k = 0; k < centre.size(); ++k)
      centre[k] += length * (x(row, k) - centre[k]);
    weighted += length * (squares[row] - weighted);
    return true;
  }
};

} // namespace

/// What the diameter says of the radius.
static CoveringRadius boundByDiameter(CoveringRadius radius, double diameter,
                                      const MatrixView &s) {
  const double k = static_cast<double>(std::min(s.rows - 1, s.columns));
  const double jung = std::sqrt(k / (2 * (k + 1))) * (1 + slackOf(s.columns));
  return {std::max(radius.lower, diameter / 2),
          std::min(radius.upper, std::max(jung * diameter, diameter / 2))};
}

CoveringRadius steep::coveringRadius(const Tensor &tensor, double tolerance,
                                     int64_t mostSteps, ThreadPool *pool) {
  const MatrixView s(tensor, "the increment s");
  std::vector<double> first(s.columns);
  for (int64_t k = 0; k < s.columns; ++k)
    first[k] = s(0, k);
  const double largest = s.largest(first);
  if (std::isnan(largest))
    return {undefined, undefined};
  if (!(largest > 0))
    return {0, 0};
  const double scale = scaleFor(largest);
  const Differences x(s, scale);
  DualBall ball(s, x);
  int64_t steps = 0;
  while (steps < mostSteps && ball.step(x, tolerance))
    ++steps;
  // Every step may add its rounding to the centre.
  const double slack =
      8 * slackOf(2 * (s.rows + s.columns) + steps) *
      *std::max_element(ball.squares.begin(), ball.squares.end());
  const CoveringRadius found = {
      std::nextafter(std::sqrt(std::max(0.0, ball.lower - slack)) / scale, 0.0),
      std::nextafter(std::sqrt(ball.upper + slack) / scale,
                     std::numeric_limits<double>::infinity())};
  return boundByDiameter(found, rowDiameter(tensor, pool), s);
}
