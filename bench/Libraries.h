//===- Libraries.h - the libraries that products are compared with -*- C++ -*-//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_BENCH_LIBRARIES_H
#define STEEP_BENCH_LIBRARIES_H

#include <string>

namespace steep::bench {

/// cblas_sgemm of a library with 32-bit integers.
using Sgemm = void (*)(int, int, int, int, int, int, float, const float *, int,
                       const float *, int, float, float *, int);

/// OpenBLAS, on one thread a call.
struct OpenBLAS {
  Sgemm sgemm = nullptr; ///< null where it is not installed
  std::string core;      ///< whose kernels it runs: "SkylakeX"
  std::string reason;    ///< who chose them, if not OpenBLAS by itself

  /// "SkylakeX (chosen here: ...)", or "absent".
  std::string describe() const;
};

/// Limits oneDNN and OpenBLAS to the instructions of `target` (x86-64 and its
/// levels; SSE4 for the first two; no limit for others), before either is used.
/// What ONEDNN_MAX_CPU_ISA and OPENBLAS_CORETYPE say already is left alone.
/// Returns a word on it: "libraries limited to AVX2", "libraries not limited".
std::string limitLibraries(const std::string &target);

/// Opens OpenBLAS. One that does not know the processor takes kernels for old
/// ones, a tenth as fast; it is given better ones then, unless
/// OPENBLAS_CORETYPE says what to take.
OpenBLAS openOpenBLAS();

/// oneDNN computes on as many threads as OpenMP has: here one, for calls from
/// this thread.
void useOneThread();

} // namespace steep::bench

#endif // STEEP_BENCH_LIBRARIES_H
