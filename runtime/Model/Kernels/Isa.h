//===- Isa.h - the kernels of one instruction set ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the sources of this folder define in the namespace STEEP_ISA; the
// functions are described in Kernels.h.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_KERNELS_ISA_H
#define STEEP_RUNTIME_MODEL_KERNELS_ISA_H

#include "runtime/Model/Kernels/Kernels.h"

namespace steep {
namespace STEEP_ISA {

void norm(const float *x, float *y, float *scales, int64_t rows, int64_t width);
void normBackward(const float *x, const float *scales, const float *dy,
                  float *dx, int64_t rows, int64_t width, bool add);
void normRotate(float *x, float *scales, const float *cosines,
                const float *sines, int64_t firstRow, int64_t rows,
                int64_t length, int64_t heads, int64_t headDim);
void normRotateBackward(const float *x, const float *scales, float *dx,
                        const float *cosines, const float *sines,
                        int64_t firstRow, int64_t rows, int64_t length,
                        int64_t heads, int64_t headDim);
void swiglu(const float *gate, const float *up, float *out, int64_t count);
void swigluBackward(float *gate, float *up, const float *dOut, int64_t count);
void softmaxUpdate(const float *logits, int64_t rows, int64_t columns,
                   int64_t stride, float *rowMax, double *rowSum);
void softmaxScale(float *logits, int64_t rows, int64_t columns, int64_t stride,
                  const float *rowMax, const float *rowScale);
void exponentials(const float *x, float *y, int64_t count);
void attention(const AttentionHead &head, int64_t queryBegin, int64_t queryEnd,
               float *scratch);
void attentionBackward(const AttentionHead &head, float *scratch);

/// C (+)= A B for small matrices: A is rows x depth with element (i, k) at
/// a[i * rowStride + k * depthStride], B is depth x columns and C is rows x
/// columns, row-major.
struct SmallProduct {
  int64_t rows, columns, depth;
  const float *a;
  int64_t rowStride, depthStride;
  const float *b;
  int64_t bStride;
  float *c;
  int64_t cStride;
  bool add;
};
void multiply(const SmallProduct &product);

extern const Kernels kernels;

} // namespace STEEP_ISA
} // namespace steep

#endif // STEEP_RUNTIME_MODEL_KERNELS_ISA_H
