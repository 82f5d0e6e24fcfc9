//===- Products.cpp - small matrix products -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Products.h"

#include <cmath>

namespace steep::simt {

// With FMA eight columns are one register; without it, std::fma is exact, too,
// and slow.
__attribute__((target_clones("arch=haswell", "default"))) void
accumulate(const float *a, const float *b, float *c, unsigned m, unsigned n,
           unsigned k) {
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; j += 8) {
      float sums[8];
      for (unsigned l = 0; l < 8; ++l)
        sums[l] = c[i * n + j + l];
      for (unsigned p = 0; p < k; ++p)
        for (unsigned l = 0; l < 8; ++l)
          sums[l] = std::fma(a[i * k + p], b[p * n + j + l], sums[l]);
      for (unsigned l = 0; l < 8; ++l)
        c[i * n + j + l] = sums[l];
    }
}

} // namespace steep::simt
