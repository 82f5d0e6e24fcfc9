//===- Reference.cpp - every op in plain double loops ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace steep::reference {

static void expectFit(bool fits, const char *what) {
  if (!fits)
    throw std::invalid_argument(what);
}

static bool sameShape(const Matrix &a, const Matrix &b) {
  return a.rows == b.rows && a.cols == b.cols;
}

Matrix::Matrix(std::size_t rows, std::size_t cols, std::vector<double> values)
    : rows(rows), cols(cols), data(std::move(values)) {
  expectFit(data.size() == rows * cols, "Matrix: rows * cols values expected");
}

/// The Euclidean norm of `count` values. Dividing by the largest first keeps
/// the squares from vanishing or overflowing.
static double euclideanNorm(const double *values, std::size_t count) {
  double largest = 0.0, sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(values[i]))
      return values[i];
    largest = std::max(largest, std::abs(values[i]));
  }
  if (largest == 0.0 || std::isinf(largest))
    return largest;
  for (std::size_t i = 0; i < count; ++i)
    sum += (values[i] / largest) * (values[i] / largest);
  return largest * std::sqrt(sum);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

Matrix transpose(const Matrix &a) {
  Matrix result(a.cols, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.cols; ++j)
      result.at(j, i) = a.at(i, j);
  return result;
}

Matrix multiply(const Matrix &a, const Matrix &b) {
  expectFit(a.cols == b.rows, "multiply: inner sizes differ");
  Matrix result(a.rows, b.cols);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.cols; ++k)
      for (std::size_t j = 0; j < b.cols; ++j)
        result.at(i, j) += a.at(i, k) * b.at(k, j);
  return result;
}

Matrix combine(double x, const Matrix &a, double y, const Matrix &b) {
  expectFit(sameShape(a, b), "combine: shapes differ");
  Matrix result(a.rows, a.cols);
  for (std::size_t i = 0; i < a.data.size(); ++i)
    result.data[i] = x * a.data[i] + y * b.data[i];
  return result;
}

double frobeniusNorm(const Matrix &a) {
  return euclideanNorm(a.data.data(), a.data.size());
}

double relativeDifference(const Matrix &a, const Matrix &b) {
  double difference = frobeniusNorm(combine(1.0, a, -1.0, b));
  return difference == 0.0 ? 0.0
                           : difference / std::max(frobeniusNorm(b), 1e-30);
}

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

Matrix scale(const Matrix &g, double c) {
  Matrix result = g;
  for (double &x : result.data)
    x *= c;
  return result;
}

Matrix ema(const Matrix &b, const Matrix &g, double beta) {
  return combine(beta, b, 1.0 - beta, g);
}

Momentum momentum(const Matrix &b, const Matrix &g, double beta) {
  Matrix buffer = combine(beta, b, 1.0, g);
  Matrix nesterov = combine(beta, buffer, 1.0, g);
  return {std::move(buffer), std::move(nesterov)};
}

Matrix correctBias(const Matrix &b, double beta, int64_t step, int64_t ahead) {
  Matrix result = b;
  for (double &x : result.data)
    x /= 1.0 - std::pow(beta, static_cast<double>(step + ahead));
  return result;
}

Matrix center(const Matrix &g) {
  Matrix result = g;
  for (std::size_t j = 0; j < g.cols; ++j) {
    double sum = 0.0;
    for (std::size_t i = 0; i < g.rows; ++i)
      sum += g.at(i, j);
    for (std::size_t i = 0; i < g.rows; ++i)
      result.at(i, j) -= sum / static_cast<double>(g.rows);
  }
  return result;
}

Matrix normalizeRows(const Matrix &g, double eps) {
  Matrix result = g;
  for (std::size_t i = 0; i < g.rows; ++i) {
    double norm = euclideanNorm(g.row(i), g.cols);
    if (norm == 0.0)
      continue;
    for (std::size_t j = 0; j < g.cols; ++j)
      result.at(i, j) /= norm + eps;
  }
  return result;
}

std::vector<double> rowSquares(const Matrix &g) {
  std::vector<double> result(g.rows, 0.0);
  for (std::size_t i = 0; i < g.rows; ++i)
    for (std::size_t j = 0; j < g.cols; ++j)
      result[i] += g.at(i, j) * g.at(i, j);
  return result;
}

Matrix apply(const Matrix &u, const Matrix &s, double decay) {
  return combine(decay, u, 1.0, s);
}

double shapeScale(double r, std::size_t m, std::size_t n, ShapeScale kind) {
  auto rows = static_cast<double>(m), cols = static_cast<double>(n);
  switch (kind) {
  case ShapeScale::Original:
    return r * std::sqrt(std::max(1.0, rows / cols));
  case ShapeScale::Ratio:
    return r * std::sqrt(rows / cols);
  case ShapeScale::MatchRmsAdamW:
    return r * 0.2 * std::sqrt(std::max(rows, cols));
  case ShapeScale::RowRms:
    return r * std::sqrt(cols);
  case ShapeScale::Rms:
    return r * std::sqrt(rows * cols);
  case ShapeScale::Mean:
    return r / cols;
  }
  throw std::invalid_argument("shapeScale: unknown kind");
}

//===----------------------------------------------------------------------===//
// Oracles
//===----------------------------------------------------------------------===//

Matrix maxRow(const Matrix &c, double radius, double eps) {
  return scale(normalizeRows(c, eps), -radius);
}

Matrix commonBall(const Matrix &c, double radius, double eps) {
  return scale(center(normalizeRows(center(c), eps)), -radius);
}

Coefficients jordan(std::size_t steps) {
  return Coefficients(steps, {3.4445, -4.7750, 2.0315});
}

double roundToBf16(double x) {
  const float narrow = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  if (!std::isnan(narrow))
    bits += 0x7fff + ((bits >> 16) & 1);
  bits &= 0xffff0000;
  float rounded;
  std::memcpy(&rounded, &bits, sizeof rounded);
  return rounded;
}

Matrix newtonSchulz(const Matrix &n, const Coefficients &coefficients,
                    double eps, const Rounding &round) {
  if (n.rows > n.cols)
    return transpose(newtonSchulz(transpose(n), coefficients, eps, round));
  double norm = frobeniusNorm(n);
  if (norm == 0.0)
    return n;
  auto operand = [&](const Matrix &m) {
    Matrix rounded = m;
    if (round)
      std::transform(m.data.begin(), m.data.end(), rounded.data.begin(), round);
    return rounded;
  };
  Matrix x = scale(n, 1.0 / (norm + eps));
  for (auto [a, b, c] : coefficients) {
    const Matrix left = operand(x);
    Matrix gram = multiply(left, transpose(left));
    const Matrix square = operand(gram);
    Matrix z = combine(b, gram, c, multiply(square, square));
    x = combine(a, x, 1.0, multiply(operand(z), left));
  }
  return x;
}

Matrix spectral(const Matrix &n, double radius,
                const Coefficients &coefficients, double eps,
                const Rounding &round) {
  return scale(newtonSchulz(n, coefficients, eps, round), -radius);
}

//===----------------------------------------------------------------------===//
// Whole rules
//===----------------------------------------------------------------------===//

Step finish(const Matrix &w, Matrix increment, const Scalars &scalars,
            Matrix state, Matrix second) {
  Matrix weight = apply(w, increment, 1.0 - scalars.lr * scalars.wd);
  return {std::move(weight), std::move(increment), std::move(state),
          std::move(second)};
}

Step adamwStep(const Matrix &w, const Matrix &g, const Matrix &expAvg,
               const Matrix &expAvgSq, const Scalars &scalars, double beta1,
               double beta2, double eps) {
  expectFit(sameShape(w, g) && sameShape(w, expAvg) && sameShape(w, expAvgSq),
            "adamwStep: shapes differ");
  Matrix gc = scale(g, scalars.clip);
  Matrix m = ema(expAvg, gc, beta1);
  Matrix squares = gc;
  for (double &x : squares.data)
    x *= x;
  Matrix v = ema(expAvgSq, squares, beta2);
  double correction1 = 1.0 - std::pow(beta1, scalars.step);
  double correction2 = 1.0 - std::pow(beta2, scalars.step);
  Matrix s(w.rows, w.cols);
  for (std::size_t i = 0; i < s.data.size(); ++i)
    s.data[i] = -scalars.lr * (m.data[i] / correction1) /
                (std::sqrt(v.data[i]) / std::sqrt(correction2) + eps);
  return finish(w, std::move(s), scalars, std::move(m), std::move(v));
}

Step muonStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
              const Scalars &scalars, double beta, double eps,
              const Coefficients &coefficients, const Rounding &round) {
  Momentum m = momentum(buffer, scale(g, scalars.clip), beta);
  double radius = shapeScale(scalars.lr, w.rows, w.cols);
  return finish(w, spectral(m.nesterov, radius, coefficients, eps, round),
                scalars, std::move(m.buffer));
}

Step rownormStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
                 const Scalars &scalars, double beta, double eps) {
  Matrix b = ema(buffer, scale(g, scalars.clip), beta);
  Matrix s = maxRow(correctBias(b, beta, scalars.step), scalars.lr, eps);
  return finish(w, std::move(s), scalars, std::move(b));
}

//===----------------------------------------------------------------------===//
// What holds for all parameters
//===----------------------------------------------------------------------===//

double scheduleScale(int64_t t, int64_t total, double warmup, double floor) {
  auto ramp =
      static_cast<int64_t>(std::floor(warmup * static_cast<double>(total)));
  if (t < ramp)
    return static_cast<double>(t) / static_cast<double>(ramp);
  int64_t last = total - ramp - 1;
  if (last <= 0)
    return floor;
  const double pi = 3.14159265358979323846;
  double p =
      std::min(1.0, static_cast<double>(t - ramp) / static_cast<double>(last));
  return floor + (1.0 - floor) * 0.5 * (1.0 + std::cos(pi * p));
}

double clipFactor(double norm, double max) {
  return std::min(1.0, max / (norm + 1e-6));
}

double globalNorm(const std::vector<Matrix> &gradients) {
  std::vector<double> norms;
  for (const Matrix &g : gradients)
    norms.push_back(frobeniusNorm(g));
  return euclideanNorm(norms.data(), norms.size());
}

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// Calls `visit` with the distance of each pair of rows.
template <typename Visit>
static void forEachDistance(const Matrix &s, Visit visit) {
  std::vector<double> difference(s.cols);
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t k = i + 1; k < s.rows; ++k) {
      for (std::size_t j = 0; j < s.cols; ++j)
        difference[j] = s.at(i, j) - s.at(k, j);
      visit(euclideanNorm(difference.data(), difference.size()));
    }
}

double diameter(const Matrix &s) {
  double result = 0.0;
  forEachDistance(s, [&](double d) { result = std::max(result, d); });
  return result;
}

double separation(const Matrix &s) {
  double result = std::numeric_limits<double>::infinity();
  forEachDistance(s, [&](double d) { result = std::min(result, d); });
  return result;
}

double hilbertRms(const Matrix &s, const Matrix &h) {
  expectFit(s.cols == h.cols, "hilbertRms: widths of s and h differ");
  if (h.rows == 0 || s.rows == 0)
    return 0.0;
  Matrix logits = multiply(h, transpose(s));
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.rows; ++i) {
    auto [low, high] =
        std::minmax_element(logits.row(i), logits.row(i) + logits.cols);
    sum += (*high - *low) * (*high - *low);
  }
  return std::sqrt(sum / static_cast<double>(h.rows));
}

} // namespace steep::reference
