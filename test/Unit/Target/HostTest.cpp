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
#include "steep/steep.h"

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

extern "C" {
int32_t steep_host_export_plan(steep_plan *);
int32_t steep_host_export_prepare(steep_step_args *);
int32_t steep_host_export_apply(steep_step_args *);
int32_t steep_host_export_step(steep_step_args *);
steep_pool *steep_host_export_pool_create(int32_t threads);
void steep_host_export_pool_destroy(steep_pool *);
}

namespace {

constexpr int count = 3, elements = 32;
constexpr int tensorBytes = elements * 4;

/// Tensors in one piece of memory of exactly the size they need, and arguments.
struct Step {
  enum { Weights = 0, Gradients = 3, States = 6, Updates = 9, All = 12 };

  Step() : data(All * elements) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (int i = 0; i < States * elements; ++i)
      data[i] = normal(random);
    for (int i = 0; i < All; ++i) {
      tensors[i] = {};
      tensors[i].data = &data[i * elements];
      tensors[i].device.device_type = kDLCPU;
      tensors[i].ndim = 2;
      tensors[i].dtype = {kDLFloat, 32, 1};
      tensors[i].shape = shape;
      pointers[i] = &tensors[i];
    }
    steep_plan plan = {};
    plan.struct_size = sizeof plan;
    EXPECT_EQ(steep_host_export_plan(&plan), STEEP_OK);
    workspace.reset(std::aligned_alloc(64, plan.workspace_bytes));
    args.struct_size = sizeof args;
    args.parameter_count = args.state_count = count;
    args.parameters = pointers + Weights;
    args.gradients = pointers + Gradients;
    args.states = pointers + States;
    args.group_count = 2;
    args.lr = lr;
    args.wd = wd;
    args.grad_scale.value = 1;
    args.step = 1;
    args.workspace = workspace.get();
    args.workspace_bytes = plan.workspace_bytes;
    args.message = message;
    args.message_bytes = sizeof message;
  }

  float *values(int tensor) { return &data[tensor * elements]; }
  /// What the rule in HostTables.c does to element i of a fresh parameter.
  float expected(const Step &before, int parameter, int i, float scale) const {
    int group = parameter > 0;
    float m = scale * before.data[(Gradients + parameter) * elements + i];
    float s = -float(lr[group].value) * m;
    return before.data[parameter * elements + i] *
               (1 - float(wd[group].value)) +
           s + 0.5f * float(args.step);
  }

  std::vector<float> data;
  int64_t shape[2] = {4, 8};
  DLTensor tensors[All];
  DLTensor *pointers[All];
  steep_scalar lr[2] = {{0.25, nullptr, 0, 0}, {2, nullptr, 0, 0}};
  steep_scalar wd[2] = {{0.5, nullptr, 0, 0}, {0.125, nullptr, 0, 0}};
  std::unique_ptr<void, decltype(&std::free)> workspace{nullptr, std::free};
  char message[200] = "";
  steep_step_args args = {};
};

} // namespace

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
  step.args.flags = 1;
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
