//===- ScheduleTest.cpp - schedule and presets ----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Safetensors.h"
#include "runtime/Train/Presets.h"
#include "runtime/Train/Schedule.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

static Manifest scheduled() {
  Manifest manifest;
  manifest.name = "paper";
  manifest.schedule = Manifest::Schedule{0.1, 0.1};
  return manifest;
}

TEST(Schedule, TheRecordedOne) {
  const SafetensorsFile file =
      SafetensorsFile::open(STEEP_SCHEDULE_DATA "/schedule_7083.safetensors");
  const Tensor scale = file.load("scale");
  const RateSchedule schedule = makeSchedule(scheduled(), scale.count(), -1);
  EXPECT_EQ(std::to_string(schedule.warmup), file.metadataAt("warmup"));
  for (int64_t t = 0; t < scale.count(); ++t)
    ASSERT_LE(std::fabs(schedule.scale(t) - scale.f64()[t]),
              1e-12 * std::fabs(scale.f64()[t]))
        << t;
}

TEST(Schedule, Edges) {
  // No warm-up; and a single update after it.
  EXPECT_EQ(makeSchedule(scheduled(), 9, -1).warmup, 0);
  EXPECT_EQ(makeSchedule(scheduled(), 9, -1).scale(0), 1);
  EXPECT_EQ(makeSchedule(scheduled(), 1, 0).scale(0), 0.1);
  EXPECT_EQ(makeSchedule(scheduled(), 5, 4).scale(4), 0.1);
  EXPECT_EQ(makeSchedule(scheduled(), 5, 4).scale(3), 0.75);
  EXPECT_EQ(makeSchedule(scheduled(), 5, 5).scale(4), 0.8);
  // Past the end nothing moves.
  EXPECT_NEAR(makeSchedule(scheduled(), 20, 2).scale(40), 0.1, 1e-15);
  Manifest constant;
  constant.name = "plain";
  EXPECT_EQ(makeSchedule(constant, 10, -1).scale(7), 1);
  EXPECT_EQ(failure([&] { makeSchedule(constant, 10, 2); }),
            "--warmup 2: the spec 'plain' has no schedule to warm up");
  EXPECT_EQ(failure([&] { makeSchedule(scheduled(), 10, 11); }),
            "--warmup 11: expected 0 to 10, the number of updates");
}

TEST(Presets, ThePapersModels) {
  EXPECT_EQ(parameterCount(findPreset("190m").sizes), 185680896);
  EXPECT_EQ(parameterCount(findPreset("380m").sizes), 379184640);
  EXPECT_EQ(parameterCount(findPreset("640m").sizes), 639797248);
  EXPECT_EQ(findPreset("640m").steps, 24406);
  EXPECT_EQ(findPreset("190m").batch * findPreset("190m").sizes.context,
            524288);
  EXPECT_EQ(findPreset("tiny").sizes.heads, 2);
  EXPECT_EQ(failure([] { findPreset("gpt2"); }),
            "--model gpt2: no such model; expected one of tiny, 190m, 380m, "
            "640m");
}

TEST(Presets, LearningRates) {
  auto rates = [](const char *model, const char *head, bool paper,
                  const std::map<std::string, double> &given = {}) {
    const ModelConfig sizes = findPreset(model).sizes;
    const ReferenceOptimizer optimizer(sizes, head);
    return peakRates(optimizer.manifest(), sizes.dim, paper, given);
  };
  using Rates = std::vector<double>;
  EXPECT_EQ(rates("190m", "adamw", true), (Rates{8e-3, 4e-3, 4e-3}));
  EXPECT_EQ(rates("190m", "rownorm", true), (Rates{8e-3, 4e-3, 3.2e-3}));
  EXPECT_NEAR(rates("380m", "adamw", true)[2], 2.6667e-3, 5e-8);
  EXPECT_NEAR(rates("380m", "rownorm", true)[2], 2.1333e-3, 5e-8);
  EXPECT_EQ(rates("640m", "rownorm", true)[2], 1.6e-3);
  EXPECT_EQ(rates("tiny", "adamw", true)[2], 1.6e-2);
  EXPECT_EQ(rates("tiny", "rownorm", true)[2], 1.28e-2);
  // Without a preset the spec's own; a given one comes first.
  EXPECT_EQ(rates("tiny", "rownorm", false)[2], 3.2e-3);
  EXPECT_EQ(rates("tiny", "rownorm", true, {{"backbone", 0.5}}),
            (Rates{0.5, 4e-3, 1.28e-2}));
  EXPECT_EQ(failure([&] {
              rates("tiny", "adamw", true, {{"heads", 1}});
            }),
            "--lr heads=1: the spec has no group 'heads'; its groups are "
            "backbone, embedding, head");
  EXPECT_EQ(failure([&] {
              rates("tiny", "adamw", true, {{"head", -1}});
            }),
            "--lr head=-1: expected a finite number >= 0");
}
