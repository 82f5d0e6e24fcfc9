//===- Parallel.h - loops over rows in OpenMP -------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_PARALLEL_H
#define STEEP_RUNTIME_MODEL_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <omp.h>

namespace steep {

/// Calls body(begin, end) in every thread with its part of 0 .. count - 1,
/// parts in the order of the threads.
template <typename Body> void parallelRanges(int64_t count, const Body &body) {
#pragma omp parallel
  {
    const int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = count * me / threads;
    const int64_t end = count * (me + 1) / threads;
    if (begin < end)
      body(begin, end);
  }
}

/// OpenMP's number of threads for as long as the object lives.
class ThreadScope {
public:
  explicit ThreadScope(int threads) : before(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before); }
  ThreadScope(const ThreadScope &) = delete;

private:
  int before;
};

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_PARALLEL_H
