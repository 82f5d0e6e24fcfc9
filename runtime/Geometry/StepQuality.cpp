//===- StepQuality.cpp - a step against the exact oracle ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/StepQuality.h"

#include "runtime/Core/Error.h"
#include "runtime/Geometry/Certificate.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Geometry/Oracle.h"
#include "runtime/Geometry/Panels.h"

#include <cmath>
#include <limits>

using namespace steep;
using namespace steep::geometry;

/// -<G - 1 a^T, S>
static double centredDecrease(const MatrixView &g,
                              const std::vector<double> &mean,
                              const MatrixView &s) {
  double sum = 0;
  for (int64_t i = 0; i < g.rows; ++i) {
    double row = 0;
    for (int64_t k = 0; k < g.columns; ++k)
      row -= (g(i, k) - mean[k]) * s(i, k);
    sum += row;
  }
  return sum;
}

static void checkShapes(const MatrixView &g, const MatrixView &s) {
  if (g.rows != s.rows || g.columns != s.columns)
    fail("the gradient is {} x {} and the increment {} x {}: they must be "
         "equal",
         g.rows, g.columns, s.rows, s.columns);
}

double steep::firstOrderDecrease(const Tensor &gradient, const Tensor &s) {
  const MatrixView g(gradient, "the gradient g"), step(s, "the increment s");
  checkShapes(g, step);
  return centredDecrease(g, std::vector<double>(g.columns, 0.0), step);
}

StepQuality steep::stepQuality(const Tensor &direction, const Tensor &s,
                               ThreadPool *pool) {
  const MatrixView c(direction, "the direction c"), step(s, "the increment s");
  checkShapes(c, step);
  StepQuality quality;
  quality.decrease = centredDecrease(c, c.meanRow(), step);
  quality.certificate = rowNormCertificate(direction).ratio;
  if (c.rows > oracle::maxExactRows || c.columns > oracle::maxExactColumns)
    return quality;
  const double diameter = rowDiameter(s, pool);
  if (!std::isfinite(quality.certificate) || !std::isfinite(diameter)) {
    quality.gap = std::numeric_limits<double>::quiet_NaN();
    return quality;
  }
  const double most = diameter * solveRowDiameter(direction).report.upper;
  quality.gap = most > 0 ? 1 - quality.decrease / most : 0;
  return quality;
}
