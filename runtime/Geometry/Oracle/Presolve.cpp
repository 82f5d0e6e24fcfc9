//===- Presolve.cpp - what of a gradient matters --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Presolve.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// Relative to the largest row norm: shorter rows are rounding.
static constexpr double zeroTolerance = 1e-15;
/// Unit rows that differ by no more in any coordinate are parallel.
static constexpr double parallelTolerance = 1e-12;
/// Relative to the largest row norm: what stands out of the span by less is
/// rounding.
static constexpr double rankTolerance = 1e-13;

void Reduced::lay(Arena &arena, int64_t givenRows, int64_t givenColumns,
                  bool simple) {
  rows = givenRows;
  columns = givenColumns;
  stride = roundUp(columns, columnPadding);
  const int64_t padded = roundUp(rows, blockSize);
  full = arena.take<double>(padded * stride);
  norms = arena.take<double>(rows);
  scratch = arena.take<double>(2 * rows + 16 + 4 * stride);
  if (simple)
    return;
  group = arena.take<int32_t>(rows);
  order = arena.take<int32_t>(rows);
  // At most min(rows, columns) coordinates; laid out for the worst case.
  gradient = arena.take<double>(padded * stride);
  masses = arena.take<double>(rows);
  const int64_t most = rows < columns ? rows : columns;
  basis = arena.take<double>(most * stride);
}

void center(double *x, int64_t rows, int64_t stride, double *mean) {
  memset(mean, 0, stride * sizeof(double));
  for (int64_t i = 0; i < rows; ++i)
    addRow(mean, 1, x + i * stride, stride);
  const double share = -1 / static_cast<double>(rows);
  for (int64_t k = 0; k < stride; ++k)
    mean[k] *= share;
  for (int64_t i = 0; i < rows; ++i)
    addRow(x + i * stride, 1, mean, stride);
}

double powerOfTwoFor(double largest) {
  double scale = 1;
  // 2^±1000 spans what FP64 holds; a loop, since no library may be called.
  for (int i = 0; i < 1000 && largest * scale >= 1; ++i)
    scale *= 0.5;
  for (int i = 0; i < 1000 && largest * scale < 0.5; ++i)
    scale *= 2;
  return scale;
}

bool loadGradient(const Problem &problem, Reduced &r) {
  double largest = 0;
  const int64_t count = r.rows * r.columns;
  for (int64_t i = 0; i < count; ++i) {
    const double x = problem.single ? static_cast<double>(problem.single[i])
                                    : problem.wide[i];
    const double size = x < 0 ? -x : x;
    if (!(size <= 1.7976931348623157e308))
      return false;
    largest = size > largest ? size : largest;
  }
  r.scale = largest > 0 ? powerOfTwoFor(largest) : 1;
  for (int64_t i = 0; i < r.rows; ++i) {
    double *row = r.full + i * r.stride;
    for (int64_t k = 0; k < r.columns; ++k) {
      const int64_t at = i * r.columns + k;
      row[k] = (problem.single ? static_cast<double>(problem.single[at])
                               : problem.wide[at]) *
               r.scale;
    }
    for (int64_t k = r.columns; k < r.stride; ++k)
      row[k] = 0;
  }
  // Twice: a common offset is subtracted with an error of its own size.
  center(r.full, r.rows, r.stride, r.scratch);
  double sum = dotRows(r.scratch, r.scratch, r.stride);
  center(r.full, r.rows, r.stride, r.scratch);
  double norms = 0;
  for (int64_t i = 0; i < r.rows; ++i) {
    const double *row = r.full + i * r.stride;
    norms += r.norms[i] = __builtin_sqrt(dotRows(row, row, r.stride));
  }
  r.total = norms;
  r.columnDefect =
      norms > 0 ? __builtin_sqrt(sum) * static_cast<double>(r.rows) / norms : 0;
  return true;
}

/// Heap sort.
void sortByKey(int32_t *order, int64_t count, const double *keys) {
  auto sift = [&](int64_t root, int64_t end) {
    for (int64_t child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && keys[order[child]] < keys[order[child + 1]])
        ++child;
      if (!(keys[order[root]] < keys[order[child]]))
        return;
      const int32_t swapped = order[root];
      order[root] = order[child];
      order[child] = swapped;
    }
  };
  for (int64_t i = count / 2 - 1; i >= 0; --i)
    sift(i, count);
  for (int64_t end = count - 1; end > 0; --end) {
    const int32_t swapped = order[0];
    order[0] = order[end];
    order[end] = swapped;
    sift(0, end);
  }
}

static bool isParallel(const Reduced &r, int64_t i, int64_t j) {
  const double *a = r.full + i * r.stride, *b = r.full + j * r.stride;
  for (int64_t k = 0; k < r.columns; ++k) {
    const double difference = a[k] / r.norms[i] - b[k] / r.norms[j];
    if (difference > parallelTolerance || difference < -parallelTolerance)
      return false;
  }
  return true;
}

/// Numbers the directions of the rows. Parallel rows have nearly equal
/// projections on any vector, so that they are neighbours in their order.
static void groupRows(Reduced &r) {
  double *direction = r.scratch, *keys = r.scratch + r.stride;
  uint64_t random = 0x9e3779b97f4a7c15u;
  for (int64_t k = 0; k < r.stride; ++k) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    direction[k] = static_cast<double>(random >> 11) * 0x1p-53 - 0.5;
  }
  double largest = 0;
  for (int64_t i = 0; i < r.rows; ++i)
    largest = r.norms[i] > largest ? r.norms[i] : largest;
  int64_t nonzero = 0;
  for (int64_t i = 0; i < r.rows; ++i) {
    r.group[i] = -1;
    if (!(r.norms[i] > zeroTolerance * largest))
      continue;
    keys[i] = dotRows(direction, r.full + i * r.stride, r.stride) / r.norms[i];
    r.order[nonzero++] = static_cast<int32_t>(i);
  }
  sortByKey(r.order, nonzero, keys);
  const double reach =
      2 * parallelTolerance * static_cast<double>(r.columns) + 1e-15;
  r.count = 0;
  for (int64_t a = 0; a < nonzero; ++a) {
    const int64_t i = r.order[a];
    if (r.group[i] >= 0)
      continue;
    r.group[i] = static_cast<int32_t>(r.count);
    for (int64_t b = a + 1; b < nonzero; ++b) {
      const int64_t j = r.order[b];
      if (keys[j] - keys[i] > reach)
        break;
      if (r.group[j] < 0 && isParallel(r, i, j))
        r.group[j] = static_cast<int32_t>(r.count);
    }
    ++r.count;
  }
}

/// Sums the rows of every group, in the coordinates of the input.
static void mergeRows(Reduced &r) {
  memset(r.gradient, 0, roundUp(r.count, blockSize) * r.stride * 8);
  for (int64_t i = 0; i < r.rows; ++i)
    if (r.group[i] >= 0)
      addRow(r.gradient + r.group[i] * r.stride, 1, r.full + i * r.stride,
             r.stride);
}

/// Gram-Schmidt with pivoting: an orthonormal basis of what the merged rows
/// span. Leaves rank = columns without a basis where they span everything.
static void findBasis(Reduced &r) {
  double *left = r.scratch; // squared norms of what the basis does not reach
  double *vector = r.scratch + roundUp(r.rows, 8);
  double largest = 0;
  for (int64_t i = 0; i < r.count; ++i) {
    const double *row = r.gradient + i * r.stride;
    left[i] = dotRows(row, row, r.stride);
    largest = left[i] > largest ? left[i] : largest;
  }
  const double least = rankTolerance * __builtin_sqrt(largest);
  for (r.rank = 0; r.rank < r.columns && r.rank < r.count;) {
    int64_t pivot = 0;
    for (int64_t i = 1; i < r.count; ++i)
      pivot = left[i] > left[pivot] ? i : pivot;
    memcpy(vector, r.gradient + pivot * r.stride, r.stride * sizeof(double));
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t b = 0; b < r.rank; ++b) {
        const double *known = r.basis + b * r.stride;
        addRow(vector, -dotRows(vector, known, r.stride), known, r.stride);
      }
    const double norm = __builtin_sqrt(dotRows(vector, vector, r.stride));
    if (!(norm > least)) {
      // What left[] kept was cancellation; the next one may be real.
      if (!(left[pivot] > 0))
        break;
      left[pivot] = 0;
      continue;
    }
    double *added = r.basis + r.rank++ * r.stride;
    for (int64_t k = 0; k < r.stride; ++k)
      added[k] = vector[k] / norm;
    for (int64_t i = 0; i < r.count; ++i) {
      const double part = dotRows(r.gradient + i * r.stride, added, r.stride);
      left[i] = left[i] > part * part ? left[i] - part * part : 0;
    }
    left[pivot] = 0;
  }
  r.rotated = r.rank < r.columns;
}

/// Writes the merged rows in coordinates of the basis, in place: row i of the
/// result begins no later than row i of the source.
static void rotateRows(Reduced &r) {
  if (!r.rotated) {
    r.reducedStride = r.stride;
    return;
  }
  r.reducedStride = roundUp(r.rank, columnPadding);
  double *row = r.scratch;
  for (int64_t i = 0; i < r.count; ++i) {
    memcpy(row, r.gradient + i * r.stride, r.stride * sizeof(double));
    double *to = r.gradient + i * r.reducedStride;
    for (int64_t b = 0; b < r.rank; ++b)
      to[b] = dotRows(row, r.basis + b * r.stride, r.stride);
    for (int64_t b = r.rank; b < r.reducedStride; ++b)
      to[b] = 0;
  }
}

/// Adds up how far every row is from its share of what is solved.
static void measureResidual(Reduced &r) {
  double *row = r.scratch;
  r.residual = 0;
  for (int64_t i = 0; i < r.rows; ++i) {
    if (r.group[i] < 0) {
      r.residual += r.norms[i];
      continue;
    }
    const double *merged = r.gradient + r.group[i] * r.reducedStride;
    const double share = r.norms[i] / r.masses[r.group[i]];
    memcpy(row, r.full + i * r.stride, r.stride * sizeof(double));
    if (r.rotated)
      for (int64_t b = 0; b < r.rank; ++b)
        addRow(row, -share * merged[b], r.basis + b * r.stride, r.stride);
    else
      addRow(row, -share, merged, r.stride);
    r.residual += __builtin_sqrt(dotRows(row, row, r.stride));
  }
}

void presolve(Reduced &r) {
  groupRows(r);
  mergeRows(r);
  findBasis(r);
  rotateRows(r);
  double total = 0;
  for (int64_t i = 0; i < r.count; ++i) {
    const double *row = r.gradient + i * r.reducedStride;
    total += r.masses[i] = __builtin_sqrt(dotRows(row, row, r.reducedStride));
  }
  measureResidual(r);
  r.total = total;
  if (!(total > 0))
    return;
  for (int64_t i = 0; i < r.count; ++i) {
    double *row = r.gradient + i * r.reducedStride;
    for (int64_t k = 0; k < r.reducedStride; ++k)
      row[k] /= total;
    r.masses[i] /= total;
  }
}

void expand(const Reduced &r, const double *x, double *full) {
  double *middle = r.scratch;
  memset(middle, 0, r.stride * sizeof(double));
  int64_t placed = 0;
  for (int64_t i = 0; i < r.rows; ++i) {
    if (r.group[i] < 0)
      continue;
    double *to = full + i * r.stride;
    const double *from = x + r.group[i] * r.reducedStride;
    if (r.rotated) {
      memset(to, 0, r.stride * sizeof(double));
      for (int64_t b = 0; b < r.rank; ++b)
        addRow(to, from[b], r.basis + b * r.stride, r.stride);
    } else {
      memcpy(to, from, r.stride * sizeof(double));
    }
    addRow(middle, 1, to, r.stride);
    ++placed;
  }
  for (int64_t k = 0; k < r.stride; ++k)
    middle[k] /= static_cast<double>(placed > 0 ? placed : 1);
  for (int64_t i = 0; i < r.rows; ++i)
    if (r.group[i] < 0)
      memcpy(full + i * r.stride, middle, r.stride * sizeof(double));
}

} // namespace steep::oracle::STEEP_ORACLE_ISA
