//===- Parallel.h - loops on oneDNN's threads -------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_PARALLEL_H
#define STEEP_RUNTIME_MODEL_PARALLEL_H

#include <atomic>
#include <cstdint>

namespace steep {

/// Calls region(context, thread, threads) once in every thread of the pool.
void parallelRegion(void (*region)(void *context, int thread, int threads),
                    void *context);

/// Calls body(begin, end) in every thread with its part of 0 .. count - 1,
/// parts in the order of the threads.
template <typename Body> void parallelRanges(int64_t count, Body body) {
  auto call = [&](int thread, int threads) {
    const int64_t begin = count * thread / threads;
    const int64_t end = count * (thread + 1) / threads;
    if (begin < end)
      body(begin, end);
  };
  parallelRegion(
      [](void *context, int thread, int threads) {
        (*static_cast<decltype(call) *>(context))(thread, threads);
      },
      &call);
}

/// Calls body(task, thread) for the tasks 0 .. count - 1, which start in this
/// order, each in the thread that is free first.
template <typename Body> void parallelTasks(int64_t count, Body body) {
  std::atomic<int64_t> next{0};
  auto call = [&](int thread) {
    for (int64_t task; (task = next.fetch_add(1)) < count;)
      body(task, thread);
  };
  parallelRegion([](void *context, int thread,
                    int) { (*static_cast<decltype(call) *>(context))(thread); },
                 &call);
}

/// The number of threads that the next region has.
int parallelThreads();

/// That number, for as long as the object lives.
class ThreadScope {
public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope &) = delete;
  ThreadScope &operator=(const ThreadScope &) = delete;

private:
  int before;
};

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_PARALLEL_H
