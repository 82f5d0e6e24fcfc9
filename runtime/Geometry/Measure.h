//===- Measure.h - what an increment does to a head -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measurements of a signed increment S [V, d] (learning rate included, weight
// decay excluded; arXiv:2608.22253):
//
//   row diameter  D(S)     = max over i < j of ||s_i - s_j||
//   separation    delta(S) = min over i < j of ||s_i - s_j||
//   rho(S)                 = delta(S) / D(S)
//   Hilbert RMS            = sqrt(mean over h of (max_i <s_i, h> -
//                                                 min_i <s_i, h>)^2)
//
// All are blind to one vector added to every row; the mean row is subtracted
// before anything is rounded. FP32 input is searched in FP32 and FP64 input in
// FP64; the pairs that decide are recomputed in FP64 from the input by direct
// subtraction. Results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_MEASURE_H
#define STEEP_RUNTIME_GEOMETRY_MEASURE_H

#include "runtime/Core/Tensor.h"

namespace steep {

class ThreadPool;

/// D(S). 0 for a single row, NaN where an entry is not finite. Throws Error
/// unless `s` is a matrix of F32 or F64 with at least one row and column.
/// `looked` receives the part of all pairs of blocks of rows that norms did not
/// rule out.
double rowDiameter(const Tensor &s, ThreadPool *pool = nullptr,
                   double *looked = nullptr);

/// delta(S). Infinity for a single row, NaN where an entry is not finite.
double rowSeparation(const Tensor &s, ThreadPool *pool = nullptr);

/// delta / D; NaN (undefined) for a single row and where all rows are equal.
double separationRatio(double separation, double diameter);

/// The Hilbert RMS of `s` [V, d] over the hidden states `h` [N, d]. NaN where
/// an entry is not finite.
double hilbertRms(const Tensor &s, const Tensor &h, ThreadPool *pool = nullptr);

} // namespace steep

#endif // STEEP_RUNTIME_GEOMETRY_MEASURE_H
