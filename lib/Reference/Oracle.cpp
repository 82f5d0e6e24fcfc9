//===- Oracle.cpp - the row diameter's geometry, in plain loops
//------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// maximise <G, X> over ||z_ij|| <= 1, z_ij = x_i - x_j. The penalty's quadratic
// form in X is V P, so that the first half step is a mean over pairs; the
// second projects every pair onto the unit ball; scaled multipliers times the
// penalty are a flow, which becomes a balanced one when every pair takes its
// share (r_i - r_j)/V of what is left.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace steep::reference;

namespace {

class ADMM {
public:
  explicit ADMM(const Matrix &gradient);
  Tension solve(double tolerance, int64_t mostIterations);

private:
  void iterate();
  Tension bounds() const;
  double norm(const double *row) const {
    double sum = 0;
    for (int64_t k = 0; k < d; ++k)
      sum += row[k] * row[k];
    return std::sqrt(sum);
  }
  double *pair(std::vector<double> &of, int64_t i, int64_t j) {
    return of.data() + (i * n + j) * d;
  }

  int64_t n, d;
  double scale = 0, penalty;
  std::vector<double> g, x, z, u;
};

} // namespace

ADMM::ADMM(const Matrix &gradient)
    : n(int64_t(gradient.rows)), d(int64_t(gradient.cols)),
      penalty(2.0 / (n * n)), g(n * d), x(n * d), z(n * n * d), u(n * n * d) {
  for (int64_t k = 0; k < d; ++k) {
    double mean = 0;
    for (int64_t i = 0; i < n; ++i)
      mean += gradient.data[i * d + k] / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i)
      g[i * d + k] = gradient.data[i * d + k] - mean;
  }
  for (int64_t i = 0; i < n; ++i)
    scale += norm(&g[i * d]);
  for (double &value : g)
    value /= scale > 0 ? scale : 1;
}

void ADMM::iterate() {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < d; ++k) {
      double sum = g[i * d + k] / penalty;
      for (int64_t j = 0; j < n; ++j)
        sum += pair(z, i, j)[k] - pair(u, i, j)[k];
      x[i * d + k] = sum / static_cast<double>(n);
    }
  std::vector<double> a(d);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double *zij = pair(z, i, j), *uij = pair(u, i, j);
      for (int64_t k = 0; k < d; ++k)
        a[k] = 1.6 * (x[i * d + k] - x[j * d + k]) - 0.6 * zij[k] + uij[k];
      const double length = norm(a.data());
      const double factor = length > 1 ? 1 / length : 1;
      for (int64_t k = 0; k < d; ++k) {
        zij[k] = factor * a[k];
        uij[k] = a[k] - zij[k];
      }
    }
}

Tension ADMM::bounds() const {
  std::vector<double> left = g, difference(d);
  double inner = 0, diameter = 0, tension = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < d; ++k)
        left[i * d + k] -= penalty * u[(i * n + j) * d + k];
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < d; ++k)
      inner += g[i * d + k] * x[i * d + k];
    for (int64_t j = 0; j < i; ++j) {
      for (int64_t k = 0; k < d; ++k)
        difference[k] = x[i * d + k] - x[j * d + k];
      diameter = std::max(diameter, norm(difference.data()));
      for (int64_t k = 0; k < d; ++k)
        difference[k] = penalty * u[(i * n + j) * d + k] +
                        (left[i * d + k] - left[j * d + k]) / n;
      tension += norm(difference.data());
    }
  }
  return {diameter > 0 ? inner / diameter : 0, tension};
}

Tension ADMM::solve(double tolerance, int64_t mostIterations) {
  Tension best{0, HUGE_VAL};
  if (!(scale > 0))
    return {0, 0};
  for (int64_t k = 1; k <= mostIterations; ++k) {
    iterate();
    if (k % 25)
      continue;
    const Tension now = bounds();
    best.lower = std::max(best.lower, now.lower);
    best.upper = std::min(best.upper, now.upper);
    if (best.upper - best.lower <= tolerance * best.upper)
      break;
  }
  return {best.lower * scale, best.upper * scale};
}

Tension steep::reference::tension(const Matrix &gradient, double tolerance,
                                  int64_t mostIterations) {
  return ADMM(gradient).solve(tolerance, mostIterations);
}

double steep::reference::rowDiameter(const Matrix &s) {
  double most = 0;
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double square = 0;
      for (std::size_t k = 0; k < s.cols; ++k)
        square += (s.at(i, k) - s.at(j, k)) * (s.at(i, k) - s.at(j, k));
      most = std::max(most, square);
    }
  return std::sqrt(most);
}

double steep::reference::rowNormCertificate(const Matrix &gradient) {
  const Matrix g = center(gradient);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < g.rows; ++i) {
    double square = 0;
    for (std::size_t k = 0; k < g.cols; ++k)
      square += g.at(i, k) * g.at(i, k);
    sum += std::sqrt(square);
    squares += square;
  }
  return sum > 0 ? 1 / std::sqrt(2 * (1 - squares / (sum * sum))) : 1;
}
