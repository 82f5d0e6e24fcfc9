//===- Clock.h - what comparisons are timed with ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_BENCH_CLOCK_H
#define STEEP_BENCH_CLOCK_H

#include <ctime>

namespace steep::bench {

/// Seconds since some time: elapsed, or, of the processors, what the threads of
/// this process worked.
inline double now(bool ofProcessors) {
  timespec time;
  clock_gettime(ofProcessors ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC,
                &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

} // namespace steep::bench

#endif // STEEP_BENCH_CLOCK_H
