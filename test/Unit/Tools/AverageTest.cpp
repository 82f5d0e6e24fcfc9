//===- AverageTest.cpp - momentum as a mixture of averages ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bi-Maxwell (arXiv:2608.22994) and K-Maxwell, through the whole compiler: what
// must be Muon bit for bit, golden values, and float64 for the rest.
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Neighbours.h"
#include "test/Unit/Tools/CompiledRule.h"

#include <cmath>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

/// The same spectral oracle for every momentum: R is in %r.
static const char *oracle = R"(
  %radius = geo.shape_scale %lr, %w
  %d = geo.spectral %r radius(%radius) {schedule = "jordan", steps = 5}
  %w1 = geo.apply %w, %d
)";
/// The direction R itself is the increment.
static const char *direction = R"(
  %d = geo.scale %r, %lr
  %w1 = geo.apply %w, %d
)";

static std::string muon(const char *tail) {
  return makeRule({"m"}, std::string(R"(
  %m1 = geo.ema %m, %g {beta = 0.95}
  %r = geo.ema %m1, %g {beta = 0.95}
)") + tail + "  optim.yield %w1, %m1\n");
}

static std::string biMaxwell(const char *tail, int64_t last, double fast = 0.85,
                             double slow = 0.98) {
  return makeRule({"f", "s"}, fmt::format(R"(
  %f1 = geo.switched_ema %f, %g step(%t) {{beta = 0.95, switch_step = {}, after = {}}}
  %s1 = geo.switched_ema %s, %g step(%t) {{beta = 0.95, switch_step = {}, after = {}}}
  %e = geo.mix %f1, %s1 {{weights = [0.4385, 0.5615]}}
  %r = geo.ema %e, %g {{beta = 0.95}}
)",
                                          last, fast, last, slow) +
                                  tail + "  optim.yield %w1, %f1, %s1\n");
}

/// Gives both rules the same gradients for `steps` updates; how many updates
/// from the first on are the same bits.
static int countEqualSteps(CompiledRule &a, CompiledRule &b, int steps) {
  for (int t = 1; t <= steps; ++t) {
    fillNormal(a.gradient(), t);
    fillNormal(b.gradient(), t);
    a.step();
    b.step();
    if (!sameBits(a.update(), b.update()))
      return t - 1;
  }
  return steps;
}

TEST(Averages, EqualRatesAreMuonForEver) {
  CompiledRule one(muon(oracle), {{24, 40}});
  CompiledRule two(biMaxwell(oracle, 2, 0.95, 0.95), {{24, 40}});
  EXPECT_EQ(countEqualSteps(one, two, 6), 6);
  EXPECT_TRUE(
      sameBits(one.arguments.parameters[0], two.arguments.parameters[0]));
}

TEST(Averages, ASwitchThatNeverComesIsMuon) {
  CompiledRule one(muon(oracle), {{24, 40}});
  CompiledRule two(biMaxwell(oracle, INT64_MAX), {{24, 40}});
  EXPECT_EQ(countEqualSteps(one, two, 6), 6);
}

TEST(Averages, TheSwitchItselfIsMuonAndTheNextStepIsNot) {
  CompiledRule one(muon(oracle), {{24, 40}});
  CompiledRule two(biMaxwell(oracle, 3), {{24, 40}});
  EXPECT_EQ(countEqualSteps(one, two, 6), 3);
  // Both poles were the one average until then.
  CompiledRule three(biMaxwell(oracle, 3), {{24, 40}});
  for (int t = 1; t <= 4; ++t) {
    fillNormal(three.gradient(), t);
    three.step();
    EXPECT_EQ(sameBits(three.state(0), three.state(1)), t <= 3) << t;
  }
}

TEST(Averages, ThePaperConstantsGiveTheGoldenDirections) {
  CompiledRule rule(biMaxwell(direction, 0), {{1, 1}, {1, 1}});
  const double fromZero[] = {.12315475, -.05958631, .23813340};
  const double fromOne[] = {.87684525, .81327681, .75788446};
  // The second matrix starts from ones and has no gradient.
  rule.state(2).f32()[0] = rule.state(3).f32()[0] = 1;
  const float gradients[] = {1, -1, 2};
  for (int t = 0; t < 3; ++t) {
    rule.gradient(0).f32()[0] = gradients[t];
    rule.step();
    EXPECT_NEAR(rule.update(0).f32()[0], fromZero[t], 1e-7) << t;
    EXPECT_NEAR(rule.update(1).f32()[0], fromOne[t], 2e-7) << t;
  }
}

/// Of the response h to one gradient: the newest one's weight h_0, the lag
/// sum k h / sum h, and the gain of white noise sum h^2.
static void expectResponse(const std::string &text, double newest, double lag,
                           double gain) {
  CompiledRule rule(text, {{1, 1}});
  double sum = 0, moment = 0, squares = 0;
  for (int k = 0; k < 1500; ++k) {
    rule.gradient().f32()[0] = k == 0 ? 1.0f : 0.0f;
    rule.step();
    double h = rule.update().f32()[0];
    if (k == 0) {
      EXPECT_NEAR(h, newest, 1e-7);
    }
    sum += h;
    moment += k * h;
    squares += h * h;
  }
  EXPECT_NEAR(sum, 1, 1e-5); // a constant gradient comes out as it is
  EXPECT_NEAR(moment / sum, lag, 2e-3);
  EXPECT_NEAR(squares, gain, 1e-6);
}

TEST(Averages, ImpulseResponsesHaveThePublishedLagAndGain) {
  expectResponse(biMaxwell(direction, 0), .12315475, 28.498, .034744);
  expectResponse(muon(direction), .0975, 18.05, .030391);
}

/// What of the slow and of the fast average is in the mixture, of a constant
/// gradient and of one that turns at every step.
TEST(Averages, TheSlowAverageLeadsWhereGradientsStay) {
  for (auto [factor, ratio] : {std::pair(1.0f, 1.2805), {-1.0f, .1595}}) {
    CompiledRule rule(biMaxwell(direction, 0), {{1, 1}});
    float gradient = 1;
    for (int t = 0; t < 1200; ++t, gradient *= factor) {
      rule.gradient().f32()[0] = gradient;
      rule.step();
    }
    EXPECT_NEAR(.5615 * rule.state(1).f32()[0] /
                    (.4385 * rule.state(0).f32()[0]),
                ratio, 1e-4);
  }
}

/// R is linear in the gradient and both averages.
TEST(Averages, TheDirectionIsLinear) {
  CompiledRule rule(biMaxwell(direction, 0), {{3, 5}, {3, 5}, {3, 5}});
  auto combine = [](const Tensor &a, const Tensor &b, const Tensor &out) {
    for (int64_t i = 0; i < out.count(); ++i)
      out.f32()[i] = 2 * a.f32()[i] - 3 * b.f32()[i];
  };
  for (unsigned p = 0; p < 2; ++p) {
    fillNormal(rule.gradient(p), p);
    fillNormal(rule.state(2 * p), 10 + p);
    fillNormal(rule.state(2 * p + 1), 20 + p);
  }
  combine(rule.gradient(0), rule.gradient(1), rule.gradient(2));
  combine(rule.state(0), rule.state(2), rule.state(4));
  combine(rule.state(1), rule.state(3), rule.state(5));
  rule.step();
  const Tensor expected = rule.update(0).clone();
  combine(rule.update(0), rule.update(1), expected);
  EXPECT_LT(reference::relativeDifference(toMatrix(rule.update(2)),
                                          toMatrix(expected)),
            1e-6);
}

TEST(Averages, ConstantGradientsStay) {
  // M_k = G = x from the start on: R = x. Weights sum to 1.
  CompiledRule rule(biMaxwell(direction, 0), {{5, 7}});
  fillNormal(rule.gradient(), 1);
  for (std::size_t s : {0, 1})
    std::memcpy(rule.state(s).f32(), rule.gradient().f32(),
                rule.gradient().bytes());
  for (int t = 0; t < 4; ++t) {
    rule.step();
    EXPECT_LT(reference::relativeDifference(toMatrix(rule.update()),
                                            toMatrix(rule.gradient())),
              1e-6);
  }
}

TEST(Averages, TheOtherSignTurnsTheStep) {
  CompiledRule plus(biMaxwell(oracle, 1), {{9, 5}});
  CompiledRule minus(biMaxwell(oracle, 1), {{9, 5}});
  for (int t = 1; t <= 3; ++t) {
    fillNormal(plus.gradient(), t);
    fillNormal(minus.gradient(), t, -1);
    plus.step();
    minus.step();
    for (int64_t i = 0; i < plus.update().count(); ++i)
      ASSERT_EQ(plus.update().f32()[i], -minus.update().f32()[i]);
  }
}

//===----------------------------------------------------------------------===//
// K-Maxwell
//===----------------------------------------------------------------------===//

TEST(KMaxwell, TheRuleGivesThePublishedTables) {
  auto expectNear = [](const std::vector<double> &got,
                       const std::vector<double> &table) {
    ASSERT_EQ(got.size(), table.size());
    for (std::size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(got[k], table[k], 6e-7) << k;
  };
  std::vector<double> ages = reference::maxwellAges(8, 3, 64), rates;
  for (double age : ages)
    rates.push_back(age / (age + 1));
  expectNear(rates, {.75, .822852, .877930, .917599, .945181, .963894, .976379,
                     .984615});
  for (double age : {58.0, 26.0}) {
    std::vector<double> weights = reference::rampWeights(ages, age);
    double sum = 0, mean = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      sum += weights[k];
      mean += weights[k] * ages[k];
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    EXPECT_NEAR(mean, age, 1e-12);
  }
  expectNear(
      reference::rampWeights(ages, 58),
      {.005094, .010188, .015282, .020376, .025470, .030564, .035658, .857369});
  expectNear(
      reference::rampWeights(ages, 26),
      {.032262, .064524, .096786, .129047, .161309, .193571, .225833, .096669});
  expectNear(reference::rampWeights(reference::maxwellAges(6, 3, 64), 50),
             {.021004, .042008, .063012, .084016, .105020, .684940});
  expectNear(reference::rampWeights(reference::maxwellAges(6, 3, 64), 22),
             {.063012, .126024, .189036, .252048, .315060, .054820});
  expectNear(reference::rampWeights(reference::maxwellAges(6, 3, 56), 35),
             {.036726, .073452, .110179, .146905, .183631, .449107});
}

/// Three poles that switch after update 2, weights that move in updates 4 to
/// 7, beside float64.
TEST(KMaxwell, EqualsTheReference) {
  const std::vector<double> rates = {0.75, 0.9, 0.98}, from = {0.1, 0.2, 0.7},
                            to = {0.5, 0.3, 0.2};
  CompiledRule rule(makeRule({"a", "b", "c"}, R"(
  %a1 = geo.switched_ema %a, %g step(%t) {beta = 0.95, switch_step = 2, after = 0.75}
  %b1 = geo.switched_ema %b, %g step(%t) {beta = 0.95, switch_step = 2, after = 0.9}
  %c1 = geo.switched_ema %c, %g step(%t) {beta = 0.95, switch_step = 2, after = 0.98}
  %r = geo.mix %a1, %b1, %c1 step(%t) {weights = [0.1, 0.2, 0.7],
      end_weights = [0.5, 0.3, 0.2], start = 3, anneal_steps = 4}
  %d = geo.scale %r, %lr
  %w1 = geo.apply %w, %d
  optim.yield %w1, %a1, %b1, %c1
)"),
                    {{13, 37}});
  for (const Manifest::State &state :
       rule.artefact->manifest().parameters[0].states)
    EXPECT_EQ(state.convention, "ema") << state.name;
  std::vector<Matrix> states(3, Matrix(13, 37));
  for (int t = 1; t <= 9; ++t) {
    fillNormal(rule.gradient(), t);
    rule.step();
    Matrix g = toMatrix(rule.gradient());
    for (std::size_t k = 0; k < 3; ++k) {
      states[k] = reference::switchedEma(states[k], g, t, 0.95, 2, rates[k]);
      EXPECT_LT(
          reference::relativeDifference(toMatrix(rule.state(k)), states[k]),
          1e-6);
    }
    Matrix expected =
        reference::mix(states, reference::annealedWeights(t, 3, 4, from, to));
    EXPECT_LT(reference::relativeDifference(toMatrix(rule.update()), expected),
              1e-6)
        << t;
  }
}

/// With two poles and weights that do not move it is Bi-Maxwell.
TEST(KMaxwell, WeightsThatStayAreBiMaxwell) {
  std::string moving = biMaxwell(oracle, 2);
  const std::string fixed = "{weights = [0.4385, 0.5615]}";
  moving.replace(moving.find(fixed), fixed.size(),
                 "step(%t) {weights = [0.4385, 0.5615], end_weights = [0.4385, "
                 "0.5615], start = 1, anneal_steps = 3}");
  CompiledRule one(biMaxwell(oracle, 2), {{24, 40}}), two(moving, {{24, 40}});
  EXPECT_EQ(countEqualSteps(one, two, 6), 6);
}
