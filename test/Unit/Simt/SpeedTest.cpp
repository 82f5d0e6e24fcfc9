//===- SpeedTest.cpp - how fast a large product runs ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs/ProductSpeed.ll is what clang makes of Inputs/ProductSpeed.c, which
// says how.
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include "runtime/Devices/Simt/SmallFloats.h"

#include <cstdio>
#include <ctime>

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

using Halves = std::vector<std::uint16_t>;

/// Small integers, so that every order of the sums gives the same.
Halves smallIntegers(std::size_t count, unsigned seed) {
  Halves values(count);
  for (std::uint16_t &value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = floatToBrain(static_cast<float>(static_cast<int>(seed >> 29) - 4));
  }
  return values;
}

/// C = A B by the kernel and by three loops; returns the processor's seconds
/// for the first, which other work on the machine does not change.
double run(unsigned n, const Options &options) {
  auto program = load(readInput(STEEP_TEST_DATA "/ProductSpeed.ll"), options);
  if (!program)
    return 0;
  Halves a = smallIntegers(n * n, 1), b = smallIntegers(n * n, 2);
  Buffer<std::uint16_t> da(a), db(b);
  Buffer<float> dc(std::vector<float>(n * n, -1));
  Sizes sizes;
  sizes.grid[0] = sizes.grid[1] = n / 64;
  sizes.block[0] = 128;
  std::string message;
  EXPECT_TRUE(program->entry(program->kernels[0], message)) << message;
  std::clock_t start = std::clock();
  Outcome outcome = launch(*program, "product", sizes, da.data(), db.data(),
                           dc.data(), static_cast<std::int32_t>(n));
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(outcome.ok) << outcome.text;
  std::vector<float> expected(n * n, 0);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned k = 0; k < n; ++k) {
      float x = brainToFloat(a[i * n + k]);
      for (unsigned j = 0; j < n; ++j)
        expected[i * n + j] += x * brainToFloat(b[k * n + j]);
    }
  EXPECT_EQ(dc.values(), expected);
  std::printf("%u^3 product: %.3f s (%.2f M switches, %.2f M collectives, "
              "%.2f M checked accesses)\n",
              n, seconds, outcome.stats.switches * 1e-6,
              outcome.stats.collectives * 1e-6, outcome.stats.accesses * 1e-6);
  return seconds;
}

TEST(Speed, OfAProductOf512) {
  // Meant to take less than a second on an idle core; a busy machine must not
  // fail the test.
  EXPECT_LT(run(512, Options()), 60);
}

TEST(Speed, UnderChecksInTwoOrders) {
  for (std::uint64_t seed : {0, 5}) {
    Options options;
    options.check = true;
    options.seed = seed;
    run(128, options);
  }
}

TEST(Speed, OnThreadsHasTheSameBits) {
  Options options;
  options.threads = 2;
  run(256, options);
}

} // namespace
