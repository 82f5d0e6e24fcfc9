//===- Rows.cpp - norms, rotation, SwiGLU, softmax ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Kernels/Isa.h"

#include "runtime/Model/Kernels/Simd.h"

namespace steep {
namespace STEEP_ISA {

static const float epsilon = 1e-6f;

static inline float dot(const float *a, const float *b, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

static inline float normScale(const float *x, int64_t width) {
  return 1.0f / __builtin_sqrtf(dot(x, x, width) / float(width) + epsilon);
}

void norm(const float *x, float *y, float *scales, int64_t rows,
          int64_t width) {
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    const float scale = normScale(x, width);
    scales[row] = scale;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i)
      y[i] = x[i] * scale;
  }
}

// With y = r x, r = (mean(x^2) + eps)^-1/2: dx = r (dy - y mean(dy y)).
void normBackward(const float *x, const float *scales, const float *dy,
                  float *dx, int64_t rows, int64_t width, bool add) {
  for (int64_t row = 0; row < rows;
       ++row, x += width, dy += width, dx += width) {
    const float scale = scales[row];
    const float along =
        scale * scale * scale * dot(dy, x, width) / float(width);
    if (add) {
#pragma omp simd
      for (int64_t i = 0; i < width; ++i)
        dx[i] += scale * dy[i] - along * x[i];
    } else {
#pragma omp simd
      for (int64_t i = 0; i < width; ++i)
        dx[i] = scale * dy[i] - along * x[i];
    }
  }
}

void normRotate(float *x, float *scales, const float *cosines,
                const float *sines, int64_t firstRow, int64_t rows,
                int64_t length, int64_t heads, int64_t headDim) {
  const int64_t half = headDim / 2;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t position = (firstRow + row) % length;
    const float *c = cosines + position * half, *s = sines + position * half;
    for (int64_t head = 0; head < heads; ++head, x += headDim) {
      const float scale = normScale(x, headDim);
      *scales++ = scale;
      float *low = x, *high = x + half;
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        const float a = low[i] * scale, b = high[i] * scale;
        low[i] = a * c[i] - b * s[i];
        high[i] = b * c[i] + a * s[i];
      }
    }
  }
}

// The rotation keeps inner products, so mean(dy y) can be taken after it:
// dx = r R^T (d - y mean(d y)) for d and y behind the rotation R.
void normRotateBackward(const float *x, const float *scales, float *dx,
                        const float *cosines, const float *sines,
                        int64_t firstRow, int64_t rows, int64_t length,
                        int64_t heads, int64_t headDim) {
  const int64_t half = headDim / 2;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t position = (firstRow + row) % length;
    const float *c = cosines + position * half, *s = sines + position * half;
    for (int64_t head = 0; head < heads; ++head, x += headDim, dx += headDim) {
      const float scale = *scales++;
      const float along = dot(dx, x, headDim) / float(headDim);
      const float *low = x, *high = x + half;
      float *dLow = dx, *dHigh = dx + half;
#pragma omp simd
      for (int64_t i = 0; i < half; ++i) {
        const float a = scale * (dLow[i] - along * low[i]);
        const float b = scale * (dHigh[i] - along * high[i]);
        dLow[i] = a * c[i] + b * s[i];
        dHigh[i] = b * c[i] - a * s[i];
      }
    }
  }
}

void swiglu(const float *gate, const float *up, float *out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float sigmoid = 1.0f / (1.0f + exponential(-gate[i]));
    out[i] = gate[i] * sigmoid * up[i];
  }
}

void swigluBackward(float *gate, float *up, const float *dOut, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float g = gate[i], u = up[i], d = dOut[i];
    const float sigmoid = 1.0f / (1.0f + exponential(-g));
    gate[i] = d * u * sigmoid * (1.0f + g * (1.0f - sigmoid));
    up[i] = d * g * sigmoid;
  }
}

/// The largest of x and `start`, NaNs left out.
static float largest(const float *x, int64_t count, float start) {
  Vector most = start - Vector{};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector next = load(x + i);
    most = next > most ? next : most;
  }
  float result = start;
  for (int lane = 0; lane < lanes; ++lane)
    result = most[lane] > result ? most[lane] : result;
  for (; i < count; ++i)
    result = x[i] > result ? x[i] : result;
  return result;
}

void softmaxUpdate(const float *logits, int64_t rows, int64_t columns,
                   int64_t stride, float *rowMax, double *rowSum) {
  // Short float sums, added up in double: the sum over a vocabulary is good
  // to about one unit in the last place of a float.
  const int64_t piece = 512;
  for (int64_t row = 0; row < rows; ++row, logits += stride) {
    const float most = largest(logits, columns, rowMax[row]);
    double sum = rowSum[row] * exponential(rowMax[row] - most);
    for (int64_t begin = 0; begin < columns; begin += piece) {
      const int64_t end = begin + piece < columns ? begin + piece : columns;
      float part = 0;
#pragma omp simd reduction(+ : part)
      for (int64_t i = begin; i < end; ++i)
        part += exponential(logits[i] - most);
      sum += part;
    }
    rowMax[row] = most;
    rowSum[row] = sum;
  }
}

void softmaxScale(float *logits, int64_t rows, int64_t columns, int64_t stride,
                  const float *rowMax, const float *rowScale) {
  for (int64_t row = 0; row < rows; ++row, logits += stride) {
    const float most = rowMax[row], scale = rowScale[row];
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i)
      logits[i] = exponential(logits[i] - most) * scale;
  }
}

void exponentials(const float *x, float *y, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    y[i] = exponential(x[i]);
}

} // namespace STEEP_ISA
} // namespace steep
