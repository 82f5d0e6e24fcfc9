//===- ThreadPool.h - a pool that a compiled step can use -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_THREADPOOL_H
#define STEEP_RUNTIME_CORE_THREADPOOL_H

#include "steep/steep.h"

#include <functional>
#include <memory>

namespace steep {

/// Threads that sleep (never spin) between calls. The calling thread works
/// too, so ThreadPool(1) starts none.
class ThreadPool {
public:
  /// Throws Error unless 1 <= threads <= 1024.
  explicit ThreadPool(int threads);
  ~ThreadPool();

  int threads() const;
  /// Calls task(begin, end) on ranges that cover 0 .. count - 1 once. An
  /// exception of a task is rethrown here after all have ended.
  void run(int64_t count, const std::function<void(int64_t, int64_t)> &task);
  /// The same pool as the C ABI wants it; lives as long as this object.
  const steep_pool *abi() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace steep

#endif // STEEP_RUNTIME_CORE_THREADPOOL_H
