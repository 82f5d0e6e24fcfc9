//===- Kernels.cpp - which kernels this machine can run -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Kernels/Kernels.h"

using namespace steep;

namespace steep {
namespace baseline {
extern const Kernels kernels;
}
#ifdef STEEP_X86_KERNELS
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif
} // namespace steep

const std::vector<const Kernels *> &steep::availableKernels() {
  static const std::vector<const Kernels *> available = [] {
    std::vector<const Kernels *> list;
#ifdef STEEP_X86_KERNELS
    // The features that CMakeLists.txt turns on, no more.
    const bool fma =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
      list.push_back(&avx512::kernels);
    if (fma)
      list.push_back(&avx2::kernels);
#endif
    list.push_back(&baseline::kernels);
    return list;
  }();
  return available;
}

int64_t steep::attentionScratch(int64_t headDim) {
  return 3 * headDim * attentionTile + 2 * attentionTile * attentionTile +
         4 * attentionTile;
}
