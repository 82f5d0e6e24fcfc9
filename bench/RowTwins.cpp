//===- RowTwins.cpp - row updates as plain loops --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled once for each set of instructions; STEEP_TWINS names the table.
//
//===----------------------------------------------------------------------===//
#include "bench/RowTwins.h"

#include <cmath>

using namespace steep::bench;

namespace {

void squares(const RowArrays &x, double *sums, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float *g = x.g + i * x.columns;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < x.columns; ++j)
      sum += double(g[j]) * g[j];
    sums[i] = sum;
  }
}

void rowNorm(const RowArrays &x, int64_t begin, int64_t end) {
  const float beta = 0.95f, rest = 0.05f * x.clip, decay = 1 - x.lr * x.wd;
  const float correction = 1 / (1 - beta);
  for (int64_t i = begin; i < end; ++i) {
    const float *__restrict g = x.g + i * x.columns;
    float *__restrict w = x.w + i * x.columns;
    float *__restrict a = x.a + i * x.columns;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < x.columns; ++j) {
      const float next = beta * a[j] + rest * g[j];
      a[j] = next;
      sum += next * next;
    }
    const float factor =
        x.lr * correction / (std::sqrt(sum) * correction + 1e-8f);
#pragma omp simd
    for (int64_t j = 0; j < x.columns; ++j)
      w[j] = w[j] * decay - a[j] * factor;
  }
}

void projectedFirst(const RowArrays &x, double *sums, int64_t begin,
                    int64_t end) {
  const float beta = 0.95f, rest = 0.05f * x.clip;
  for (int64_t i = begin; i < end; ++i) {
    const float *__restrict g = x.g + i * x.columns;
    float *__restrict a = x.a + i * x.columns;
#pragma omp simd
    for (int64_t j = 0; j < x.columns; ++j) {
      a[j] = beta * a[j] + rest * g[j];
      sums[j] += a[j];
    }
  }
}

float rowFactor(const RowArrays &x, const float *a, const float *mean) {
  const float correction = 1 / (1 - 0.95f);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < x.columns; ++j)
    sum += (a[j] - mean[j]) * (a[j] - mean[j]);
  return correction / (std::sqrt(sum) * correction + 1e-8f);
}

void projectedSecond(const RowArrays &x, const float *mean, double *sums,
                     int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float *__restrict a = x.a + i * x.columns;
    const float factor = rowFactor(x, a, mean);
#pragma omp simd
    for (int64_t j = 0; j < x.columns; ++j)
      sums[j] += (a[j] - mean[j]) * factor;
  }
}

void projectedThird(const RowArrays &x, const float *mean,
                    const float *meanOfRows, int64_t begin, int64_t end) {
  const float decay = 1 - x.lr * x.wd;
  for (int64_t i = begin; i < end; ++i) {
    const float *__restrict a = x.a + i * x.columns;
    float *__restrict w = x.w + i * x.columns;
    const float factor = rowFactor(x, a, mean);
#pragma omp simd
    for (int64_t j = 0; j < x.columns; ++j)
      w[j] = w[j] * decay - x.lr * ((a[j] - mean[j]) * factor - meanOfRows[j]);
  }
}

void adamw(const RowArrays &x, int64_t begin, int64_t end) {
  const float beta1 = 0.9f, beta2 = 0.999f, decay = 1 - x.lr * x.wd;
  const float rate = x.lr / (1 - beta1), root = std::sqrt(1 - beta2);
#pragma omp simd
  for (int64_t i = begin * x.columns; i < end * x.columns; ++i) {
    const float g = x.clip * x.g[i];
    const float m = beta1 * x.a[i] + (1 - beta1) * g;
    const float v = beta2 * x.b[i] + (1 - beta2) * g * g;
    x.a[i] = m;
    x.b[i] = v;
    x.w[i] = x.w[i] * decay - rate * m / (std::sqrt(v) / root + 1e-10f);
  }
}

void lion(const RowArrays &x, int64_t begin, int64_t end) {
  const float decay = 1 - x.lr * x.wd;
#pragma omp simd
  for (int64_t i = begin * x.columns; i < end * x.columns; ++i) {
    const float g = x.clip * x.g[i], c = 0.9f * x.a[i] + 0.1f * g;
    x.a[i] = 0.99f * x.a[i] + 0.01f * g;
    x.w[i] = x.w[i] * decay - x.lr * float((c > 0) - (c < 0));
  }
}

void momentum(const RowArrays &x, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin * x.columns; i < end * x.columns; ++i) {
    const float g = x.clip * x.g[i], a = 0.95f * x.a[i] + g;
    x.a[i] = a;
    x.w[i] += x.lr * (g + 0.95f * a);
  }
}

void columnSums(const RowArrays &x, double *sums, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float *__restrict g = x.g + i * x.columns;
#pragma omp simd
    for (int64_t j = 0; j < x.columns; ++j)
      sums[j] += g[j];
  }
}

void center(const RowArrays &x, const float *mean, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float *__restrict g = x.g + i * x.columns;
    float *__restrict w = x.w + i * x.columns;
#pragma omp simd
    for (int64_t j = 0; j < x.columns; ++j)
      w[j] += x.lr * (g[j] - mean[j]);
  }
}

} // namespace

namespace steep::bench {
extern const RowTwins STEEP_TWINS;
const RowTwins STEEP_TWINS = {
    squares, rowNorm, projectedFirst, projectedSecond, projectedThird,
    adamw,   lion,    momentum,       columnSums,      center};
} // namespace steep::bench
