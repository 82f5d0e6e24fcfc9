//===- Dense.h - products and Cholesky factors ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All dense work is one tile: a few rows of A times a panel of B. A is stored
// by rows; B in panels of panelWidth<T> columns, row after row, so that a tile
// is a sequence of broadcasts and vector multiply-adds. Sizes are padded to
// whole blocks, so that there are no remainders.
//
// Internal to the core. The templates stand in the namespace of the
// instruction set for which they are compiled.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_DENSE_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_DENSE_H

#include "runtime/Geometry/Oracle/Arena.h"

#include <string.h>

#ifndef STEEP_ORACLE_ISA
#error "define STEEP_ORACLE_ISA: baseline, avx2 or avx512"
#endif

namespace steep::oracle::STEEP_ORACLE_ISA {

/// Columns of a panel: 128 bytes of them, whatever the vectors are.
template <typename T> constexpr int64_t panelWidth = 128 / sizeof(T);
/// Sides of factors are multiples of this.
constexpr int64_t blockSize = 64;

// Vectors of the machine, and rows of a tile: its sums stay in registers.
#if defined(__AVX512F__)
constexpr int64_t vectorBytes = 64;
constexpr int tileRows = 8;
#elif defined(__AVX__)
constexpr int64_t vectorBytes = 32;
constexpr int tileRows = 2;
#else
constexpr int64_t vectorBytes = 16;
constexpr int tileRows = 1;
#endif

template <typename T> struct VectorOf;
template <> struct VectorOf<float> {
  typedef float type __attribute__((vector_size(vectorBytes), may_alias));
};
template <> struct VectorOf<double> {
  typedef double type __attribute__((vector_size(vectorBytes), may_alias));
};
/// Elements of a vector.
template <typename T> constexpr int64_t lanes = vectorBytes / sizeof(T);

template <typename T> inline typename VectorOf<T>::type &vectorAt(T *memory) {
  return *reinterpret_cast<typename VectorOf<T>::type *>(memory);
}
template <typename T>
inline const typename VectorOf<T>::type &vectorAt(const T *memory) {
  return *reinterpret_cast<const typename VectorOf<T>::type *>(memory);
}

/// sum + scalar * vector, rounded once where the machine can. Not left to the
/// compiler: a compiled step contracts nothing by itself.
template <typename T>
inline typename VectorOf<T>::type multiplyAdd(T scalar,
                                              typename VectorOf<T>::type vector,
                                              typename VectorOf<T>::type sum) {
#if defined(__clang__) && defined(__FMA__)
  const typename VectorOf<T>::type zero = {};
  return __builtin_elementwise_fma(scalar - zero, vector, sum);
#else
  return sum + scalar * vector;
#endif
}

/// C += sign A B for tileRows rows of A and one panel of B.
template <typename T>
inline void multiplyTile(const T *a, int64_t lda, const T *b, int64_t depth,
                         T *c, int64_t ldc, T sign) {
  using Vector = typename VectorOf<T>::type;
  constexpr int64_t width = panelWidth<T>;
  constexpr int parts = 128 / vectorBytes;
  Vector sums[tileRows][parts] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Vector row[parts];
#pragma GCC unroll 8
    for (int p = 0; p < parts; ++p)
      row[p] = vectorAt(b + k * width + p * lanes<T>);
#pragma GCC unroll 8
    for (int i = 0; i < tileRows; ++i) {
      const T scalar = a[i * lda + k];
#pragma GCC unroll 8
      for (int p = 0; p < parts; ++p)
        sums[i][p] = multiplyAdd(scalar, row[p], sums[i][p]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < tileRows; ++i)
#pragma GCC unroll 8
    for (int p = 0; p < parts; ++p)
      vectorAt(c + i * ldc + p * lanes<T>) += sign * sums[i][p];
}

/// C += sign A B, where C has `rows` rows (a multiple of 8) and one panel of
/// columns. Rows of C are 64-byte aligned.
template <typename T>
inline void multiply(const T *a, int64_t lda, const T *b, int64_t depth, T *c,
                     int64_t ldc, int64_t rows, T sign) {
  // A piece of B that stays in the first cache.
  constexpr int64_t piece = 256;
  for (int64_t k = 0; k < depth; k += piece) {
    const int64_t length = depth - k < piece ? depth - k : piece;
    for (int64_t i = 0; i < rows; i += tileRows)
      multiplyTile(a + i * lda + k, lda, b + k * panelWidth<T>, length,
                   c + i * ldc, ldc, sign);
  }
}

/// Rows [count, stride] to panels of `rows` rows each; the rest is zero.
template <typename From, typename T>
inline void toPanels(const From *x, int64_t count, int64_t stride, T *panels,
                     int64_t rows) {
  constexpr int64_t width = panelWidth<T>;
  for (int64_t p = 0; p < stride / width; ++p) {
    T *panel = panels + p * rows * width;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t c = 0; c < width; ++c)
        panel[i * width + c] = static_cast<T>(x[i * stride + p * width + c]);
    memset(panel + count * width, 0, (rows - count) * width * sizeof(T));
  }
}

template <typename T>
inline void fromPanels(const T *panels, int64_t rows, T *x, int64_t count,
                       int64_t stride) {
  constexpr int64_t width = panelWidth<T>;
  for (int64_t p = 0; p < stride / width; ++p)
    for (int64_t i = 0; i < count; ++i)
      memcpy(x + i * stride + p * width, panels + (p * rows + i) * width,
             width * sizeof(T));
}

/// The rows of X [count, stride] as columns: panel q holds rows q w .. q w +
/// w - 1, column k of them in its row k. What is missing is zero.
template <typename From, typename T>
inline void transposeToPanels(const From *x, int64_t count, int64_t stride,
                              int64_t columns, T *panels) {
  constexpr int64_t width = panelWidth<T>;
  for (int64_t q = 0; q * width < count; ++q)
    for (int64_t c = 0; c < width; ++c) {
      T *panel = panels + q * width * columns + c;
      const bool there = q * width + c < count;
      for (int64_t k = 0; k < columns; ++k)
        panel[k * width] =
            there ? static_cast<T>(x[(q * width + c) * stride + k]) : T(0);
    }
}

/// A lower Cholesky factor of a symmetric positive definite matrix of a
/// padded side; the upper triangle holds its transpose, so that both triangular
/// solutions read rows.
template <typename T> struct Factor {
  int64_t side = 0;
  T *matrix = nullptr;     ///< side x side, by rows
  T *inverses = nullptr;   ///< of the diagonal blocks, by rows
  T *transposed = nullptr; ///< the transposes of those
  T *scratch = nullptr;    ///< side x blockSize

  void lay(Arena &arena, int64_t padded) {
    side = padded;
    matrix = arena.take<T>(side * side);
    inverses = arena.take<T>(side * blockSize);
    transposed = arena.take<T>(side * blockSize);
    scratch = arena.take<T>((side + blockSize) * blockSize);
  }
};

/// Factors the lower triangle of `f.matrix` in place; false where it is not
/// positive definite.
bool factorize(Factor<double> &f);

/// A factor in FP32, from one in FP64.
void roundFactor(const Factor<double> &from, Factor<float> &to);

/// X <- A^-1 X for `count` panels of `f.side` rows.
template <typename T> void solvePanels(const Factor<T> &f, T *x, int64_t count);

} // namespace steep::oracle::STEEP_ORACLE_ISA

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_DENSE_H
