//===- Neighbours.cpp - neighbours of Muon and RowNorm --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Neighbours.h"

#include "lib/Reference/Balls.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

using namespace steep;
using reference::Matrix;

//===----------------------------------------------------------------------===//
// Momentum as a mixture of averages
//===----------------------------------------------------------------------===//

Matrix reference::switchedEma(const Matrix &b, const Matrix &g, int64_t step,
                              double beta, int64_t last, double after) {
  return ema(b, g, step <= last ? beta : after);
}

Matrix reference::mix(const std::vector<Matrix> &x,
                      const std::vector<double> &weights) {
  if (x.empty() || x.size() != weights.size())
    throw std::invalid_argument("mix: one weight a matrix");
  Matrix sum(x[0].rows, x[0].cols);
  for (std::size_t k = 0; k < x.size(); ++k)
    sum = combine(1, sum, weights[k], x[k]);
  return sum;
}

std::vector<double> reference::annealedWeights(int64_t step, int64_t start,
                                               int64_t anneal,
                                               const std::vector<double> &from,
                                               const std::vector<double> &to) {
  double f = std::clamp(static_cast<double>(step - start) /
                            static_cast<double>(anneal),
                        0.0, 1.0);
  std::vector<double> weights(from.size());
  for (std::size_t k = 0; k < from.size(); ++k)
    weights[k] = (1 - f) * from[k] + f * to.at(k);
  return weights;
}

std::vector<double> reference::maxwellAges(std::size_t count, double youngest,
                                           double oldest) {
  std::vector<double> ages;
  for (std::size_t k = 0; k < count; ++k)
    ages.push_back(youngest * std::pow(oldest / youngest,
                                       static_cast<double>(k) /
                                           static_cast<double>(count - 1)));
  return ages;
}

std::vector<double> reference::rampWeights(const std::vector<double> &ages,
                                           double age) {
  // Two conditions: the weights sum to 1, and so do their products with the
  // ages to the mean age.
  double indices = 0, moments = 0;
  for (std::size_t i = 0; i + 1 < ages.size(); ++i) {
    indices += static_cast<double>(i + 1);
    moments += static_cast<double>(i + 1) * ages[i];
  }
  double c = (ages.back() - age) / (ages.back() * indices - moments);
  std::vector<double> weights;
  for (std::size_t i = 0; i + 1 < ages.size(); ++i)
    weights.push_back(c * static_cast<double>(i + 1));
  weights.push_back(1 - c * indices);
  return weights;
}

//===----------------------------------------------------------------------===//
// Heads and tables
//===----------------------------------------------------------------------===//

Matrix reference::clippedRow(const Matrix &g, double radius, double clip) {
  Matrix s(g.rows, g.cols);
  for (std::size_t i = 0; i < g.rows; ++i) {
    // With the k largest entries clipped, the others take what is left of the
    // norm; the right k is the first that clips none of them.
    std::vector<double> sizes;
    for (std::size_t j = 0; j < g.cols; ++j)
      if (g.at(i, j) != 0)
        sizes.push_back(std::abs(g.at(i, j)));
    std::sort(sizes.rbegin(), sizes.rend());
    std::size_t k = 0;
    double t = 0;
    for (; k < sizes.size(); ++k) {
      double rest = 0;
      for (std::size_t l = k; l < sizes.size(); ++l)
        rest += sizes[l] * sizes[l];
      double left =
          static_cast<double>(g.cols) - clip * clip * static_cast<double>(k);
      t = std::sqrt(std::max(left, 0.0) / rest);
      if (t * sizes[k] <= clip)
        break;
    }
    for (std::size_t j = 0; j < g.cols; ++j) {
      double x = g.at(i, j), size = std::abs(x);
      bool clipped = k == sizes.size() || (k > 0 && size >= sizes[k - 1]);
      double u = size == 0 ? 0 : clipped ? clip : std::min(clip, t * size);
      s.at(i, j) = -radius * std::copysign(u, x);
    }
  }
  return s;
}

static Matrix equalizeRows(const Matrix &g, double floor) {
  Matrix s(g.rows, g.cols);
  for (std::size_t i = 0; i < g.rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < g.cols; ++j)
      sum += g.at(i, j) * g.at(i, j);
    double root = std::sqrt(sum / static_cast<double>(g.cols));
    for (std::size_t j = 0; j < g.cols; ++j)
      s.at(i, j) = root <= floor ? 0 : g.at(i, j) / root;
  }
  return s;
}

static Matrix equalizeColumns(const Matrix &g, double floor) {
  return reference::transpose(equalizeRows(reference::transpose(g), floor));
}

Matrix reference::equalize(const Matrix &g, double radius, double floor,
                           bool rowsFirst) {
  Matrix s = rowsFirst ? equalizeColumns(equalizeRows(g, floor), floor)
                       : equalizeRows(equalizeColumns(g, floor), floor);
  return scale(s, -radius);
}

/// Rows of length one; each pushes those away that are nearer than `distance`.
static Matrix repel(const Matrix &x, double distance) {
  Matrix moved = x;
  for (std::size_t i = 0; i < x.rows; ++i) {
    std::vector<double> push(x.cols);
    double sum = 0, squares = 0;
    for (std::size_t k = 0; k < x.rows; ++k) {
      double square = 0;
      for (std::size_t j = 0; j < x.cols; ++j)
        square += std::pow(x.at(i, j) - x.at(k, j), 2);
      double length = std::sqrt(square);
      if (square <= 1e-5 || length >= distance)
        continue;
      double force = (distance - length) / (2 * length);
      sum += force;
      squares += force * force;
      for (std::size_t j = 0; j < x.cols; ++j)
        push[j] += force * (x.at(i, j) - x.at(k, j));
    }
    double damped = sum == 0 ? 0 : std::min(1.0, 1.5 * squares / (sum * sum));
    for (std::size_t j = 0; j < x.cols; ++j)
      moved.at(i, j) += damped * push[j];
  }
  return reference::normalizeRows(reference::center(moved), 0);
}

Matrix reference::equidistant(const Matrix &g, double radius,
                              std::size_t rounds, std::size_t steps,
                              std::size_t repulsion, double distance) {
  Matrix x = normalizeRows(g, 0);
  for (std::size_t round = 0; round < rounds; ++round)
    x = normalizeRows(center(newtonSchulz(x, polarExpress(steps, 1.01), 0)), 0);
  for (std::size_t sweep = 0; sweep < repulsion; ++sweep)
    x = repel(x, distance);
  return scale(x, -radius);
}

//===----------------------------------------------------------------------===//
// Spectral allocation
//===----------------------------------------------------------------------===//

/// Turns columns p and q of a (and of v) so that they are orthogonal; whether
/// they were not.
static bool rotateColumns(Matrix &a, Matrix &v, std::size_t p, std::size_t q) {
  double pp = 0, qq = 0, pq = 0;
  for (std::size_t i = 0; i < a.rows; ++i) {
    pp += a.at(i, p) * a.at(i, p);
    qq += a.at(i, q) * a.at(i, q);
    pq += a.at(i, p) * a.at(i, q);
  }
  if (std::abs(pq) <= 1e-15 * std::sqrt(pp * qq))
    return false;
  double zeta = (qq - pp) / (2 * pq);
  double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1, zeta)), zeta);
  double c = 1 / std::hypot(1, t), s = c * t;
  auto rotate = [&](Matrix &x) {
    for (std::size_t i = 0; i < x.rows; ++i) {
      double xp = x.at(i, p), xq = x.at(i, q);
      x.at(i, p) = c * xp - s * xq;
      x.at(i, q) = s * xp + c * xq;
    }
  };
  rotate(a);
  rotate(v);
  return true;
}

reference::SingularValues reference::singularValues(const Matrix &a) {
  if (a.rows < a.cols) {
    SingularValues turned = singularValues(transpose(a));
    std::swap(turned.left, turned.right);
    return turned;
  }
  Matrix x = a, v(a.cols, a.cols);
  for (std::size_t j = 0; j < a.cols; ++j)
    v.at(j, j) = 1;
  bool turned = true;
  for (int sweep = 0; turned && sweep < 60; ++sweep) {
    turned = false;
    for (std::size_t p = 0; p < a.cols; ++p)
      for (std::size_t q = p + 1; q < a.cols; ++q)
        turned |= rotateColumns(x, v, p, q);
  }
  std::vector<double> norms = rowSquares(transpose(x));
  std::vector<std::size_t> order(a.cols);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto p, auto q) { return norms[p] > norms[q]; });
  SingularValues result{Matrix(a.rows, a.cols), Matrix(a.cols, a.cols), {}};
  for (std::size_t k = 0; k < a.cols; ++k) {
    double value = std::sqrt(norms[order[k]]);
    result.values.push_back(value);
    for (std::size_t i = 0; i < a.rows; ++i)
      result.left.at(i, k) = value == 0 ? 0 : x.at(i, order[k]) / value;
    for (std::size_t j = 0; j < a.cols; ++j)
      result.right.at(j, k) = v.at(j, order[k]);
  }
  return result;
}

double reference::allocationWarmup(int64_t step, int64_t warmup) {
  if (warmup == 0)
    return 1;
  double x = static_cast<double>(step) / static_cast<double>(warmup);
  return (1 - std::cos(std::acos(-1.0) * std::min(x, 1.0))) / 2;
}

std::vector<double> reference::allocationProfile(double gain,
                                                 std::size_t rank) {
  std::vector<double> profile;
  for (std::size_t i = 1; i <= rank; ++i)
    profile.push_back(i == 1
                          ? 1
                          : 1 + (gain - 1) * std::log(static_cast<double>(i)) /
                                    std::log(static_cast<double>(rank)));
  return profile;
}

Matrix reference::allocate(const Matrix &s, const Matrix &m, double radius,
                           double gain, std::size_t rank, double warmup) {
  SingularValues pairs = singularValues(m);
  std::vector<double> profile = allocationProfile(gain, rank);
  Matrix result = scale(s, 1 + (gain - 1) * warmup);
  for (std::size_t k = 0; k < std::min(rank, pairs.values.size()); ++k) {
    double taken = radius * warmup * (gain - profile[k]);
    for (std::size_t i = 0; i < m.rows; ++i)
      for (std::size_t j = 0; j < m.cols; ++j)
        result.at(i, j) += taken * pairs.left.at(i, k) * pairs.right.at(j, k);
  }
  return result;
}
