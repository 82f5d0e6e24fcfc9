//===- SchedulesTest.cpp - coefficients, their safety and cost ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Schedules/Schedules.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace steep::schedules;

static Schedule make(std::string_view name, int64_t steps,
                     std::optional<double> safety = std::nullopt) {
  std::string error;
  std::optional<Schedule> schedule = makeSchedule(name, steps, safety, error);
  EXPECT_TRUE(schedule) << error;
  return schedule.value_or(Schedule{});
}

static std::string getError(std::string_view name, int64_t steps,
                            std::optional<double> safety = std::nullopt) {
  std::string error;
  EXPECT_FALSE(makeSchedule(name, steps, safety, error));
  return error;
}

static Schedule makeTable(const Schedule &table, int64_t steps,
                          std::string_view then) {
  std::string error;
  std::optional<Schedule> schedule =
      makeCustomSchedule(table, steps, then, maxCoefficientF32, error);
  EXPECT_TRUE(schedule) << error;
  return schedule.value_or(Schedule{});
}

static std::string getTableError(const Schedule &table, int64_t steps,
                                 std::string_view then) {
  std::string error;
  EXPECT_FALSE(
      makeCustomSchedule(table, steps, then, maxCoefficientF32, error));
  return error;
}

/// Least image of [0.01, 1] and greatest of (0, 1.001], to three decimals.
static void expectBand(const Schedule &schedule, double low, double high) {
  EXPECT_NEAR(getBand(schedule, 0.01, 1).low, low, 6e-4);
  EXPECT_NEAR(getBand(schedule, 0, 1 + marginF32).high, high, 6e-4);
}

TEST(Schedules, BandsOfFiveSteps) {
  expectBand(make("jordan", 5), 0.682, 1.202);
  expectBand(make("you", 5), 0.978, 1.145);
  expectBand(make("polar_express", 5, 1.05), 0.846, 1.124);
  expectBand(make("polar_express", 5, 1.01), 0.870, 1.124);
}

TEST(Schedules, BandHoldsAllSamplesAndIsReached) {
  for (std::string_view name : {"jordan", "you", "polar_express", "cubic"}) {
    Schedule schedule = make(name, 5);
    Band band = getBand(schedule, 0.01, 1);
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i <= 1000000; ++i) {
      double image = evaluate(schedule, 0.01 + 0.99 * i / 1000000);
      low = std::min(low, image);
      high = std::max(high, image);
    }
    EXPECT_LE(band.low, low + 1e-12) << name;
    EXPECT_GE(band.high, high - 1e-12) << name;
    EXPECT_NEAR(band.low, low, 1e-6) << name;
    EXPECT_NEAR(band.high, high, 1e-6) << name;
  }
}

/// arXiv:2608.25990 states 0.0069 from 0.02 on.
TEST(Schedules, SamuonIsAsAccurateAsPublished) {
  Schedule schedule = make("samuon", 4);
  Band band = getBand(schedule, 0.02, 1);
  EXPECT_NEAR(std::max(band.high - 1, 1 - band.low), 0.006876, 2e-6);
  EXPECT_NEAR(evaluate(schedule, 1), 1.005150, 1e-6);
  EXPECT_NEAR(evaluate(schedule, 0.02), 1.004256, 1e-6);
  EXPECT_NEAR(evaluate(schedule, 0.01), 0.855415, 1e-6);
  EXPECT_NEAR(evaluate(schedule, 0.001), 0.108616, 1e-6);
  EXPECT_FALSE(findViolation(schedule, marginF32));
  EXPECT_FALSE(findViolation(schedule, marginBF16));
  EXPECT_EQ(getError("samuon", 5),
            "expected steps of schedule samuon in 1..4, but got 5");
}

TEST(Schedules, CubicConvergesToOne) {
  EXPECT_NEAR(evaluate(make("cubic", 12), 0.1), 1, 1e-15);
  EXPECT_DOUBLE_EQ(evaluate(make("cubic", 1), 1), 1);
}

TEST(Schedules, PolarExpressEndsInTheUnscaledCubic) {
  Schedule schedule = make("polar_express", 9, 1.05);
  EXPECT_DOUBLE_EQ(schedule[0].a, 8.28721201814563 / 1.05);
  EXPECT_DOUBLE_EQ(schedule[6].c, 0.3750001645474248 / std::pow(1.05, 5));
  EXPECT_DOUBLE_EQ(schedule[7].a, 1.875);
  EXPECT_DOUBLE_EQ(schedule[8].b, -1.25);
  // It converges to 1, not to the safety factor.
  EXPECT_NEAR(evaluate(make("polar_express", 14, 1.05), 0.3), 1, 1e-12);
}

static bool isSafe(const Schedule &schedule) {
  return !findViolation(schedule, marginF32) &&
         !findViolation(schedule, marginBF16);
}

TEST(Schedules, WhichAreSafe) {
  for (int64_t steps = 1; steps <= maxSteps; ++steps) {
    EXPECT_TRUE(isSafe(make("jordan", steps))) << steps;
    EXPECT_TRUE(isSafe(make("cubic", steps))) << steps;
    // Fewer steps leave singular values of up to 2 behind; without a safety
    // factor the first steps throw those above 1 far out.
    EXPECT_EQ(isSafe(make("polar_express", steps, 1.01)), steps >= 5) << steps;
    EXPECT_EQ(isSafe(make("polar_express", steps, 1.05)), steps >= 5) << steps;
    EXPECT_FALSE(isSafe(make("polar_express", steps))) << steps;
  }
  for (int64_t steps = 1; steps <= maxSteps; ++steps)
    EXPECT_TRUE(isSafe(make("you", steps))) << steps;
}

// Outside of its interval a table that converges inside explodes: what norms
// in BF16 leave of an all-ones matrix is beyond 1.003.
TEST(Schedules, TheUnscaledPolarExpressExplodesAboveOne) {
  EXPECT_GT(evaluate(make("polar_express", 5), 1.0005), 1e12);
  EXPECT_LT(evaluate(make("polar_express", 5, 1.01), 1.0005), 1.2);
  EXPECT_LT(evaluate(make("polar_express", 5, 1.01), 1.0031), 1.2);
}

// Cycled to six steps, "you" would map 1 to 0.164.
TEST(Schedules, WhatFollowsTheLastTriple) {
  Schedule you = make("you", 6);
  Schedule cycled = make("you", 5);
  cycled.push_back(cycled.front());
  EXPECT_NEAR(evaluate(cycled, 1), 0.164, 1e-3);
  EXPECT_DOUBLE_EQ(you[5].a, 2.8366);
  EXPECT_GT(evaluate(you, 1), 0.9);

  Schedule table = {{2, -1.5, 0.5}, {1.875, -1.25, 0.375}};
  EXPECT_EQ(makeTable(table, 2, "").size(), 2u);
  EXPECT_DOUBLE_EQ(makeTable(table, 4, "repeat").back().a, 1.875);
  table.pop_back();
  EXPECT_DOUBLE_EQ(makeTable(table, 4, "repeat").back().a, 2);
  EXPECT_DOUBLE_EQ(makeTable(table, 4, "cubic").back().a, 1.875);
}

TEST(Schedules, BadTablesAreNamed) {
  Schedule table = {{2, -1.5, 0.5}};
  EXPECT_EQ(getTableError(table, 4, ""),
            "expected then = \"repeat\" or \"cubic\" to say what follows "
            "the last of 1 triples in 4 steps");
  EXPECT_EQ(getTableError(table, 4, "cycle"),
            "expected then to be \"repeat\" or \"cubic\", but got \"cycle\"");
  EXPECT_EQ(getTableError({}, 4, ""),
            "expected schedule to hold at least one triple [a, b, c]");
  EXPECT_EQ(getTableError({{2, -1.5, 0.5}, {2, -1.5, 0.5}, {1, 0, 0}}, 1, ""),
            "expected steps to be at least the number of triples, 3, but got "
            "1, which leaves the last 2 unused");
  EXPECT_EQ(getTableError(table, 1, "cubic"),
            "expected then only with more steps than triples, but got then = "
            "\"cubic\" with 1 steps and 1 triples");
  EXPECT_EQ(getTableError(table, 21, "repeat"),
            "expected steps of schedule [[a, b, c], ...] in 1..20, but got 21");
  for (double bad : {double(NAN), double(INFINITY), 1e-50, 1e-30, -9e-10, 1e39})
    EXPECT_NE(getTableError({{2, -1.5, 0.5}, {1, bad, 0}}, 2, "").find("got "),
              std::string::npos)
        << bad;
  EXPECT_EQ(getTableError({{NAN, 0, 0}}, 1, ""),
            "expected coefficients of schedule to be 0 or of a size in [1e-09, "
            "10000], outside of which FP32 steps lose or magnify them, but got "
            "nan in triple 1");
}

TEST(Schedules, ViolationsAreNamed) {
  // p(s) = 2 s: too large at the end of the interval.
  std::optional<Violation> large = findViolation({{2, 0, 0}}, 0.25);
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->s, 1.25, 1e-12);
  EXPECT_NEAR(large->image, 2.5, 1e-12);

  // p(s) = s (1 - 2 s^2) is zero at 1/sqrt(2).
  std::optional<Violation> zero = findViolation({{1, -2, 0}}, 0);
  ASSERT_TRUE(zero);
  EXPECT_NEAR(zero->s, std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(zero->image, 0, 1e-12);

  EXPECT_LE(findViolation({{-1, 0, 0}}, 0)->image, 0);
  EXPECT_LT(findViolation({{-1, 2, 0}}, 0)->image, 0);
  // s^3 is positive, and brings small singular values down to nothing.
  EXPECT_EQ(findViolation({{0, 1, 0}}, 0)->image, 0);
  EXPECT_LE(findViolation({{0, 1, 0}, {0, 1, 0}}, 0)->s, 1);

  // 2 s, then the same zero: at half of it.
  std::optional<Violation> later = findViolation({{2, 0, 0}, {1, -2, 0}}, 0);
  ASSERT_TRUE(later);
  EXPECT_NEAR(later->s, 0.5 * std::sqrt(0.5), 1e-12);

  // A large step in between is no fault if the next one brings it back.
  EXPECT_FALSE(findViolation({{2, 0, 0}, {0.5, 0, 0}}, 0));

  // A maximum inside: s (4 - 4 s^2 + 1.5 s^4) at s^2 = (12 - sqrt(24))/15.
  double inside = std::sqrt((12 - std::sqrt(24.0)) / 15);
  std::optional<Violation> hump = findViolation({{4, -4, 1.5}}, 0);
  ASSERT_TRUE(hump);
  EXPECT_NEAR(hump->s, inside, 1e-9);
  EXPECT_NEAR(hump->image, evaluate({{4, -4, 1.5}}, inside), 1e-12);
}

TEST(Schedules, WhatVanishesIsNamed) {
  // Ten times a millionth.
  std::optional<Violation> tiny = findViolation(Schedule(10, {1e-6, 0, 0}), 0);
  ASSERT_TRUE(tiny);
  EXPECT_DOUBLE_EQ(tiny->s, leastValue);
  EXPECT_LT(tiny->image, 1e-60);

  // s ((1 - 4 s^2)^2 + 1e-4) has its dip beside 1/2.
  std::optional<Violation> dip = findViolation({{1.0001, -8, 16}}, -0.35);
  ASSERT_TRUE(dip);
  EXPECT_NEAR(dip->s, 0.5, 1e-4);
  EXPECT_NEAR(dip->image, 5e-5, 1e-6);
  EXPECT_FALSE(findViolation({{1.01, -8, 16}}, -0.35));
}

TEST(Schedules, BadArgumentsAreNamed) {
  EXPECT_EQ(getError("newton", 5), "expected schedule to be jordan, you, "
                                   "polar_express, samuon or cubic, but "
                                   "got \"newton\"");
  EXPECT_EQ(getError("jordan", 0),
            "expected steps of schedule jordan in 1..20, but got 0");
  EXPECT_EQ(getError("cubic", 21),
            "expected steps of schedule cubic in 1..20, but got 21");
  EXPECT_EQ(getError("you", 21),
            "expected steps of schedule you in 1..20, but got 21");
  EXPECT_EQ(getError("jordan", 5, 1.05),
            "expected safety only with schedule polar_express, but got it "
            "with jordan");
  EXPECT_EQ(getError("polar_express", 5, 0.5),
            "expected safety in [1, 2], but got 0.5");
  EXPECT_EQ(getError("polar_express", 5, NAN),
            "expected safety in [1, 2], but got nan");
}

TEST(Schedules, Flops) {
  double unit = std::pow(512.0, 3);
  EXPECT_EQ(countFlops(Form::standard, 512, 512, 5), 30 * unit);
  EXPECT_EQ(countFlops(Form::symmetric, 512, 512, 5), 20 * unit);
  EXPECT_EQ(countFlops(Form::gramSymmetric, 512, 512, 5), 20 * unit);
  EXPECT_EQ(countFlops(Form::gram, 512, 512, 5), 38 * unit);
  for (auto [m, n] : {std::pair(512, 2048), std::pair(2048, 512)}) {
    EXPECT_EQ(countFlops(Form::standard, m, n, 5), 90 * unit);
    EXPECT_EQ(countFlops(Form::symmetric, m, n, 5), 65 * unit);
    EXPECT_EQ(countFlops(Form::gramSymmetric, m, n, 5), 29 * unit);
    EXPECT_EQ(countFlops(Form::gram, m, n, 5), 50 * unit);
    // A restart adds 3 n/m - 3.
    EXPECT_EQ(countFlops(Form::gramSymmetric, m, n, 5, {3}), 38 * unit);
  }
}

TEST(Schedules, TheGramFormIsForWideMatrices) {
  EXPECT_EQ(chooseForm(512, 512, 5, {}), Form::standard);
  EXPECT_EQ(chooseForm(512, 2048, 5, {}), Form::gram);
  EXPECT_EQ(chooseForm(2048, 512, 5, {3}), Form::gram);
  EXPECT_EQ(chooseForm(2048, 512, 1, {}), Form::standard);
}

TEST(Schedules, RestartsBoundTheGrowth) {
  using List = Restarts;
  auto byDefault = [](std::string_view name, int64_t steps) {
    return getDefaultRestarts(name, make(name, steps));
  };
  EXPECT_EQ(byDefault("jordan", 5), List{});
  EXPECT_EQ(byDefault("jordan", 12), (List{5, 10}));
  EXPECT_EQ(byDefault("polar_express", 5), List{3});
  EXPECT_EQ(byDefault("you", 5), List{3});
  EXPECT_EQ(byDefault("cubic", 5), List{});
  for (std::string_view name : {"jordan", "you", "polar_express", "cubic"})
    EXPECT_LE(getGrowth(make(name, 20), byDefault(name, 20)), 500) << name;
  EXPECT_NEAR(getGrowth(make("jordan", 5), {}), std::pow(3.4445, 5), 1e-9);
  EXPECT_NEAR(getGrowth(make("jordan", 5), {2}), std::pow(3.4445, 3), 1e-9);
  // Twenty steps in one go are too much for binary32, one is for BF16.
  EXPECT_GT(getGrowth(make("cubic", 20), {}) * 0x1p-24, maxGramError);
  EXPECT_GT(getGrowth(make("cubic", 1), {}) * 0x1p-8, maxGramError);
}
