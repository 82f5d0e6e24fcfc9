//===- Balls.h - further oracles and the rules made of them -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Reference.h, for the balls beside the spectral norm and the common ball,
// for the family of Newton-Schulz schedules, and for the rules of the shipped
// specs that use them.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_REFERENCE_BALLS_H
#define STEEP_LIB_REFERENCE_BALLS_H

#include "lib/Reference/Reference.h"

namespace steep::reference {

//===----------------------------------------------------------------------===//
// Oracles
//===----------------------------------------------------------------------===//

/// geo.sign: -r * g / (|g| + eps), 0 for 0.
Matrix sign(const Matrix &g, double radius, double eps = 0);
/// geo.frobenius: -r * G / (||G||_F + eps), 0 for 0.
Matrix frobenius(const Matrix &g, double radius, double eps = 0);
/// geo.max_column: -r * g_j / (||g_j|| + eps) for every column.
Matrix maxColumn(const Matrix &g, double radius, double eps = 0);

/// The five triples of `you`, the last one repeated.
Coefficients you(std::size_t steps);
/// Seven triples over s, s^3, s^5, then those of cubic.
Coefficients polarExpress(std::size_t steps, double safety);
/// (15/8, -10/8, 3/8) at every step.
Coefficients cubic(std::size_t steps);
/// The polar factor U V^T, by as many cubic steps as it takes; 0 for 0.
Matrix polar(const Matrix &n);

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

struct RowMoment {
  Matrix normalized; ///< x_i / (sqrt(v_i) + eps)
  Matrix moments;    ///< beta v + (1 - beta) mean_j x_ij^2, one column
};
/// geo.row_moment.
RowMoment rowMoment(const Matrix &x, const Matrix &moments, double beta,
                    double eps);
/// geo.apply with cautious decay: an entry decays by lr * wd only where
/// u * s <= 0.
Matrix applyCautiously(const Matrix &u, const Matrix &s, double decay);

//===----------------------------------------------------------------------===//
// Whole rules
//===----------------------------------------------------------------------===//

/// Lion: S = -lr sign(beta1 m + (1 - beta1) g), m <- beta2 m + (1 - beta2) g.
Step lionStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
              const Scalars &scalars, double beta1 = 0.9, double beta2 = 0.99);
/// NorMuon: Muon's polar factor, its rows divided by the root of their averaged
/// mean square, the whole rescaled to RMS 0.2 lr. `second` are the moments.
Step normuonStep(const Matrix &w, const Matrix &g, const Matrix &buffer,
                 const Matrix &moments, const Scalars &scalars,
                 const Coefficients &coefficients, double beta = 0.95,
                 double beta2 = 0.95, double eps = 1e-8);

} // namespace steep::reference

#endif // STEEP_LIB_REFERENCE_BALLS_H
