//===- Neighbours.h - neighbours of Muon and RowNorm ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain double loops, as in Reference.h, for the ops of GeoNeighbours.td.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_REFERENCE_NEIGHBOURS_H
#define STEEP_LIB_REFERENCE_NEIGHBOURS_H

#include "lib/Reference/Reference.h"

namespace steep::reference {

//===----------------------------------------------------------------------===//
// Momentum as a mixture of averages
//===----------------------------------------------------------------------===//

/// geo.switched_ema: geo.ema with rate `beta` at updates 1 .. last, with rate
/// `after` later.
Matrix switchedEma(const Matrix &b, const Matrix &g, int64_t step, double beta,
                   int64_t last, double after);

/// geo.mix: sum_k weights_k x_k.
Matrix mix(const std::vector<Matrix> &x, const std::vector<double> &weights);

/// (1 - f) from + f to, f = clamp((step - start) / anneal, 0, 1).
std::vector<double> annealedWeights(int64_t step, int64_t start, int64_t anneal,
                                    const std::vector<double> &from,
                                    const std::vector<double> &to);

/// K-Maxwell's ages: `count` of them, log-spaced from `youngest` to `oldest`.
/// An average of rate tau / (tau + 1) has the mean age tau.
std::vector<double> maxwellAges(std::size_t count, double youngest,
                                double oldest);
/// K-Maxwell's weights: w_i = c i for i < K, the rest for the last, with c such
/// that the mixture has the mean age `age`.
std::vector<double> rampWeights(const std::vector<double> &ages, double age);

//===----------------------------------------------------------------------===//
// Heads and tables
//===----------------------------------------------------------------------===//

/// geo.clipped_row: -r U, with u_j = sign(g_j) min(clip, t |g_j|) in each row
/// of n entries and t such that their squares sum to n, or as near as they can.
Matrix clippedRow(const Matrix &g, double radius, double clip);

/// geo.equalize: -r times g with rows and columns over their root mean squares,
/// one after the other; those of at most `floor` become zero.
Matrix equalize(const Matrix &g, double radius, double floor,
                bool rowsFirst = true);

/// geo.equidistant: -r X, X = RN(g), then rounds of X = RN(P polar(X)).
/// Then sweeps in which rows nearer than `distance` part.
Matrix equidistant(const Matrix &g, double radius, std::size_t rounds,
                   std::size_t steps, std::size_t repulsion = 0,
                   double distance = 1.1);

//===----------------------------------------------------------------------===//
// Spectral allocation
//===----------------------------------------------------------------------===//

/// a = U diag(values) V^T, values descending; as many as a's smaller side.
struct SingularValues {
  Matrix left, right; ///< columns are the vectors
  std::vector<double> values;
};
/// By rotations of columns (Jacobi).
SingularValues singularValues(const Matrix &a);

/// (1 - cos(pi min(1, step / warmup))) / 2, and 1 without warm-up.
double allocationWarmup(int64_t step, int64_t warmup);
/// s_i = 1 + (gain - 1) ln(i) / ln(rank), i = 1 .. rank.
std::vector<double> allocationProfile(double gain, std::size_t rank);

/// geo.allocate with exact singular pairs of m:
/// g s + r sum_i (g - s_i) u_i v_i^T, everything warmed up.
Matrix allocate(const Matrix &s, const Matrix &m, double radius, double gain,
                std::size_t rank, double warmup = 1);

} // namespace steep::reference

#endif // STEEP_LIB_REFERENCE_NEIGHBOURS_H
