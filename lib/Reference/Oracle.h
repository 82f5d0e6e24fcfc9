//===- Oracle.h - the row diameter's geometry, in plain loops ---*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_REFERENCE_ORACLE_H
#define STEEP_LIB_REFERENCE_ORACLE_H

#include "lib/Reference/Reference.h"

namespace steep::reference {

/// D(S), over all pairs of rows.
double rowDiameter(const Matrix &s);

/// lower <= T(G) <= upper: the row-diameter oracle decreases `<G, S>` by eta
/// T(G) over D(S) <= eta (arXiv:2608.22253).
struct Tension {
  double lower, upper;
};

/// By the alternating direction method of multipliers over all pairs, until the
/// relative gap is within `tolerance`: O(V^2 d) memory and time an iteration,
/// for small V, and nothing in common with the runtime's oracle.
Tension tension(const Matrix &gradient, double tolerance,
                int64_t mostIterations);

/// 1/sqrt(2 (1 - sum n_i^2 / (sum n_i)^2)), n_i the norms of the centred rows:
/// what projected RowNorm reaches at least of the oracle's decrease.
double rowNormCertificate(const Matrix &gradient);

} // namespace steep::reference

#endif // STEEP_LIB_REFERENCE_ORACLE_H
