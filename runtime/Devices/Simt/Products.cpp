//===- Products.cpp - small matrix products -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Products.h"

#include <cmath>
#include <immintrin.h>

namespace steep::simt {

/// Eight columns are one register.
__attribute__((target("avx2,fma"))) static void
accumulateWide(const float *a, const float *b, float *c, unsigned m, unsigned n,
               unsigned k) {
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; j += 8) {
      __m256 sum = _mm256_loadu_ps(c + i * n + j);
      for (unsigned p = 0; p < k; ++p)
        sum = _mm256_fmadd_ps(_mm256_set1_ps(a[i * k + p]),
                              _mm256_loadu_ps(b + p * n + j), sum);
      _mm256_storeu_ps(c + i * n + j, sum);
    }
}

void accumulate(const float *a, const float *b, float *c, unsigned m,
                unsigned n, unsigned k) {
  static const bool wide =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (wide)
    return accumulateWide(a, b, c, m, n, k);
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j)
      for (unsigned p = 0; p < k; ++p)
        c[i * n + j] = std::fma(a[i * k + p], b[p * n + j], c[i * n + j]);
}

} // namespace steep::simt
