//===- RowTwins.h - row updates as plain loops ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The updates of bench/Inputs/rows.mlir as a C++ programmer writes them: one
// loop over the rows, clip factor and bias correction folded into constants,
// `omp simd` where a sum needs it. Compiled with -O3 for the instructions that
// the artefact is compiled for. Every function does rows [begin, end).
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_BENCH_ROWTWINS_H
#define STEEP_BENCH_ROWTWINS_H

#include <cstdint>

namespace steep::bench {

/// What an update reads and writes; `a` and `b` are its states.
struct RowArrays {
  const float *g = nullptr;
  float *w = nullptr, *a = nullptr, *b = nullptr;
  int64_t rows = 0, columns = 0;
  float clip = 1, lr = 0, wd = 0;
};

struct RowTwins {
  /// The sum of the squares of each row, in FP64.
  void (*squares)(const RowArrays &, double *sums, int64_t begin, int64_t end);
  /// a <- 0.95 a + 0.05 g; w <- w (1 - lr wd) - lr a / (|a| / (1-0.95) + eps).
  void (*rowNorm)(const RowArrays &, int64_t begin, int64_t end);
  /// Projected RowNorm: first(), the column sums of a, second(), those of the
  /// normalised rows, third(). `mean` and `sums` are rows of FP32 and FP64.
  void (*projectedFirst)(const RowArrays &, double *sums, int64_t begin,
                         int64_t end);
  void (*projectedSecond)(const RowArrays &, const float *mean, double *sums,
                          int64_t begin, int64_t end);
  void (*projectedThird)(const RowArrays &, const float *mean,
                         const float *meanOfRows, int64_t begin, int64_t end);
  /// torch.optim.AdamW, its first step.
  void (*adamw)(const RowArrays &, int64_t begin, int64_t end);
  /// Lion: the sign of 0.9 a + 0.1 g; a <- 0.99 a + 0.01 g.
  void (*lion)(const RowArrays &, int64_t begin, int64_t end);
  /// a <- 0.95 a + g; w <- w + lr (g + 0.95 a).
  void (*momentum)(const RowArrays &, int64_t begin, int64_t end);
  /// Column sums of g, then w <- w + lr (g - mean).
  void (*columnSums)(const RowArrays &, double *sums, int64_t begin,
                     int64_t end);
  void (*center)(const RowArrays &, const float *mean, int64_t begin,
                 int64_t end);
};

/// Those for what steepc's --target says: "x86-64" and "x86-64-v2" baseline,
/// "x86-64-v3" AVX2, all else this machine.
const RowTwins &rowTwins(const char *target);

} // namespace steep::bench

#endif // STEEP_BENCH_ROWTWINS_H
