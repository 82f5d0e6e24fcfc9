//===- HostTest.cpp - the host code of an artefact, without a compiler ----===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HostTables.c stands for what steepc generates, so that sanitizers see the
// host code.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Target/HostStep.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

using namespace steep::test;

TEST(Host, TakesAStepInWaves) {
  Step step, before;
  step.args.step = 3;
  step.args.grad_scale.value = 0.5;
  ASSERT_EQ(steep_host_export_step(&step.args), STEEP_OK) << step.message;
  for (int p = 0; p < count; ++p)
    for (int i = 0; i < elements; ++i)
      EXPECT_EQ(step.values(p)[i], step.expected(before, p, i, 0.5f));
  double squares = 0;
  for (int i = 0; i < count * elements; ++i)
    squares += double(before.values(3)[i]) * before.values(3)[i];
  EXPECT_NEAR(step.args.grad_norm, 0.5 * std::sqrt(squares), 1e-12);
  EXPECT_EQ(step.args.clip_factor, 1);
  EXPECT_EQ(step.args.nonfinite_parameter, -1);
}

TEST(Host, EveryChoiceOfUpdatesGivesTheSameWeights) {
  Step plain;
  ASSERT_EQ(steep_host_export_step(&plain.args), STEEP_OK);
  for (int choice = 0; choice < 8; ++choice) {
    Step step;
    for (int p = 0; p < count; ++p)
      if (!(choice >> p & 1))
        step.pointers[Step::Updates + p] = nullptr;
    step.args.updates = step.pointers + Step::Updates;
    ASSERT_EQ(steep_host_export_step(&step.args), STEEP_OK) << step.message;
    for (int p = 0; p < count; ++p)
      for (int i = 0; i < elements; ++i) {
        EXPECT_EQ(step.values(p)[i], plain.values(p)[i]);
        float s =
            -float(step.lr[p > 0].value) * step.values(Step::States + p)[i];
        EXPECT_EQ(step.values(Step::Updates + p)[i], choice >> p & 1 ? s : 0);
      }
  }
}

TEST(Host, SkipsWhatIsNotFiniteAfterScaling) {
  for (auto [value, scale] : {std::pair(INFINITY, 1.0), std::pair(NAN, 1.0),
                              std::pair(1e30f, 1e30)}) {
    Step step;
    step.values(Step::Gradients + 1)[5] = value;
    step.args.grad_scale.value = scale;
    std::vector<float> before = step.data;
    EXPECT_EQ(steep_host_export_step(&step.args), STEEP_SKIPPED);
    EXPECT_EQ(step.args.nonfinite_parameter, 1);
    EXPECT_STREQ(step.message, "gradient of \"line\\x0a\\x22b\\x22\" is not "
                               "finite: weights and states are unchanged");
    EXPECT_EQ(0, std::memcmp(before.data(), step.data.data(),
                             before.size() * sizeof(float)));
  }
}

TEST(Host, AMessageIsCutToItsBuffer) {
  Step step;
  step.args.flags = 2;
  for (uint64_t size : {0, 1, 2, 10}) {
    std::vector<char> buffer(size + 1, 'x');
    step.args.message = buffer.data();
    step.args.message_bytes = size;
    EXPECT_EQ(steep_host_export_step(&step.args), STEEP_INVALID_ARGUMENT);
    EXPECT_EQ(buffer[size], 'x');
    EXPECT_EQ(std::string("flags: expected").substr(0, size ? size - 1 : 0),
              size ? buffer.data() : "");
  }
}

// Against the definition: two tensors share a byte, and one of them is written.
TEST(Host, FindsEveryOverlap) {
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    Step step;
    step.args.updates = step.pointers + Step::Updates;
    std::vector<int> place(Step::All);
    std::iota(place.begin(), place.end(), 0);
    std::shuffle(place.begin(), place.end(), random);
    for (int i = 0; i < Step::All; ++i)
      step.tensors[i].data = &step.data[place[i] * elements];
    // None, one or two move to where they may touch others.
    for (int move = 0; move < round % 3; ++move)
      step.tensors[random() % Step::All].data =
          &step.data[random() % ((Step::All - 1) * elements + 1)];
    bool overlap = false;
    for (int i = 0; i < Step::All; ++i)
      for (int j = 0; j < i; ++j) {
        auto isRead = [](int t) { return t / count == 1; };
        auto *x = static_cast<char *>(step.tensors[i].data);
        auto *y = static_cast<char *>(step.tensors[j].data);
        overlap |= x < y + tensorBytes && y < x + tensorBytes &&
                   !(isRead(i) && isRead(j));
      }
    int32_t code = steep_host_export_step(&step.args);
    EXPECT_EQ(code, overlap ? STEEP_INVALID_ARGUMENT : STEEP_OK)
        << step.message;
    refused += overlap;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 3900);
}

TEST(Host, APoolOfNoThreadsIsRefused) {
  for (int threads : {0, -1, 100000}) {
    EXPECT_EQ(steep_host_export_pool_create(threads), nullptr);
    EXPECT_EQ(std::string(steep_host_export_last_error()),
              "threads: expected 1 to 1024 that the system has, got " +
                  std::to_string(threads));
  }
}

TEST(Host, APoolServesSeveralCallers) {
  for (int threads : {1, 2, 5}) {
    steep_pool *pool = steep_host_export_pool_create(threads);
    ASSERT_NE(pool, nullptr);
    auto use = [&](int seed) {
      std::mt19937 random(seed);
      for (int round = 0; round < 300; ++round) {
        std::vector<int> hits(random() % 70);
        pool->run(
            pool->context, int64_t(hits.size()),
            [](void *data, int64_t begin, int64_t end) {
              auto &hits = *static_cast<std::vector<int> *>(data);
              for (; begin < end; ++begin)
                ++hits[size_t(begin)];
            },
            &hits);
        EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), long(hits.size()));
      }
    };
    std::thread other(use, 1);
    use(2);
    other.join();
    steep_host_export_pool_destroy(pool);
  }
}
