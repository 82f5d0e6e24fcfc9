//===- Panels.h - rows packed for inner products ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inner products of all pairs of rows, in small tiles. Rows are packed into
// panels of panelRows<T> rows, stored column after column, so that a tile of
// tileRows x panelRows products is a sequence of broadcasts and vector FMAs.
//
// Internal to runtime/Geometry.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_PANELS_H
#define STEEP_RUNTIME_GEOMETRY_PANELS_H

#include "runtime/Core/Tensor.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace steep {
class ThreadPool;
}

namespace steep::geometry {

/// Rows of a panel: two vectors of 64 bytes.
template <typename T> constexpr int64_t panelRows = 128 / sizeof(T);
/// Rows of a tile: what fits into registers.
constexpr int64_t tileRows = 8;

/// Rows of a matrix, packed; missing rows of the last panel are zero.
template <typename T> class Panels {
public:
  Panels(int64_t rows, int64_t columns);
  int64_t rows() const { return count; }
  int64_t columns() const { return width; }
  int64_t panels() const { return (count + panelRows<T> - 1) / panelRows<T>; }
  T &at(int64_t row, int64_t column) {
    return values()[(row / panelRows<T> * width + column) * panelRows<T> +
                    row % panelRows<T>];
  }
  const T *panel(int64_t index) const {
    return values() + index * width * panelRows<T>;
  }

private:
  T *values() const { return static_cast<T *>(memory.data()); }
  int64_t count, width;
  Tensor memory; // aligned
};

/// out[i][j] = <row i of a, row j of b> for tileRows rows i of the panel `a`,
/// from `first` on, and all rows j of the panel `b`. `out` is 64-byte aligned.
template <typename T>
void innerProducts(const T *a, int64_t first, const T *b, int64_t columns,
                   T *out);

/// A matrix of F32 or F64, read as double.
class MatrixView {
public:
  /// Throws Error, naming `what`, unless the tensor is such a matrix.
  MatrixView(const Tensor &tensor, const char *what);
  int64_t rows, columns;
  double operator()(int64_t i, int64_t j) const {
    const int64_t at = i * columns + j;
    return single ? static_cast<double>(single[at]) : wide[at];
  }
  bool isDouble() const { return wide != nullptr; }
  /// The largest |entry| of this minus `shift` a row; NaN where any entry is
  /// not finite.
  double largest(const std::vector<double> &shift) const;
  std::vector<double> meanRow() const;

private:
  const float *single = nullptr;
  const double *wide = nullptr;
};

/// Calls task(i) for i = 0 .. count - 1, each once, handing out one after the
/// other to the threads of `pool` (NULL: the caller's thread).
void forEach(ThreadPool *pool, int64_t count,
             const std::function<void(int64_t)> &task);

} // namespace steep::geometry

#endif // STEEP_RUNTIME_GEOMETRY_PANELS_H
