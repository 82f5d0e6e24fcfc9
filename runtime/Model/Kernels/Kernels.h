//===- Kernels.h - the model's own vector loops -----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything but the large matrix products. The sources in this folder are
// compiled once an instruction set (CMakeLists.txt), each time into its own
// namespace, and chosen at run time: the program needs nothing beyond the
// baseline. A kernel works on the rows it is given, in the caller's thread.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_KERNELS_KERNELS_H
#define STEEP_RUNTIME_MODEL_KERNELS_KERNELS_H

#include <cstdint>
#include <vector>

namespace steep {

/// One head of one sequence: rows of headDim values, `stride` floats apart.
struct AttentionHead {
  int64_t length;
  int64_t headDim;
  int64_t stride;
  const float *q, *k, *v; ///< normalised and rotated; v as projected
  float *out;             ///< written forward, read backward
  /// The log-sum-exp of each query's scores, kept as two numbers so that
  /// backward recomputes the very probabilities: the largest score and the
  /// reciprocal of the sum of exp(score - largest).
  float *rowMax, *rowInverse;
  // Backward only.
  const float *dOut;
  float *dq, *dk, *dv; ///< written
};

/// Queries and keys are taken in tiles of this many.
constexpr int64_t attentionTile = 64;

/// Floats of scratch memory that the attention kernels need, 64-byte aligned.
int64_t attentionScratch(int64_t headDim);

struct Kernels {
  const char *name; ///< "baseline", "avx2", "avx512"

  /// y = x * r and scales = r, r = 1/sqrt(mean(x^2) + 1e-6) of each row.
  void (*norm)(const float *x, float *y, float *scales, int64_t rows,
               int64_t width);
  /// dx (+)= the gradient of norm at x, given dy.
  void (*normBackward)(const float *x, const float *scales, const float *dy,
                       float *dx, int64_t rows, int64_t width, bool add);

  /// In place, for each row and head: norm, then rotation. Row r stands at
  /// position (firstRow + r) % length; `cosines` and `sines` hold headDim/2
  /// values a position. `scales` holds rows * heads values.
  void (*normRotate)(float *x, float *scales, const float *cosines,
                     const float *sines, int64_t firstRow, int64_t rows,
                     int64_t length, int64_t heads, int64_t headDim);
  /// In place on dx; x as normRotate left it.
  void (*normRotateBackward)(const float *x, const float *scales, float *dx,
                             const float *cosines, const float *sines,
                             int64_t firstRow, int64_t rows, int64_t length,
                             int64_t heads, int64_t headDim);

  /// out = silu(gate) * up.
  void (*swiglu)(const float *gate, const float *up, float *out, int64_t count);
  /// Overwrites gate and up with their gradients.
  void (*swigluBackward)(float *gate, float *up, const float *dOut,
                         int64_t count);

  /// Takes `columns` more logits of each row (`stride` apart) into the running
  /// maximum and sum of exp(logit - maximum); start with -infinity and 0.
  void (*softmaxUpdate)(const float *logits, int64_t rows, int64_t columns,
                        int64_t stride, float *rowMax, double *rowSum);
  /// logits = exp(logits - rowMax) * rowScale.
  void (*softmaxScale)(float *logits, int64_t rows, int64_t columns,
                       int64_t stride, const float *rowMax,
                       const float *rowScale);

  /// Rows of `out`, rowMax and rowInverse for queries queryBegin .. queryEnd -
  /// 1; queryBegin is a multiple of attentionTile.
  void (*attention)(const AttentionHead &head, int64_t queryBegin,
                    int64_t queryEnd, float *scratch);
  /// dq, dk, dv of a whole head.
  void (*attentionBackward)(const AttentionHead &head, float *scratch);

  /// y = exp(x): what the other kernels use, here for the tests.
  void (*exponential)(const float *x, float *y, int64_t count);
};

/// Those that this machine can run, the best first.
const std::vector<const Kernels *> &availableKernels();
inline const Kernels &bestKernels() { return *availableKernels().front(); }

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_KERNELS_KERNELS_H
