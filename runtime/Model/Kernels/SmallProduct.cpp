//===- SmallProduct.cpp - products of attention tiles ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of attention fits the first or second cache, so nothing is packed: a
// block of tileRows x (tileColumns vectors) of C stays in registers while the
// depth runs; A is broadcast an element at a time, whatever its strides.
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Kernels/Isa.h"
#include "runtime/Model/Kernels/Simd.h"

namespace steep {
namespace STEEP_ISA {

template <int Rows, int Columns>
static inline void block(const SmallProduct &p, int64_t row, int64_t column) {
  Vector sums[Rows][Columns];
  float *c = p.c + row * p.cStride + column;
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j)
      sums[i][j] = p.add ? load(c + i * p.cStride + j * lanes) : Vector{};
  const float *a = p.a + row * p.rowStride, *b = p.b + column;
  for (int64_t k = 0; k < p.depth; ++k) {
    Vector right[Columns];
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j)
      right[j] = load(b + j * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < Columns; ++j)
        sums[i][j] += a[i * p.rowStride] * right[j];
    a += p.depthStride;
    b += p.bStride;
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j)
      store(c + i * p.cStride + j * lanes, sums[i][j]);
}

template <int Columns>
static inline void blockOf(const SmallProduct &p, int64_t row, int64_t rows,
                           int64_t column) {
  switch (rows) {
  case 1:
    return block<1, Columns>(p, row, column);
  case 2:
    return block<2, Columns>(p, row, column);
  case 3:
    return block<3, Columns>(p, row, column);
  case 4:
    return block<4, Columns>(p, row, column);
  case 5:
    return block<5, Columns>(p, row, column);
  default:
    return block<tileRows, Columns>(p, row, column);
  }
}

/// The columns that fill no vector: only head dimensions that are no multiple
/// of the lanes come here.
static void narrow(const SmallProduct &p, int64_t row, int64_t rows,
                   int64_t column) {
  for (int64_t i = row; i < row + rows; ++i)
    for (int64_t j = column; j < p.columns; ++j) {
      float sum = p.add ? p.c[i * p.cStride + j] : 0.0f;
      for (int64_t k = 0; k < p.depth; ++k)
        sum +=
            p.a[i * p.rowStride + k * p.depthStride] * p.b[k * p.bStride + j];
      p.c[i * p.cStride + j] = sum;
    }
}

void multiply(const SmallProduct &p) {
  for (int64_t row = 0; row < p.rows; row += tileRows) {
    const int64_t left = p.rows - row;
    const int64_t rows = left < tileRows ? left : tileRows;
    int64_t column = 0;
    for (; column + tileColumns * lanes <= p.columns;
         column += tileColumns * lanes)
      blockOf<tileColumns>(p, row, rows, column);
    for (; column + lanes <= p.columns; column += lanes)
      blockOf<1>(p, row, rows, column);
    if (column < p.columns)
      narrow(p, row, rows, column);
  }
}

} // namespace STEEP_ISA
} // namespace steep
