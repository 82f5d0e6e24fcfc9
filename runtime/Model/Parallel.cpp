//===- Parallel.cpp - loops on oneDNN's threads ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Debian's oneDNN runs on libgomp's OpenMP threads, and two pools of spinning
// threads cost up to a factor of three. g++ -fopenmp would use the same pool,
// but clang's would bring libomp and a second one. So libgomp is called by its
// binary interface, which GCC keeps stable: GOMP_parallel is what g++ makes of
// `#pragma omp parallel`.
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Parallel.h"

extern "C" {
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_max_threads(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
void omp_set_num_threads(int);
}

using namespace steep;

namespace {

struct Region {
  void (*function)(void *, int, int);
  void *context;
};

} // namespace

void steep::parallelRegion(void (*function)(void *, int, int), void *context) {
  Region region{function, context};
  GOMP_parallel(
      [](void *data) {
        const Region &region = *static_cast<Region *>(data);
        region.function(region.context, omp_get_thread_num(),
                        omp_get_num_threads());
      },
      &region, /*threads=*/0, /*flags=*/0);
}

int steep::parallelThreads() { return omp_get_max_threads(); }

ThreadScope::ThreadScope(int threads) : before(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

ThreadScope::~ThreadScope() { omp_set_num_threads(before); }
