//===- RunConfigTest.cpp - what a run is told -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

static std::string refusal(const std::function<void(RunConfig &)> &change) {
  RunConfig config;
  config.model = "tiny";
  change(config);
  return failure([&] { config.resolve(); });
}

TEST(RunConfig, Defaults) {
  RunConfig config;
  config.model = "tiny";
  config.resolve();
  EXPECT_EQ(config.sizes.dim, 128);
  EXPECT_EQ(config.seq, 256);
  EXPECT_EQ(config.steps, 200);
  EXPECT_EQ(config.batch % config.microBatch, 0);
  EXPECT_GE(config.threads, 1);
  RunConfig large;
  large.model = "190m";
  large.resolve();
  EXPECT_EQ(large.microBatch, 2); // 4096 tokens
  RunConfig odd;
  odd.model = "tiny";
  odd.batch = 7;
  odd.seq = 1000 / 4;
  odd.resolve();
  EXPECT_EQ(odd.microBatch, 7);
  RunConfig sizes = smallRun("out");
  EXPECT_EQ(sizes.sizes.heads, 1);
}

TEST(RunConfig, Refusals) {
  auto set = [](int64_t RunConfig::*field, int64_t value) {
    return refusal([=](RunConfig &c) { c.*field = value; });
  };
  EXPECT_EQ(set(&RunConfig::steps, -1),
            "--steps -1: expected 1 to 1099511627776");
  EXPECT_EQ(set(&RunConfig::batch, -4), "--batch -4: expected 1 to 16777216");
  EXPECT_EQ(set(&RunConfig::seq, 257), "--seq 257: expected 1 to 256");
  EXPECT_EQ(set(&RunConfig::warmup, 201), "--warmup 201: expected 0 to 200");
  EXPECT_EQ(set(&RunConfig::microBatch, 3),
            "--micro-batch 3: expected a divisor of --batch 8");
  EXPECT_EQ(set(&RunConfig::microBatch, 9), "--micro-batch 9: expected 1 to 8");
  EXPECT_EQ(set(&RunConfig::threads, 5000),
            "--threads 5000: expected 1 to 1024");
  EXPECT_EQ(set(&RunConfig::keep, 0), "--keep 0: expected 1 to 1048576");
  EXPECT_EQ(set(&RunConfig::valBatches, 0),
            "--val-batches 0: expected 1 to 16777216");
  EXPECT_EQ(set(&RunConfig::valEvery, -1),
            "--val-every -1: expected 0 to 1099511627776");
  EXPECT_EQ(set(&RunConfig::stopAt, 300), "--stop-at 300: expected 1 to 200");
  EXPECT_EQ(refusal([](RunConfig &c) { c.device = "gpu"; }),
            "--device gpu: expected host, cuda (or cuda:1) or simt");
  EXPECT_EQ(refusal([](RunConfig &c) { c.model = "tinny"; }),
            "--model tinny: no such model; expected one of tiny, 190m, 380m, "
            "640m");
  EXPECT_EQ(refusal([](RunConfig &c) { c.model = ""; }),
            "--dim is missing: give it, or --model");
  EXPECT_EQ(refusal([](RunConfig &c) {
              c = smallRun("out");
              c.sizes.heads = 0;
              c.sizes.dim = 65;
            }),
            "--dim 65: without --heads, a multiple of 32 is expected");
  EXPECT_EQ(refusal([](RunConfig &c) {
              c = smallRun("out");
              c.sizes.heads = 3;
            }),
            "model: 3 heads of dimension 32 make 96, but dim is 32");
}

TEST(RunConfig, RoundTrip) {
  RunConfig config = smallRun("out");
  config.lr = {{"head", 0.25}};
  config.seed = INT64_MAX;
  const std::string json = config.json();
  EXPECT_EQ(RunConfig::parse(json, "x").json(), json);
  EXPECT_EQ(failure([] { RunConfig::parse("{}", "config.json"); }),
            "'config.json': it has no model");
  EXPECT_EQ(failure([&] {
              std::string bad = json;
              bad.replace(bad.find("\"steps\": 8"), 10, "\"steps\": []");
              RunConfig::parse(bad, "config.json");
            }),
            "'config.json': steps is [], but an integer is expected");
}

TEST(RunConfig, AResumedRunIsTheSameRun) {
  const RunConfig saved = smallRun("out");
  auto difference = [&](const std::function<void(RunConfig &)> &change) {
    RunConfig now = saved;
    change(now);
    return failure([&] { checkSameRun(saved, now); });
  };
  EXPECT_EQ(difference([](RunConfig &c) {
              c.valEvery = 1;
              c.threads = 2;
            }),
            "");
  EXPECT_EQ(difference([](RunConfig &c) { c.batch = 16; }),
            "--batch 16: the saved run has 4, and a resumed run must keep it");
  EXPECT_EQ(difference([](RunConfig &c) { c.seed = 5; }),
            "--seed 5: the saved run has 1, and a resumed run must keep it");
  EXPECT_EQ(difference([](RunConfig &c) { c.steps = 9; }),
            "--steps 9: the saved run has 8, and a resumed run must keep it");
  EXPECT_EQ(difference([](RunConfig &c) { c.lr["head"] = 1; }),
            "--lr head=1: the saved run has another rate, and a resumed run "
            "must keep it");
}
