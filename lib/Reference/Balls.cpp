//===- Balls.cpp - further oracles and the rules made of them -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Balls.h"

#include <cmath>

namespace steep::reference {

//===----------------------------------------------------------------------===//
// Oracles
//===----------------------------------------------------------------------===//

Matrix sign(const Matrix &g, double radius, double eps) {
  Matrix s = g;
  for (double &x : s.data)
    x = x == 0 ? 0 : -radius * x / (std::fabs(x) + eps);
  return s;
}

Matrix frobenius(const Matrix &g, double radius, double eps) {
  double norm = frobeniusNorm(g);
  return norm == 0 ? g : scale(g, -radius / (norm + eps));
}

Matrix maxColumn(const Matrix &g, double radius, double eps) {
  return transpose(maxRow(transpose(g), radius, eps));
}

Coefficients cubic(std::size_t steps) {
  return Coefficients(steps, {1.875, -1.25, 0.375});
}

Coefficients you(std::size_t steps) {
  Coefficients all = {{4.0848, -6.8946, 2.9270},
                      {3.9505, -6.3029, 2.6377},
                      {3.7418, -5.5913, 2.3037},
                      {2.8769, -3.1427, 1.2046},
                      {2.8366, -3.0525, 1.2012}};
  all.resize(steps, all.back());
  return all;
}

Coefficients polarExpress(std::size_t steps, double safety) {
  Coefficients all = {
      {8.28721201814563, -23.595886519098837, 17.300387312530933},
      {4.107059111542203, -2.9478499167379106, 0.5448431082926601},
      {3.9486908534822946, -2.908902115962949, 0.5518191394370137},
      {3.3184196573706015, -2.488488024314874, 0.51004894012372},
      {2.300652019954817, -1.6689039845747493, 0.4188073119525673},
      {1.891301407787398, -1.2679958271945868, 0.37680408948524835},
      {1.8750014808534479, -1.2500016453999487, 0.3750001645474248}};
  for (auto &[a, b, c] : all) {
    a /= safety;
    b /= std::pow(safety, 3);
    c /= std::pow(safety, 5);
  }
  all.resize(steps, {1.875, -1.25, 0.375});
  return all;
}

Matrix polar(const Matrix &n) { return newtonSchulz(n, cubic(60), 0); }

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

RowMoment rowMoment(const Matrix &x, const Matrix &moments, double beta,
                    double eps) {
  RowMoment result{x, Matrix(x.rows, 1)};
  std::vector<double> squares = rowSquares(x);
  for (std::size_t i = 0; i < x.rows; ++i) {
    double mean = squares[i] / static_cast<double>(x.cols);
    double v = beta * moments.at(i, 0) + (1 - beta) * mean;
    result.moments.at(i, 0) = v;
    for (std::size_t j = 0; j < x.cols; ++j)
      result.normalized.at(i, j) /= std::sqrt(v) + eps;
  }
  return result;
}

Matrix applyCautiously(const Matrix &u, const Matrix &s, double decay) {
  Matrix result = u;
  for (std::size_t i = 0; i < u.data.size(); ++i) {
    bool away =
        (u.data[i] > 0 && s.data[i] > 0) || (u.data[i] < 0 && s.data[i] < 0);
    result.data[i] = (away ? 1.0 : decay) * u.data[i] + s.data[i];
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Whole rules
//===----------------------------------------------------------------------===//

Step lionStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
              const Scalars &scalars, double beta1, double beta2) {
  Matrix gc = scale(g, scalars.clip);
  return finish(w, sign(ema(buffer, gc, beta1), scalars.lr), scalars,
                ema(buffer, gc, beta2));
}

Step normuonStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
                 const Matrix &moments, const Scalars &scalars,
                 const Coefficients &coefficients, double beta, double beta2,
                 double eps) {
  Matrix gc = scale(g, scalars.clip);
  Matrix m = ema(buffer, gc, beta);
  Matrix direction = newtonSchulz(m, coefficients, 0);
  RowMoment rows = rowMoment(direction, moments, beta2, eps);
  double size =
      0.2 * scalars.lr *
      std::sqrt(static_cast<double>(w.rows) * static_cast<double>(w.cols));
  return finish(w, frobenius(rows.normalized, size), scalars, std::move(m),
                std::move(rows.moments));
}

} // namespace steep::reference
