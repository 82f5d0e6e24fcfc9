//===- AllocationTest.cpp - spectral allocation ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SAMuon (arXiv:2608.25990), through the whole compiler: golden values, its
// invariants, and float64 with exact singular pairs.
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Neighbours.h"
#include "test/Unit/Tools/CompiledRule.h"

#include <cmath>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

/// Fourteen steps of the convergent polynomial: the polar factor to rounding,
/// for the spectra of these tests.
static const char *polar = "schedule = \"cubic\", steps = 14";
/// What the paper's table is for.
static const char *samuon = "schedule = \"samuon\", steps = 4";

static std::string allocation(const std::string &schedule, double gain,
                              int rank, int rounds, int warmup = 0) {
  return makeRule({}, fmt::format(R"(
  %s = geo.spectral %g radius(%lr) {{{}}}
  %a = geo.allocate %s, %g radius(%lr) step(%t)
      {{gain = {}, rank = {}, rounds = {}, warmup_steps = {}}}
  %w1 = geo.apply %w, %a
  optim.yield %w1
)",
                                  schedule, gain, rank, rounds, warmup));
}

static Matrix diagonal(const std::vector<double> &values, std::size_t rows = 0,
                       std::size_t cols = 0) {
  Matrix m(std::max(rows, values.size()), std::max(cols, values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    m.at(i, i) = values[i];
  return m;
}

/// U diag(values) V^T with the singular vectors of a Gaussian matrix.
static Matrix withSpectrum(std::size_t rows, std::size_t cols,
                           const std::vector<double> &values, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Matrix m(rows, cols);
  for (double &x : m.data)
    x = normal(random);
  reference::SingularValues pairs = reference::singularValues(m);
  return reference::multiply(reference::multiply(pairs.left, diagonal(values)),
                             reference::transpose(pairs.right));
}

static std::vector<double> decaying(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(1 / (1 + static_cast<double>(i)));
  return values;
}

/// -O_SA, with the exact polar factor.
static Matrix expected(const Matrix &m, double gain, std::size_t rank,
                       double warmup = 1) {
  reference::SingularValues pairs = reference::singularValues(m);
  Matrix s = reference::scale(
      reference::multiply(pairs.left, reference::transpose(pairs.right)), -1);
  return reference::allocate(s, m, 1, gain, rank, warmup);
}

TEST(Allocation, ThePaperTableGivesTheGoldenValues) {
  const double profile[] = {1.027023, 3.502078, 5.015038};
  const double lite[] = {1.027023, 4.978359, 5.015038};
  for (int rank : {3, 1}) {
    CompiledRule rule(allocation(samuon, 5, rank, 20), {{3, 3}});
    fill(rule.gradient(), diagonal({4, 2, 1}));
    rule.step();
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 3; ++j)
        EXPECT_NEAR(rule.update().f32()[3 * i + j],
                    i != j ? 0 : -(rank == 1 ? lite : profile)[i], 3e-6);
  }
}

TEST(Allocation, AnExactPolarFactorGivesTheProfile) {
  EXPECT_LT(reference::relativeDifference(expected(diagonal({4, 2, 1}), 5, 3),
                                          diagonal({-1, -3.523719, -5})),
            1e-6);
  CompiledRule rule(allocation(polar, 5, 3, 20), {{3, 3}});
  fill(rule.gradient(), diagonal({4, 2, 1}));
  rule.step();
  EXPECT_LT(reference::relativeDifference(toMatrix(rule.update()),
                                          diagonal({-1, -3.523719, -5})),
            1e-6);
}

TEST(Allocation, TheProfileIsThePublishedOne) {
  const std::vector<std::pair<std::size_t, std::vector<double>>> table = {
      {39, {1, 2.1484, 2.8202, 3.2969}},
      {50, {1, 2.0755, 2.7046, 3.1510}},
      {71, {1, 1.9870, 2.5644, 2.9741}}};
  for (const auto &[rank, values] : table) {
    std::vector<double> profile = reference::allocationProfile(7.07, rank);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(profile[i], values[i], 6e-5) << rank;
    EXPECT_NEAR(profile.back(), 7.07, 1e-12);
  }
}

TEST(Allocation, EqualsTheReference) {
  const std::vector<Shape> shapes = {
      {33, 20}, {20, 33}, {24, 24}, {1, 5}, {5, 1}};
  for (int rank : {1, 6}) {
    CompiledRule rule(allocation(polar, 7.07, rank, 40), shapes);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      auto rows = static_cast<std::size_t>(shapes[i][0]),
           cols = static_cast<std::size_t>(shapes[i][1]);
      fill(rule.gradient(i),
           withSpectrum(rows, cols, decaying(std::min(rows, cols)), 1));
    }
    rule.step();
    for (std::size_t i = 0; i < shapes.size(); ++i)
      EXPECT_LT(reference::relativeDifference(
                    toMatrix(rule.update(i)),
                    expected(toMatrix(rule.gradient(i)), 7.07,
                             static_cast<std::size_t>(rank))),
                1e-4)
          << shapes[i][0] << "x" << shapes[i][1] << ", rank " << rank;
  }
}

/// So many rows that sums of columns are shared by blocks, and some rows more.
TEST(Allocation, ManyRowsEqualTheReference) {
  CompiledRule rule(allocation(samuon, 7.07, 1, 20), {{130, 1100}});
  Tensor &g = rule.gradient();
  fillNormal(g, 1);
  for (int64_t i = 0; i < 130; ++i)
    for (int64_t j = 0; j < 1100; ++j)
      g.f32()[i * 1100 + j] += i % 3 == 0 ? -1.0f : 1.0f;
  rule.step();
  CompiledRule spectral(makeRule({}, fmt::format(R"(
  %s = geo.spectral %g radius(%lr) {{{}}}
  %w1 = geo.apply %w, %s
  optim.yield %w1
)",
                                                 samuon)),
                        {{130, 1100}});
  std::memcpy(spectral.gradient().f32(), g.f32(), g.bytes());
  spectral.step();
  EXPECT_LT(reference::relativeDifference(
                toMatrix(rule.update()),
                reference::allocate(toMatrix(spectral.update()), toMatrix(g), 1,
                                    7.07, 1)),
            1e-5);
}

/// Few rounds, as a spec has them: the answer is near, and what the paper
/// proves of the exact one holds: singular values in [1, gain], and at least
/// the decrease of the polar factor.
TEST(Allocation, FewRoundsAreNear) {
  Matrix m = withSpectrum(64, 48, decaying(48), 3);
  CompiledRule rule(allocation(polar, 7.07, 32, 12), {{64, 48}});
  fill(rule.gradient(), m);
  rule.step();
  Matrix s = toMatrix(rule.update());
  EXPECT_LT(reference::relativeDifference(s, expected(m, 7.07, 32)), 1e-2);
  std::vector<double> values = reference::singularValues(s).values;
  EXPECT_LT(values.front(), 7.07 * 1.001);
  EXPECT_GT(values.back(), 0.99);
  double decrease = 0, nuclear = 0;
  for (std::size_t i = 0; i < m.data.size(); ++i)
    decrease -= m.data[i] * s.data[i];
  for (double value : reference::singularValues(m).values)
    nuclear += value;
  EXPECT_GE(decrease, nuclear);
}

/// Pairs beyond the rank of the momentum are rounding errors. The increment
/// does not hold them, so what is taken from them would be a step uphill.
TEST(Allocation, PairsOfRoundingErrorsDoNotCount) {
  const Matrix left = withSpectrum(48, 2, {1, 1}, 5),
               right = withSpectrum(2, 40, {3, 1}, 6);
  CompiledRule rule(allocation(samuon, 7.07, 32, 12), {{48, 40}});
  fill(rule.gradient(), reference::multiply(left, right));
  for (int exponent : {0, -120}) {
    for (int64_t i = 0; i < rule.gradient().count(); ++i)
      rule.gradient().f32()[i] = std::ldexp(rule.gradient().f32()[i], exponent);
    rule.step();
    std::vector<double> values =
        reference::singularValues(toMatrix(rule.update())).values;
    EXPECT_NEAR(values[0], 1 + 6.07 * std::log(2) / std::log(32), 0.1);
    EXPECT_NEAR(values[1], 1, 0.1);
    EXPECT_LT(values[2], 1e-3) << exponent;
  }
}

TEST(Allocation, NoGainIsTheSpectralStepBitForBit) {
  CompiledRule with(allocation("schedule = \"jordan\", steps = 5", 1, 4, 10),
                    {{24, 40}});
  CompiledRule without(makeRule({}, R"(
  %s = geo.spectral %g radius(%lr) {schedule = "jordan", steps = 5}
  %w1 = geo.apply %w, %s
  optim.yield %w1
)"),
                       {{24, 40}});
  fillNormal(with.gradient(), 1);
  fillNormal(without.gradient(), 1);
  with.step();
  without.step();
  EXPECT_TRUE(sameBits(with.update(), without.update()));
}

TEST(Allocation, ZeroGivesZero) {
  for (int rank : {1, 4}) {
    CompiledRule rule(allocation(polar, 5, rank, 6), {{9, 12}});
    rule.step();
    for (int64_t i = 0; i < rule.update().count(); ++i)
      ASSERT_EQ(rule.update().f32()[i], 0);
  }
}

TEST(Allocation, TheOtherSignTurnsTheStepAndScaleIsNotSeen) {
  CompiledRule rule(allocation(polar, 5, 3, 12), {{16, 9}});
  fillNormal(rule.gradient(), 1);
  rule.step();
  Tensor base = rule.update().clone();
  fillNormal(rule.gradient(), 1, -1);
  rule.step();
  for (int64_t i = 0; i < base.count(); ++i)
    ASSERT_EQ(rule.update().f32()[i], -base.f32()[i]);
  for (int exponent : {-60, -20, 30}) {
    fillNormal(rule.gradient(), 1, std::ldexp(1.0f, exponent));
    rule.step();
    EXPECT_TRUE(sameBits(rule.update(), base)) << exponent;
  }
}

/// O_SA(Q M R) = Q O_SA(M) R for orthogonal Q and R.
TEST(Allocation, TurnsWithTheMatrix) {
  Matrix m = withSpectrum(20, 20, decaying(20), 1);
  Matrix q = withSpectrum(20, 20, std::vector<double>(20, 1), 2);
  Matrix r = withSpectrum(20, 20, std::vector<double>(20, 1), 3);
  CompiledRule rule(allocation(polar, 5, 4, 40), {{20, 20}, {20, 20}});
  fill(rule.gradient(0), m);
  fill(rule.gradient(1), reference::multiply(reference::multiply(q, m), r));
  rule.step();
  EXPECT_LT(reference::relativeDifference(
                toMatrix(rule.update(1)),
                reference::multiply(
                    reference::multiply(q, toMatrix(rule.update(0))), r)),
            1e-4);
}

/// With an exact polar factor: singular values in [1, gain], a decrease of at
/// least the nuclear norm, ||O_SA||_F^2 <= r gain^2.
TEST(Allocation, KeepsThePublishedBounds) {
  const double gain = 5;
  CompiledRule rule(allocation(polar, gain, 4, 40), {{24, 16}});
  const Matrix m = withSpectrum(24, 16, decaying(16), 4);
  fill(rule.gradient(), m);
  rule.step();
  const Matrix s = toMatrix(rule.update());
  double decrease = 0, nuclear = 0;
  for (std::size_t i = 0; i < m.data.size(); ++i)
    decrease -= m.data[i] * s.data[i];
  for (double value : decaying(16))
    nuclear += value;
  for (double value : reference::singularValues(s).values) {
    EXPECT_GT(value, 1 - 1e-3);
    EXPECT_LT(value, gain + 1e-3);
  }
  EXPECT_GT(decrease, nuclear * (1 - 1e-4));
  EXPECT_LT(std::pow(reference::frobeniusNorm(s), 2), 16 * gain * gain);
}

TEST(Allocation, WarmsUp) {
  CompiledRule rule(allocation(polar, 5, 3, 20, 8), {{3, 3}});
  fill(rule.gradient(), diagonal({4, 2, 1}));
  const std::pair<int64_t, double> table[] = {
      {2, .146447}, {4, .5}, {6, .853553}, {8, 1}, {1000, 1}};
  for (auto [t, w] : table) {
    EXPECT_NEAR(reference::allocationWarmup(t, 8), w, 1e-6);
    rule.arguments.step = t;
    rule.step();
    EXPECT_LT(reference::relativeDifference(
                  toMatrix(rule.update()),
                  expected(diagonal({4, 2, 1}), 5, 3,
                           reference::allocationWarmup(t, 8))),
              1e-6)
        << t;
  }
}

/// A start along one axis, or one that is the same in all columns, would never
/// find these heads.
TEST(Allocation, TheStartIsOrthogonalToNoPlainDirection) {
  CompiledRule rule(allocation(polar, 5, 1, 30), {{2, 2}, {4, 4}, {1, 2}});
  const std::vector<Matrix> heads = {
      Matrix(2, 2, std::vector<double>{1, -1, -1, 1}),
      Matrix(4, 4,
             std::vector<double>{.1, 0, 0, 0, 0, 0, 0, 0, //
                                 0, 0, 5, -5, 0, 0, -5, 5}),
      Matrix(1, 2, std::vector<double>{3, -3})};
  for (std::size_t i = 0; i < 3; ++i)
    fill(rule.gradient(i), heads[i]);
  rule.step();
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> values =
        reference::singularValues(toMatrix(rule.update(i))).values;
    // The head has 1, not 5; others are 5 or nothing.
    EXPECT_NEAR(i == 1 ? values[1] : values[0], 1, 1e-5) << i;
  }
}

/// With two leading singular values that are equal the head is some direction
/// of their plane, and no more than one.
TEST(Allocation, OfEqualHeadsOneIsTaken) {
  CompiledRule rule(allocation(polar, 5, 1, 30), {{12, 9}});
  fill(rule.gradient(),
       withSpectrum(12, 9, {2, 2, 1, .5, .4, .3, .2, .2, .1}, 1));
  rule.step();
  std::vector<double> values =
      reference::singularValues(toMatrix(rule.update())).values;
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(values[i], 5, 1e-4) << i;
  EXPECT_NEAR(values[8], 1, 1e-4);
}
