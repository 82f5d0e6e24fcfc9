//===- Presolve.h - what of a gradient matters ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four reductions leave T(G) as it is: the mean row is subtracted; zero rows
// are dropped (any place among the others is good for them); rows that are
// positive multiples of one another become one row, their sum; and rows are
// written in coordinates of the space that they span. Where "zero", "multiple"
// and "span" hold to rounding only, the difference is kept as a residual, whose
// price Jung's theorem bounds: T(r) <= R_k sum_i ||r_i||, R_k =
// sqrt(k/(2(k+1))).
//
// Internal to the core.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_PRESOLVE_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_PRESOLVE_H

#include "runtime/Geometry/Oracle/Core.h"
#include "runtime/Geometry/Oracle/Dense.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// Columns are padded to whole panels of both types.
constexpr int64_t columnPadding = 32;

/// The gradient, centred, in FP64, and what remains of it.
struct Reduced {
  // The input.
  int64_t rows = 0, columns = 0, stride = 0;
  double *full = nullptr;   ///< rows x stride, centred
  double *norms = nullptr;  ///< of its rows
  double scale = 1;         ///< power of two that `full` was multiplied with
  double columnDefect = 0;  ///< ||column sums|| / sum of row norms, before
  int32_t *group = nullptr; ///< row -> reduced row; -1: zero
  // What is solved: count rows in `rank` coordinates, of total norm 1.
  int64_t count = 0, rank = 0, reducedStride = 0;
  double *gradient = nullptr; ///< count x reducedStride
  double *masses = nullptr;   ///< norms of its rows, sum 1
  double total = 0;           ///< what they were divided by
  double *basis = nullptr;    ///< rank x stride, orthonormal rows, or
  bool rotated = false;       ///< false: coordinates are the columns
  double residual = 0;        ///< sum of norms of what was left out
  // Work space.
  double *scratch = nullptr;
  int32_t *order = nullptr;

  /// Without basis and groups where `simple`.
  void lay(Arena &arena, int64_t rows, int64_t columns, bool simple);
};

/// Reads, scales and centres; false where an entry is not finite.
bool loadGradient(const Problem &problem, Reduced &r);
/// Groups, merges and rotates what loadGradient() left.
void presolve(Reduced &r);
/// Writes the rows x stride matrix that the reduced rows `x` stand for: zero
/// rows in their middle.
void expand(const Reduced &r, const double *x, double *full);

/// sqrt(k / (2 (k + 1))): a set of diameter 1 in k dimensions lies in a ball of
/// this radius.
inline double jungRadius(int64_t k) {
  return __builtin_sqrt(static_cast<double>(k) /
                        (2.0 * static_cast<double>(k + 1)));
}

/// The sum of a vector's lanes.
template <typename T>
inline T sumLanes(const typename VectorOf<T>::type &vector) {
  T sum = 0;
  for (int64_t lane = 0; lane < lanes<T>; ++lane)
    sum += vector[lane];
  return sum;
}

inline double dotRows(const double *a, const double *b, int64_t stride) {
  VectorOf<double>::type sum = {};
  for (int64_t k = 0; k < stride; k += lanes<double>)
    sum += vectorAt(a + k) * vectorAt(b + k);
  return sumLanes<double>(sum);
}

/// Squared distance of two rows, by subtraction.
inline double distanceRows(const double *a, const double *b, int64_t stride) {
  VectorOf<double>::type sum = {};
  for (int64_t k = 0; k < stride; k += lanes<double>) {
    const VectorOf<double>::type x = vectorAt(a + k) - vectorAt(b + k);
    sum += x * x;
  }
  return sumLanes<double>(sum);
}

/// a += factor b
inline void addRow(double *a, double factor, const double *b, int64_t stride) {
  for (int64_t k = 0; k < stride; k += lanes<double>)
    vectorAt(a + k) += factor * vectorAt(b + k);
}

/// A power of two that brings the positive `largest` near 1.
double powerOfTwoFor(double largest);

/// Sorts `order`, numbers of `keys`, by them: ascending, in place.
void sortByKey(int32_t *order, int64_t count, const double *keys);

/// Subtracts the mean row; `mean` is a row of work space.
void center(double *x, int64_t rows, int64_t stride, double *mean);

} // namespace steep::oracle::STEEP_ORACLE_ISA

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_PRESOLVE_H
