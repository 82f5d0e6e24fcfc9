//===- Dense.cpp - Cholesky factors ---------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Dense.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// Factors one diagonal block in place, column after column.
static bool factorizeBlock(double *a, int64_t lda) {
  double column[blockSize];
  for (int64_t j = 0; j < blockSize; ++j) {
    const double pivot = a[j * lda + j];
    if (!(pivot > 0))
      return false;
    const double root = __builtin_sqrt(pivot);
    a[j * lda + j] = root;
    for (int64_t i = j + 1; i < blockSize; ++i)
      column[i] = a[i * lda + j] /= root;
    for (int64_t i = j + 1; i < blockSize; ++i) {
      const double factor = column[i];
      for (int64_t k = j + 1; k <= i; ++k)
        a[i * lda + k] -= factor * column[k];
    }
  }
  return true;
}

/// The inverse of a lower triangular block, and its transpose.
static void invertBlock(const double *a, int64_t lda, double *inverse,
                        double *transposed) {
  memset(inverse, 0, blockSize * blockSize * sizeof(double));
  for (int64_t i = 0; i < blockSize; ++i) {
    double *row = inverse + i * blockSize;
    for (int64_t k = 0; k < i; ++k) {
      const double factor = a[i * lda + k];
      const double *known = inverse + k * blockSize;
      for (int64_t j = 0; j <= k; ++j)
        row[j] -= factor * known[j];
    }
    const double pivot = 1 / a[i * lda + i];
    for (int64_t j = 0; j < i; ++j)
      row[j] *= pivot;
    row[i] = pivot;
  }
  for (int64_t i = 0; i < blockSize; ++i)
    for (int64_t j = 0; j < blockSize; ++j)
      transposed[j * blockSize + i] = inverse[i * blockSize + j];
}

/// Rows below the diagonal block: C <- C inverse^T, and the transpose above.
static void finishPanel(Factor<double> &f, int64_t begin) {
  constexpr int64_t width = panelWidth<double>;
  const int64_t lda = f.side;
  double *packed = f.scratch, *rows = f.scratch + blockSize * blockSize;
  transposeToPanels(f.inverses + begin * blockSize, blockSize, blockSize,
                    blockSize, packed);
  for (int64_t i = begin + blockSize; i < f.side; i += blockSize) {
    for (int64_t r = 0; r < blockSize; ++r) {
      double *row = f.matrix + (i + r) * lda + begin;
      memcpy(rows + r * blockSize, row, blockSize * sizeof(double));
      memset(row, 0, blockSize * sizeof(double));
    }
    for (int64_t p = 0; p < blockSize; p += width)
      multiply(rows, blockSize, packed + p * blockSize, blockSize,
               f.matrix + i * lda + begin + p, lda, blockSize, 1.0);
    for (int64_t c = 0; c < blockSize; ++c)
      for (int64_t r = 0; r < blockSize; ++r)
        f.matrix[(begin + c) * lda + i + r] =
            f.matrix[(i + r) * lda + begin + c];
  }
}

bool factorize(Factor<double> &f) {
  constexpr int64_t width = panelWidth<double>;
  const int64_t lda = f.side;
  for (int64_t begin = 0; begin < f.side; begin += blockSize) {
    // What the columns to the left contribute to these columns.
    transposeToPanels(f.matrix + begin * lda, blockSize, lda, begin, f.scratch);
    for (int64_t i = begin; i < f.side; i += blockSize)
      for (int64_t p = 0; p < blockSize; p += width)
        multiply(f.matrix + i * lda, lda, f.scratch + p * begin, begin,
                 f.matrix + i * lda + begin + p, lda, blockSize, -1.0);
    double *diagonal = f.matrix + begin * lda + begin;
    if (!factorizeBlock(diagonal, lda))
      return false;
    invertBlock(diagonal, lda, f.inverses + begin * blockSize,
                f.transposed + begin * blockSize);
    finishPanel(f, begin);
  }
  return true;
}

void roundFactor(const Factor<double> &from, Factor<float> &to) {
  to.side = from.side;
  for (int64_t i = 0; i < from.side * from.side; ++i)
    to.matrix[i] = static_cast<float>(from.matrix[i]);
  for (int64_t i = 0; i < from.side * blockSize; ++i) {
    to.inverses[i] = static_cast<float>(from.inverses[i]);
    to.transposed[i] = static_cast<float>(from.transposed[i]);
  }
}

/// Replaces the block C (blockSize rows of one panel) by A C.
template <typename T> static void transformBlock(const T *a, T *c) {
  alignas(64) T copy[blockSize * panelWidth<T>];
  memcpy(copy, c, sizeof(copy));
  memset(c, 0, sizeof(copy));
  multiply(a, blockSize, copy, blockSize, c, panelWidth<T>, blockSize, T(1));
}

template <typename T>
void solvePanels(const Factor<T> &f, T *x, int64_t count) {
  constexpr int64_t width = panelWidth<T>;
  const int64_t lda = f.side;
  // The rows of the factor are read once for all panels.
  for (int64_t begin = 0; begin < f.side; begin += blockSize)
    for (int64_t p = 0; p < count; ++p) {
      T *panel = x + p * f.side * width;
      multiply(f.matrix + begin * lda, lda, panel, begin, panel + begin * width,
               width, blockSize, T(-1));
      transformBlock(f.inverses + begin * blockSize, panel + begin * width);
    }
  for (int64_t begin = f.side - blockSize; begin >= 0; begin -= blockSize)
    for (int64_t p = 0; p < count; ++p) {
      T *panel = x + p * f.side * width;
      const int64_t after = begin + blockSize;
      multiply(f.matrix + begin * lda + after, lda, panel + after * width,
               f.side - after, panel + begin * width, width, blockSize, T(-1));
      transformBlock(f.transposed + begin * blockSize, panel + begin * width);
    }
}

template void solvePanels<double>(const Factor<double> &, double *, int64_t);
template void solvePanels<float>(const Factor<float> &, float *, int64_t);

} // namespace steep::oracle::STEEP_ORACLE_ISA
