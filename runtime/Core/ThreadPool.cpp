//===- ThreadPool.cpp - threads that sleep between calls ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/ThreadPool.h"

#include "runtime/Core/Error.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace steep {

/// Set in a thread while it works for a pool: a task that calls run() again
/// would otherwise wait for itself.
static thread_local bool insideTask = false;

struct ThreadPool::State {
  using Task = std::function<void(int64_t, int64_t)>;

  explicit State(int threads) : threadCount(threads) {
    abiPool.struct_size = sizeof abiPool;
    abiPool.threads = threads;
    abiPool.context = this;
    abiPool.run = &State::runAbi;
    try {
      for (int i = 1; i < threads; ++i)
        workers.emplace_back([this] { serve(); });
    } catch (const std::system_error &error) {
      stop();
      fail("cannot start {} threads: {}", threads, error.what());
    }
  }

  ~State() { stop(); }

  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    for (std::thread &worker : workers)
      worker.join();
  }

  void run(int64_t count, const Task &task);
  void serve();
  void work(std::unique_lock<std::mutex> &lock);

  static void runAbi(void *context, int64_t count,
                     void (*task)(void *, int64_t, int64_t), void *data) {
    static_cast<State *>(context)->run(
        count, [=](int64_t begin, int64_t end) { task(data, begin, end); });
  }

  const int threadCount;
  steep_pool abiPool = {};
  std::vector<std::thread> workers;
  std::mutex callers; ///< one run() at a time

  std::mutex mutex; ///< guards all below
  std::condition_variable wake, idle;
  bool stopping = false;
  const Task *current = nullptr;
  int64_t count = 0, chunks = 0, nextChunk = 0, busy = 0;
  std::exception_ptr error;
};

/// Takes chunks until none is left. Chunk boundaries depend on the count and
/// the number of threads alone; who takes a chunk does not matter.
void ThreadPool::State::work(std::unique_lock<std::mutex> &lock) {
  while (current && nextChunk < chunks) {
    int64_t chunk = nextChunk++;
    int64_t size = count / chunks, rest = count % chunks;
    int64_t begin = chunk * size + std::min(chunk, rest);
    int64_t end = begin + size + (chunk < rest ? 1 : 0);
    const Task &task = *current;
    ++busy;
    lock.unlock();
    std::exception_ptr thrown;
    insideTask = true;
    try {
      task(begin, end);
    } catch (...) {
      thrown = std::current_exception();
    }
    insideTask = false;
    lock.lock();
    if (thrown && !error)
      error = thrown;
    if (--busy == 0 && nextChunk == chunks)
      idle.notify_one();
  }
}

void ThreadPool::State::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    wake.wait(lock,
              [&] { return stopping || (current && nextChunk < chunks); });
    work(lock);
  }
}

void ThreadPool::State::run(int64_t total, const Task &task) {
  if (total <= 0)
    return;
  if (threadCount == 1 || total == 1 || insideTask)
    return task(0, total);
  std::lock_guard<std::mutex> caller(callers);
  std::unique_lock<std::mutex> lock(mutex);
  current = &task;
  count = total;
  // A few chunks a thread even out unequal speed; more would cost locking.
  chunks = std::min<int64_t>(total, 4 * threadCount);
  nextChunk = 0;
  error = nullptr;
  wake.notify_all();
  work(lock);
  idle.wait(lock, [&] { return busy == 0 && nextChunk == chunks; });
  current = nullptr;
  if (error)
    std::rethrow_exception(std::exchange(error, nullptr));
}

static int checkedThreads(int threads) {
  if (threads < 1 || threads > 1024)
    fail("a pool of {} threads is not possible: 1 to 1024 are expected",
         threads);
  return threads;
}

ThreadPool::ThreadPool(int threads)
    : state(std::make_unique<State>(checkedThreads(threads))) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const { return state->threadCount; }

void ThreadPool::run(int64_t count,
                     const std::function<void(int64_t, int64_t)> &task) {
  state->run(count, task);
}

const steep_pool *ThreadPool::abi() const { return &state->abiPool; }

} // namespace steep
