//===- Measures.cpp - measurements in a compiled step ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What steep-run measures with threads and tensors, on one thread and in memory
// that is handed over. Products in FP32 say which pairs may decide; those are
// measured by subtraction, in FP64, from the input itself.
//
// Included by StepKernel.cpp.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Presolve.h"
#include "runtime/Geometry/Oracle/Sweep.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// A matrix and memory to measure it in.
struct Measure {
  const float *matrix;
  int64_t rows, columns;
  void *arena;
  int64_t arenaBytes;
};

/// The rows, centred and scaled to a size near 1, in an order of their own.
struct Points {
  const Measure &input;
  int64_t stride, padded;
  double *x = nullptr;     ///< rows x stride
  double *radii = nullptr; ///< norms of the rows of x
  double *keys = nullptr;
  int32_t *order = nullptr;  ///< x's row -> the input's
  double *scratch = nullptr; ///< 20 x stride
  Cloud<float> cloud;
  double scale = 0; ///< 0: a matrix of equal rows; NaN: one is not finite

  explicit Points(const Measure &measure)
      : input(measure), stride(roundUp(measure.columns, columnPadding)),
        padded(roundUp(measure.rows, blockSize)) {
    Arena arena(measure.arena);
    x = arena.take<double>(padded * stride);
    radii = arena.take<double>(padded);
    keys = arena.take<double>(padded);
    order = arena.take<int32_t>(measure.rows);
    scratch = arena.take<double>(20 * stride);
    cloud.lay(arena, measure.rows, stride);
    scale = __builtin_nan("");
    // steepc laid out the work space for this very size.
    if (arena.bytes() <= measure.arenaBytes)
      load();
  }

  /// Whether there is something to measure; else `answer` is 0 or NaN.
  bool isPlain() const { return scale > 0; }

  /// The squared distance of two rows of x, scaled: by subtraction of what was
  /// given, where a common offset does no harm.
  double distance(int64_t i, int64_t j) const {
    const float *a = input.matrix + order[i] * input.columns;
    const float *b = input.matrix + order[j] * input.columns;
    double sum = 0;
    for (int64_t k = 0; k < input.columns; ++k) {
      const double d =
          (static_cast<double>(a[k]) - static_cast<double>(b[k])) * scale;
      sum += d * d;
    }
    return sum;
  }

  /// Puts the longest rows first, and fills the cloud.
  void sort() {
    for (int64_t i = 0; i < input.rows; ++i)
      keys[i] = -radii[i];
    sortByKey(order, input.rows, keys);
    fill();
    cloud.load(x, input.rows, stride, 1);
  }

private:
  /// x and radii, in the order, from the input.
  void fill() {
    const double *mean = scratch;
    for (int64_t i = 0; i < input.rows; ++i) {
      const float *from = input.matrix + order[i] * input.columns;
      double *row = x + i * stride;
      for (int64_t k = 0; k < input.columns; ++k)
        row[k] = (static_cast<double>(from[k]) - mean[k]) * scale;
      for (int64_t k = input.columns; k < stride; ++k)
        row[k] = 0;
      radii[i] = __builtin_sqrt(dotRows(row, row, stride));
    }
  }

  void load() {
    double *mean = scratch;
    memset(mean, 0, stride * sizeof(double));
    for (int64_t i = 0; i < input.rows; ++i) {
      order[i] = static_cast<int32_t>(i);
      for (int64_t k = 0; k < input.columns; ++k)
        mean[k] += static_cast<double>(input.matrix[i * input.columns + k]);
    }
    for (int64_t k = 0; k < input.columns; ++k)
      mean[k] /= static_cast<double>(input.rows);
    double largest = 0;
    for (int64_t i = 0; i < input.rows; ++i)
      for (int64_t k = 0; k < input.columns; ++k) {
        const double d =
            static_cast<double>(input.matrix[i * input.columns + k]) - mean[k];
        const double size = d < 0 ? -d : d;
        if (!(size <= 1e300))
          return;
        largest = size > largest ? size : largest;
      }
    scale = largest > 0 ? powerOfTwoFor(largest) : 0;
    if (scale > 0)
      fill();
  }
};

/// The squared distance of two rows that are far apart: hops from row to row
/// farthest from it.
static double hopFar(const Points &points) {
  constexpr int hops = 4;
  double best = 0;
  int64_t at = 0;
  for (int hop = 0; hop < hops; ++hop) {
    int64_t next = at;
    double longest = -1;
    for (int64_t j = 0; j < points.input.rows; ++j) {
      const double d =
          distanceRows(points.x + at * points.stride,
                       points.x + j * points.stride, points.stride);
      if (d > longest) {
        longest = d;
        next = j;
      }
    }
    const double exact = points.distance(at, next);
    best = exact > best ? exact : best;
    at = next;
  }
  return best;
}

double measureDiameter(const Measure &measure) {
  Points points(measure);
  if (!points.isPlain())
    return points.scale;
  points.sort();
  const Cloud<float> &cloud = points.cloud;
  const double margin = cloud.margin();
  double best = hopFar(points);
  sweepPairs(
      cloud,
      [&](int64_t i, int64_t j0, const float *d) {
        if (!(static_cast<double>(largestOf(d)) > best - margin))
          return;
        for (int64_t c = 0; c < panelWidth<float>; ++c) {
          const int64_t j = j0 + c;
          if (j <= i || j >= cloud.count ||
              !(static_cast<double>(d[c]) > best - margin))
            continue;
          const double exact = points.distance(i, j);
          best = exact > best ? exact : best;
        }
      },
      // No two rows from here on are longer together.
      [&](int64_t a, int64_t b) {
        const double reach = points.radii[a] + points.radii[b];
        return reach * reach * (1 + 1e-9) < best;
      });
  return __builtin_sqrt(best) / points.scale;
}

/// The smallest of a panel's values.
static float smallestOf(const float *values) {
  float least = values[0];
  for (int64_t c = 1; c < panelWidth<float>; ++c)
    least = values[c] < least ? values[c] : least;
  return least;
}

double measureSeparation(const Measure &measure) {
  Points points(measure);
  if (measure.rows < 2 && points.scale == points.scale)
    return __builtin_inf();
  if (!points.isPlain())
    return points.scale;
  points.sort();
  const Cloud<float> &cloud = points.cloud;
  const double margin = cloud.margin();
  double best = points.distance(0, 1);
  for (int64_t i = 1; i + 1 < measure.rows; ++i) {
    const double next = points.distance(i, i + 1);
    best = next < best ? next : best;
  }
  sweepPairs(
      cloud,
      [&](int64_t i, int64_t j0, const float *d) {
        if (!(static_cast<double>(smallestOf(d)) < best + margin))
          return;
        for (int64_t c = 0; c < panelWidth<float>; ++c) {
          const int64_t j = j0 + c;
          if (j <= i || j >= cloud.count ||
              !(static_cast<double>(d[c]) < best + margin))
            continue;
          const double exact = points.distance(i, j);
          best = exact < best ? exact : best;
        }
      },
      // Rows from here on are shorter than all of this block, by more.
      [&](int64_t a, int64_t b) {
        const int64_t last =
            a + blockSize < cloud.count ? a + blockSize - 1 : cloud.count - 1;
        const double apart = points.radii[last] - points.radii[b];
        return !(best > 0) || (apart > 0 && apart * apart > best * (1 + 1e-9));
      });
  return __builtin_sqrt(best) / points.scale;
}

/// Weights of the rows, by their mean c: value = sum w_i |x_i|^2 - |c|^2 is at
/// most rad^2 for any weights, max |x_i - c|^2 at least, for any c.
void measureCovering(const Measure &measure, double &lower, double &upper) {
  constexpr int64_t mostSteps = 2000;
  constexpr double tolerance = 1e-3;
  Points points(measure);
  lower = upper = points.scale;
  if (!points.isPlain())
    return;
  const int64_t stride = points.stride;
  double *centre = points.scratch;
  memset(centre, 0, stride * sizeof(double));
  const double share = 1 / static_cast<double>(measure.rows);
  double weighted = 0, least = 0, most = 1e300, longest = 0;
  for (int64_t i = 0; i < measure.rows; ++i) {
    addRow(centre, share, points.x + i * stride, stride);
    weighted += share * points.radii[i] * points.radii[i];
  }
  for (int64_t step = 0; step < mostSteps; ++step) {
    const double own = dotRows(centre, centre, stride);
    double farthest = -1;
    int64_t row = 0;
    for (int64_t i = 0; i < measure.rows; ++i) {
      const double d = distanceRows(points.x + i * stride, centre, stride);
      if (d > farthest) {
        farthest = d;
        row = i;
      }
    }
    const double value = weighted - own;
    least = value > least ? value : least;
    most = farthest < most ? farthest : most;
    longest = farthest > longest ? farthest : longest;
    if (!(most - least > 2 * tolerance * most))
      break;
    const double wanted = (farthest - value) / (2 * farthest);
    const double length = wanted < 1 ? wanted : 1;
    const double *to = points.x + row * stride;
    for (int64_t k = 0; k < stride; ++k)
      centre[k] += length * (to[k] - centre[k]);
    weighted += length * (points.radii[row] * points.radii[row] - weighted);
  }
  // Every step may add its rounding, the input's offset has one of its own.
  const double slack =
      longest * static_cast<double>(8 * (measure.rows + stride + mostSteps)) *
      0x1p-53;
  least = least > slack ? least - slack : 0;
  lower = __builtin_sqrt(least) / points.scale;
  upper = __builtin_sqrt(most + slack) / points.scale;
}

double measureHilbert(const Measure &measure, const float *states,
                      int64_t count) {
  constexpr int64_t width = panelWidth<double>;
  Points points(measure);
  const int64_t stride = points.stride, columns = measure.columns;
  double largest = 0;
  for (int64_t i = 0; i < count * columns; ++i) {
    const double size = __builtin_fabs(static_cast<double>(states[i]));
    if (!(size <= 1e300))
      return __builtin_nan("");
    largest = size > largest ? size : largest;
  }
  if (!points.isPlain() || !(largest > 0))
    return points.isPlain() ? 0 : points.scale;
  const double scale = powerOfTwoFor(largest);
  memset(points.x + measure.rows * stride, 0,
         (points.padded - measure.rows) * stride * sizeof(double));
  double *panel = points.scratch, sum = 0;
  alignas(64) double products[blockSize * width];
  for (int64_t first = 0; first < count; first += width) {
    const int64_t end = count - first < width ? count - first : width;
    for (int64_t k = 0; k < stride; ++k)
      for (int64_t c = 0; c < width; ++c)
        panel[k * width + c] =
            k < columns && c < end
                ? static_cast<double>(states[(first + c) * columns + k]) * scale
                : 0;
    double most[width], least[width];
    for (int64_t c = 0; c < width; ++c) {
      most[c] = -1e300;
      least[c] = 1e300;
    }
    for (int64_t a = 0; a < measure.rows; a += blockSize) {
      memset(products, 0, sizeof(products));
      multiply(points.x + a * stride, stride, panel, stride, products, width,
               blockSize, 1.0);
      for (int64_t i = 0; i < blockSize && a + i < measure.rows; ++i)
        for (int64_t c = 0; c < width; ++c) {
          const double value = products[i * width + c];
          most[c] = value > most[c] ? value : most[c];
          least[c] = value < least[c] ? value : least[c];
        }
    }
    for (int64_t c = 0; c < end; ++c)
      sum += (most[c] - least[c]) * (most[c] - least[c]);
  }
  return __builtin_sqrt(sum / static_cast<double>(count)) / points.scale /
         scale;
}

/// Makes rows i and j of `x` orthogonal; false where they are.
static bool rotate(double *x, double *y, int64_t stride) {
  const double p = dotRows(x, x, stride), q = dotRows(y, y, stride),
               r = dotRows(x, y, stride);
  if (!(__builtin_fabs(r) > 1e-14 * __builtin_sqrt(p * q)))
    return false;
  const double zeta = (q - p) / (2 * r);
  const double root = __builtin_fabs(zeta) + __builtin_sqrt(1 + zeta * zeta);
  const double t = zeta < 0 ? -1 / root : 1 / root;
  const double c = 1 / __builtin_sqrt(1 + t * t), s = c * t;
  for (int64_t k = 0; k < stride; k += lanes<double>) {
    const VectorOf<double>::type old = vectorAt(x + k);
    vectorAt(x + k) = c * old - s * vectorAt(y + k);
    vectorAt(y + k) = s * old + c * vectorAt(y + k);
  }
  return true;
}

/// One-sided Jacobi: rotations make the rows of the smaller side orthogonal;
/// then their norms are the singular values.
double measureNuclear(const Measure &measure) {
  constexpr int mostSweeps = 40;
  const bool wide = measure.rows <= measure.columns;
  const int64_t count = wide ? measure.rows : measure.columns;
  const int64_t length = wide ? measure.columns : measure.rows;
  const int64_t stride = roundUp(length, columnPadding);
  double *x = static_cast<double *>(measure.arena), largest = 0;
  for (int64_t i = 0; i < measure.rows * measure.columns; ++i) {
    const double size = __builtin_fabs(static_cast<double>(measure.matrix[i]));
    if (!(size <= 1e300))
      return __builtin_nan("");
    largest = size > largest ? size : largest;
  }
  if (!(largest > 0))
    return 0;
  const double scale = powerOfTwoFor(largest);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < stride; ++k)
      x[i * stride + k] =
          k >= length
              ? 0
              : scale * static_cast<double>(
                            measure.matrix[wide ? i * measure.columns + k
                                                : k * measure.columns + i]);
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < mostSweeps; ++sweep) {
    rotated = false;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = i + 1; j < count; ++j)
        rotated |= rotate(x + i * stride, x + j * stride, stride);
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += __builtin_sqrt(dotRows(x + i * stride, x + i * stride, stride));
  return sum / scale;
}

} // namespace steep::oracle::STEEP_ORACLE_ISA
