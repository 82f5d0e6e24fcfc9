//===- ThreadPoolTest.cpp - tests of runtime/Core/ThreadPool --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/ThreadPool.h"

#include "test/Unit/Core/TestSupport.h"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

using namespace steep;

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 7, 20, 21, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      pool.run(count, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        for (int64_t i = begin; i < end; ++i)
          ++seen[static_cast<std::size_t>(i)];
      });
      for (auto &times : seen)
        EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, RangesDependOnTheCountAlone) {
  ThreadPool pool(3);
  std::set<std::pair<int64_t, int64_t>> first;
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> ranges;
    pool.run(1001, [&](int64_t begin, int64_t end) {
      std::lock_guard<std::mutex> lock(mutex);
      ranges.emplace(begin, end);
    });
    if (repeat == 0)
      first = ranges;
    EXPECT_EQ(ranges, first);
  }
}

TEST(ThreadPool, RethrowsAndGoesOn) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  EXPECT_ERROR(pool.run(100,
                        [&](int64_t begin, int64_t) {
                          ++calls;
                          if (begin == 0)
                            fail("task failed");
                        }),
               "task failed");
  EXPECT_EQ(calls, 12); // all chunks have run
  pool.run(10, [&](int64_t begin, int64_t end) {
    calls += static_cast<int>(end - begin);
  });
  EXPECT_EQ(calls, 22);
}

TEST(ThreadPool, MayBeUsedFromItsTasksAndFromManyThreads) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  auto nested = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pool.run(10, [&](int64_t b, int64_t e) { sum += e - b; });
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { pool.run(50, nested); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(sum, 4 * 50 * 10);
}

TEST(ThreadPool, ServesTheABI) {
  ThreadPool pool(2);
  const steep_pool *abi = pool.abi();
  EXPECT_EQ(abi->struct_size, sizeof(steep_pool));
  EXPECT_EQ(abi->threads, 2);
  std::atomic<int64_t> sum{0};
  abi->run(
      abi->context, 100,
      [](void *data, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          *static_cast<std::atomic<int64_t> *>(data) += i;
      },
      &sum);
  EXPECT_EQ(sum, 4950);
}

TEST(ThreadPool, RefusesSillySizes) {
  EXPECT_ERROR(ThreadPool(0), "1 to 1024 are expected");
  EXPECT_ERROR(ThreadPool(1025), "1 to 1024 are expected");
}
