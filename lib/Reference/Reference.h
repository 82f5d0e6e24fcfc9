//===- Reference.h - every op in plain double loops -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The judge of the tests: what each op of the geo dialect, each shipped rule
// and each measurement means, in float64, as directly as it can be written.
// Nothing here is fast, shares code with the compiler or the runtime, or
// depends on them. Formulas: arXiv:2608.22253; names as in the geo dialect.
//
// Increments are signed and hold the learning rate: the new weight is the
// decayed weight plus the increment. Sizes that do not fit throw
// std::invalid_argument.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_REFERENCE_REFERENCE_H
#define STEEP_LIB_REFERENCE_REFERENCE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace steep::reference {

/// A row-major matrix. Vectors of rows are what the geometries are about, so
/// row() is the usual access.
struct Matrix {
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols)
      : rows(rows), cols(cols), data(rows * cols, 0.0) {}
  /// Converts `rows * cols` values, of float or double.
  template <typename T>
  Matrix(std::size_t rows, std::size_t cols, const T *values)
      : rows(rows), cols(cols), data(values, values + rows * cols) {}
  Matrix(std::size_t rows, std::size_t cols, std::vector<double> values);

  double &at(std::size_t i, std::size_t j) { return data[i * cols + j]; }
  double at(std::size_t i, std::size_t j) const { return data[i * cols + j]; }
  double *row(std::size_t i) { return data.data() + i * cols; }
  const double *row(std::size_t i) const { return data.data() + i * cols; }

  std::size_t rows = 0, cols = 0;
  std::vector<double> data;
};

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

Matrix transpose(const Matrix &a);
Matrix multiply(const Matrix &a, const Matrix &b);
/// x * a + y * b.
Matrix combine(double x, const Matrix &a, double y, const Matrix &b);
double frobeniusNorm(const Matrix &a);
/// ||a - b||_F / max(||b||_F, 1e-30), and 0 where both are 0: how the tests
/// compare.
double relativeDifference(const Matrix &a, const Matrix &b);

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

/// geo.scale: c * g.
Matrix scale(const Matrix &g, double c);
/// geo.ema: beta * b + (1 - beta) * g.
Matrix ema(const Matrix &b, const Matrix &g, double beta);

struct Momentum {
  Matrix buffer;   ///< beta * b + g
  Matrix nesterov; ///< beta * buffer + g
};
/// geo.momentum, both results.
Momentum momentum(const Matrix &b, const Matrix &g, double beta);
/// geo.correct_bias: b / (1 - beta^(step + ahead)); the first step is 1.
Matrix correctBias(const Matrix &b, double beta, int64_t step,
                   int64_t ahead = 0);
/// geo.center: g minus its mean row.
Matrix center(const Matrix &g);
/// geo.normalize_rows: g_i / (||g_i|| + eps); a zero row stays zero, also with
/// eps = 0. Rows of any magnitude that float64 holds are right.
Matrix normalizeRows(const Matrix &g, double eps);
/// geo.row_squares: ||g_i||^2.
std::vector<double> rowSquares(const Matrix &g);
/// geo.apply: decay * u + s, where decay is 1 - lr * wd.
Matrix apply(const Matrix &u, const Matrix &s, double decay);

enum class ShapeScale {
  Original,      ///< sqrt(max(1, m / n)) (K. Jordan 2024)
  Ratio,         ///< sqrt(m / n)
  MatchRmsAdamW, ///< 0.2 sqrt(max(m, n))
  RowRms,        ///< sqrt(n)
  Rms,           ///< sqrt(m n)
  Mean,          ///< 1 / n
};
/// geo.shape_scale: r times the factor of an m x n matrix.
double shapeScale(double r, std::size_t m, std::size_t n,
                  ShapeScale kind = ShapeScale::Original);

//===----------------------------------------------------------------------===//
// Oracles
//===----------------------------------------------------------------------===//

/// geo.max_row: -r * c_i / (||c_i|| + eps).
Matrix maxRow(const Matrix &c, double radius, double eps);
/// geo.common_ball: -r * P RN_eps(P c), both projections materialised.
Matrix commonBall(const Matrix &c, double radius, double eps);

/// (a, b, c) of the steps X <- a X + (b A + c A^2) X with A = X X^T.
using Coefficients = std::vector<std::array<double, 3>>;
/// (3.4445, -4.7750, 2.0315) at every step (K. Jordan 2024).
Coefficients jordan(std::size_t steps = 5);
/// What becomes of an element of a product's operand before it is multiplied;
/// empty: nothing.
using Rounding = std::function<double(double)>;
/// To the nearest binary32 number and from there to the nearest bf16 one, ties
/// to even.
double roundToBf16(double x);
/// Newton-Schulz on n / (||n||_F + eps), on the transpose where n is tall.
/// `round` is applied to both operands of each product, and to nothing else.
Matrix newtonSchulz(const Matrix &n, const Coefficients &coefficients,
                    double eps, const Rounding &round = {});
/// geo.spectral: -r * newtonSchulz(n).
Matrix spectral(const Matrix &n, double radius,
                const Coefficients &coefficients, double eps,
                const Rounding &round = {});

//===----------------------------------------------------------------------===//
// Whole rules: the new state, the increment and the new weight
//===----------------------------------------------------------------------===//

/// Learning rate (schedule included), decoupled weight decay, factor on the
/// gradient, number of this update (from 1).
struct Scalars {
  double lr = 0.0;
  double wd = 0.0;
  double clip = 1.0;
  int64_t step = 1;
};

struct Step {
  Matrix weight;    ///< (1 - lr * wd) * w + increment
  Matrix increment; ///< signed, without the decay
  Matrix state;     ///< momentum_buffer, or exp_avg
  Matrix second;    ///< exp_avg_sq of AdamW, else empty
};

/// The end of every rule: decay, then the increment.
Step finish(const Matrix &w, Matrix increment, const Scalars &scalars,
            Matrix state, Matrix second = {});

/// geo.adamw, PyTorch's AdamW:
/// -lr * (m / (1 - beta1^t)) / (sqrt(v) / sqrt(1 - beta2^t) + eps).
Step adamwStep(const Matrix &w, const Matrix &g, const Matrix &expAvg,
               const Matrix &expAvgSq, const Scalars &scalars,
               double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-10);
/// Muon: momentum with Nesterov, then the spectral oracle with radius
/// lr * sqrt(max(1, m / n)).
Step muonStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
              const Scalars &scalars, double beta = 0.95, double eps = 1e-5,
              const Coefficients &coefficients = jordan(),
              const Rounding &round = {});
/// RowNorm: bias-corrected average, then -lr * RN_eps, rows not centred: on a
/// head whose gradient has zero column sums and whose loss is blind to a
/// common shift that is the common ball's oracle.
Step rownormStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
                 const Scalars &scalars, double beta = 0.95, double eps = 1e-8);

//===----------------------------------------------------------------------===//
// What holds for all parameters
//===----------------------------------------------------------------------===//

/// #optim.warmup_cosine at update `t` (from 0) of `total`.
double scheduleScale(int64_t t, int64_t total, double warmup = 0.1,
                     double floor = 0.1);
/// #optim.global_norm: min(1, max / (norm + 1e-6)).
double clipFactor(double norm, double max = 1.0);
/// Euclidean norm over all entries of all matrices.
double globalNorm(const std::vector<Matrix> &gradients);

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// D(S): the largest distance of two rows; 0 with fewer than two.
double diameter(const Matrix &s);
/// delta(S): the smallest distance of two rows; infinite with fewer than
/// two.
double separation(const Matrix &s);
/// sqrt(mean over rows h of (max_i (S h)_i - min_i (S h)_i)^2).
double hilbertRms(const Matrix &s, const Matrix &h);

} // namespace steep::reference

#endif // STEEP_LIB_REFERENCE_REFERENCE_H
