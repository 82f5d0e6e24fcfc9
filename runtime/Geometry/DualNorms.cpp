//===- DualNorms.cpp - what the oracles of many balls decrease ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Certificate.h"
#include "runtime/Geometry/Cloud.h"

#include <cmath>

using namespace steep;
using namespace steep::geometry;

/// The sum of singular values of the rows `a` (count vectors of `length`), by
/// one-sided Jacobi rotations: they make the rows orthogonal, and then their
/// norms are the singular values.
static double nuclearNorm(std::vector<double> a, int64_t count,
                          int64_t length) {
  constexpr int mostSweeps = 40;
  auto inner = [&](int64_t i, int64_t j) {
    const double *x = &a[i * length], *y = &a[j * length];
    double lanes[8] = {};
    int64_t k = 0;
    for (; k + 8 <= length; k += 8)
      for (int lane = 0; lane < 8; ++lane)
        lanes[lane] += x[k + lane] * y[k + lane];
    for (; k < length; ++k)
      lanes[0] += x[k] * y[k];
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
           ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  };
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < mostSweeps; ++sweep) {
    rotated = false;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = i + 1; j < count; ++j) {
        const double p = inner(i, i), q = inner(j, j), r = inner(i, j);
        if (std::fabs(r) <= 1e-14 * std::sqrt(p * q))
          continue;
        rotated = true;
        const double zeta = (q - p) / (2 * r);
        const double t = std::copysign(1.0, zeta) /
                         (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        double *x = &a[i * length], *y = &a[j * length];
        for (int64_t k = 0; k < length; ++k) {
          const double old = x[k];
          x[k] = c * old - s * y[k];
          y[k] = s * old + c * y[k];
        }
      }
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += std::sqrt(inner(i, i));
  return sum;
}

/// The sum of the norms of the rows of G - 1 a^T, times `scale`.
static double sumOfRowNorms(const MatrixView &g,
                            const std::vector<double> &shift, double scale) {
  double sum = 0;
  for (int64_t i = 0; i < g.rows; ++i) {
    double square = 0;
    for (int64_t k = 0; k < g.columns; ++k)
      square += std::pow((g(i, k) - shift[k]) * scale, 2);
    sum += std::sqrt(square);
  }
  return sum;
}

DualNorms steep::dualNorms(const Tensor &gradient) {
  const MatrixView g(gradient, "the gradient g");
  const std::vector<double> none(g.columns, 0.0);
  const double largest = g.largest(none);
  if (std::isnan(largest))
    return {largest, largest, largest, largest, largest, largest};
  if (!(largest > 0))
    return {};
  const double scale = scaleFor(largest);
  // The shorter side becomes the rows that are rotated.
  const bool tall = g.rows > g.columns;
  const int64_t length = tall ? g.rows : g.columns;
  std::vector<double> a(g.rows * g.columns), columns(g.columns, 0.0);
  DualNorms norms;
  for (int64_t i = 0; i < g.rows; ++i)
    for (int64_t k = 0; k < g.columns; ++k) {
      const double x = g(i, k) * scale;
      a[tall ? k * length + i : i * length + k] = x;
      columns[k] += x * x;
      norms.sign += std::fabs(x);
    }
  double squares = 0;
  for (double square : columns) {
    norms.maxColumn += std::sqrt(square);
    squares += square;
  }
  norms.frobenius = std::sqrt(squares);
  norms.maxRow = sumOfRowNorms(g, none, scale);
  norms.commonBall = sumOfRowNorms(g, g.meanRow(), scale);
  norms.nuclear = nuclearNorm(std::move(a), tall ? g.columns : g.rows, length);
  for (double *norm : {&norms.nuclear, &norms.commonBall, &norms.maxRow,
                       &norms.maxColumn, &norms.sign, &norms.frobenius})
    *norm /= scale;
  return norms;
}
