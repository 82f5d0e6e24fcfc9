//===- KnownFailureTest.cpp - inputs that broke others --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test is a fault that was reported of another implementation of these
// updates, with the behaviour that is right. Where the others are looked for:
//
//   every pair of sides, batches of         KnownShapesTest
//     convolutions, symmetric products,
//     pad rows, centring, many rates
//   clipping beside an oracle               SpecsTests (Clipping)
//   bases aligned to elements only          Execution/CPU/cases.test
//   leading dimensions, other types         HostTests (Stage), Execution/CPU/views
//   a skipped step, training goes on        TrainTest (ANonFiniteGradient...)
//   coefficients that flip or explode       SchedulesTest; Dialect/Geo/invalid
//   shape factors, structured parameters    GeometriesTests (Structure),
//                                           Dialect/Geo/canonicalize
//   offsets beyond 32 bits, read-only       MemoryTests
//     gradients
//   aliases, parameters without a group     Passes/optim-bind-parameters*
//   overlapping memory                      HostTests (FindsEveryOverlap)
//   conventions of momentum, N + N steps    TrainTest (Checkpoint, Trainer),
//                                           test/Python/test_torch.py
//   rates and decay at run time             StepCaseTests, TrainTest (Schedule)
//   centring, facts that do not hold        Passes/geo-infer-centering,
//                                           MeasureStepTests
//   column sums of the head's gradient      ModelTests (HeadGradient)
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Tools/CompiledSpec.h"

#include <cmath>
#include <limits>

using namespace steep;
using reference::Matrix;
using test::fillNormal;
using test::sameBits;
using test::Shape;
using test::toMatrix;

//===----------------------------------------------------------------------===//
// An optimizer for parameters of given names and shapes
//===----------------------------------------------------------------------===//

namespace {
class Optimizer : public test::CompiledSpec {
public:
  explicit Optimizer(const test::NamedShapes &list)
      : CompiledSpec(STEEP_TEST_DATA "/known_failures.mlir", list) {}

  float *weight(std::size_t i) { return arguments.parameters[i].f32(); }
  float *gradient(std::size_t i) { return arguments.gradients[i].f32(); }
  float *update(std::size_t i) { return arguments.updates[i].f32(); }
};
} // namespace

/// The optimizer has a group only for names that are there, so tests that look
/// at one rule add one parameter of each other.
static test::NamedShapes withOthers(test::NamedShapes list) {
  for (const char *rule : {"muon", "exact", "adamw", "rownorm", "ball"}) {
    bool there = false;
    for (const auto &item : list)
      there |= item.first.rfind(rule, 0) == 0;
    if (!there)
      list.emplace_back(std::string(rule) + ".other", Shape{1, 1});
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Scale, zero, non-finite
//===----------------------------------------------------------------------===//

TEST(KnownFailures, TinyGradientsAreNotScaledAway) {
  Optimizer optimizer(withOthers({{"exact.w", {64, 128}}}));
  Tensor base(DType::F32, {64, 128});
  fillNormal(base, 1);
  auto updateAt = [&](double c) {
    for (int64_t i = 0; i < base.count(); ++i)
      optimizer.gradient(0)[i] = static_cast<float>(c * base.f32()[i]);
    optimizer.step();
    return optimizer.arguments.updates[0].clone();
  };
  Tensor expected = updateAt(1);
  for (int exponent : {-60, -40, -20, 30})
    EXPECT_TRUE(sameBits(updateAt(std::ldexp(1.0, exponent)), expected))
        << "2^" << exponent;
  for (double c : {1e-6, 1e-12, 1e-20, 1e-30, 1e15, 1e30})
    EXPECT_LT(reference::relativeDifference(toMatrix(updateAt(c)),
                                            toMatrix(expected)),
              1e-5)
        << c;
}

TEST(KnownFailures, TinyFactorsOnTheGradientChangeNothing) {
  Optimizer optimizer(withOthers({{"exact.w", {64, 128}}}));
  fillNormal(optimizer.arguments.gradients[0], 2);
  optimizer.step();
  Tensor expected = optimizer.arguments.updates[0].clone();
  for (double scale : {1e-3, 2e-8, 1e3}) {
    optimizer.arguments.gradScale = scale;
    optimizer.step();
    EXPECT_LT(reference::relativeDifference(
                  toMatrix(optimizer.arguments.updates[0]), toMatrix(expected)),
              1e-5)
        << scale;
  }
}

TEST(KnownFailures, ZeroStaysZero) {
  test::NamedShapes list;
  for (const char *rule : {"muon", "exact", "adamw", "rownorm", "ball"})
    for (Shape shape : {Shape{1, 1}, {8, 8}, {64, 128}, {128, 64}})
      list.emplace_back(fmt::format("{}.{}x{}", rule, shape[0], shape[1]),
                        shape);
  Optimizer optimizer(list);
  for (int step = 1; step <= 2; ++step) {
    optimizer.arguments.step = step;
    EXPECT_FALSE(optimizer.step().skipped);
    for (std::size_t p = 0; p < list.size(); ++p)
      for (int64_t i = 0; i < optimizer.arguments.updates[p].count(); ++i) {
        ASSERT_EQ(optimizer.update(p)[i], 0.0f) << list[p].first;
        ASSERT_EQ(optimizer.weight(p)[i], 0.0f) << list[p].first;
      }
  }
}

TEST(KnownFailures, AZeroMatrixDoesNotTouchItsBatch) {
  Optimizer optimizer(withOthers(
      {{"muon.a", {24, 40}}, {"muon.b", {24, 40}}, {"muon.c", {24, 40}}}));
  std::vector<Tensor> before;
  for (float middle : {1.0f, 0.0f, 100.0f}) {
    for (unsigned p = 0; p < 3; ++p) {
      optimizer.arguments.parameters[p].fillZero();
      optimizer.arguments.states[p].fillZero();
      fillNormal(optimizer.arguments.gradients[p], p, p == 1 ? middle : 1.0f);
    }
    optimizer.step();
    if (before.empty())
      for (const Tensor &update : optimizer.arguments.updates)
        before.push_back(update.clone());
    EXPECT_TRUE(sameBits(optimizer.arguments.updates[0], before[0]));
    EXPECT_TRUE(sameBits(optimizer.arguments.updates[2], before[2]));
  }
}

TEST(KnownFailures, OneInfinityDoesNotLiveForEver) {
  auto list = withOthers({{"muon.a", {9, 5}}, {"adamw.b", {3, 4}}});
  Optimizer with(list), without(list);
  for (float bad : {std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()}) {
    for (Optimizer *optimizer : {&with, &without})
      for (unsigned p = 0; p < list.size(); ++p)
        fillNormal(optimizer->arguments.gradients[p], p + 7);
    float saved = std::exchange(with.gradient(1)[11], bad);
    std::vector<Tensor> weights, states;
    for (const Tensor &tensor : with.arguments.parameters)
      weights.push_back(tensor.clone());
    for (const Tensor &tensor : with.arguments.states)
      states.push_back(tensor.clone());
    StepResult result = with.step();
    EXPECT_TRUE(result.skipped);
    EXPECT_EQ(result.nonfiniteParameter, 1);
    for (std::size_t p = 0; p < weights.size(); ++p)
      EXPECT_TRUE(sameBits(with.arguments.parameters[p], weights[p]));
    for (std::size_t s = 0; s < states.size(); ++s)
      EXPECT_TRUE(sameBits(with.arguments.states[s], states[s]));
    with.gradient(1)[11] = saved;
    with.step();
    without.step();
    for (std::size_t p = 0; p < weights.size(); ++p)
      EXPECT_TRUE(sameBits(with.arguments.parameters[p],
                           without.arguments.parameters[p]));
    ++with.arguments.step;
    ++without.arguments.step;
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Two steps of every rule on every shape, beside plain loops in float64.
TEST(KnownFailures, EveryShapeIsRight) {
  std::vector<Shape> shapes = {
      {1, 1},   {1, 97},  {97, 1},  {2, 3},   {3, 2},    {4, 5},   {5, 4},
      {7, 8},   {8, 7},   {9, 15},  {15, 9},  {16, 17},  {17, 16}, {31, 33},
      {33, 31}, {97, 97}, {15, 97}, {97, 17}, {257, 513}};
  test::NamedShapes list;
  for (const char *rule : {"muon", "adamw", "rownorm", "ball"})
    for (const Shape &shape : shapes)
      list.emplace_back(fmt::format("{}.{}x{}", rule, shape[0], shape[1]),
                        shape);
  Optimizer optimizer(withOthers(list));
  const Manifest &manifest = optimizer.artefact->manifest();
  for (unsigned p = 0; p < list.size(); ++p)
    fillNormal(optimizer.arguments.parameters[p], 100 + p);
  for (int t = 1; t <= 2; ++t) {
    std::vector<Tensor> weights, states;
    for (unsigned p = 0; p < list.size(); ++p) {
      fillNormal(optimizer.arguments.gradients[p], 200 + 10 * p + t, 0.1f);
      weights.push_back(optimizer.arguments.parameters[p].clone());
    }
    for (const Tensor &state : optimizer.arguments.states)
      states.push_back(state.clone());
    optimizer.arguments.step = t;
    optimizer.arguments.wd.assign(5, 0.5);
    std::size_t nextState = 0;
    optimizer.step();
    for (std::size_t p = 0; p < list.size(); ++p) {
      std::string rule = manifest.parameters[p].rule;
      std::size_t s = nextState;
      nextState += manifest.parameters[p].states.size();
      auto group = static_cast<std::size_t>(
          manifest.groupIndex(manifest.parameters[p].group));
      double lr = optimizer.arguments.lr[group];
      reference::Scalars scalars{lr, 0.5, 1.0, t};
      Matrix w = toMatrix(weights[p]),
             g = toMatrix(optimizer.arguments.gradients[p]);
      reference::Step expected;
      if (rule == "muon")
        expected = reference::muonStep(w, g, toMatrix(states[s]), scalars);
      else if (rule == "adamw")
        expected = reference::adamwStep(w, g, toMatrix(states[s]),
                                        toMatrix(states[s + 1]), scalars);
      else if (rule == "rownorm")
        expected = reference::rownormStep(w, g, toMatrix(states[s]), scalars,
                                          0.95, 0.0);
      else {
        expected.increment = reference::commonBall(g, lr, 1e-8);
        expected.weight = reference::apply(w, expected.increment, 1 - lr * 0.5);
      }
      auto distance = [](const Tensor &actual, const Matrix &wanted) {
        return reference::relativeDifference(toMatrix(actual), wanted);
      };
      EXPECT_LT(distance(optimizer.arguments.updates[p], expected.increment),
                5e-5)
          << list[p].first << " " << t;
      EXPECT_LT(distance(optimizer.arguments.parameters[p], expected.weight),
                rule == "muon" || rule == "adamw" ? 1e-6 : 2e-6)
          << list[p].first << " " << t;
      if (rule != "ball") {
        EXPECT_LT(distance(optimizer.arguments.states[s], expected.state), 1e-6)
            << list[p].first << " " << t;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

TEST(KnownFailures, GoldenRowNorms) {
  Optimizer optimizer(withOthers({{"rownorm.w", {3, 2}}, {"ball.w", {3, 2}}}));
  const float g[] = {3, 4, 0, 0, -3, 2};
  for (std::size_t p : {0, 1})
    std::memcpy(optimizer.gradient(p), g, sizeof g);
  optimizer.step();
  const double plain[] = {.6, .8, 0, 0, -.8320503, .5547002};
  const double projected[] = {.8880335,  .7031335,  .0559832,
                              -.8515667, -.9440168, .1484333};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(-optimizer.update(0)[i], plain[i], 1e-6);
    EXPECT_NEAR(-optimizer.update(1)[i], projected[i], 1e-6);
    EXPECT_EQ(optimizer.gradient(0)[i], g[i]); // is never written
  }
}

TEST(KnownFailures, EqualRowsDoNotMove) {
  Optimizer optimizer(withOthers({{"ball.w", {4096, 8}}}));
  for (int64_t i = 0; i < 4096 * 8; ++i)
    optimizer.gradient(0)[i] = 1.1f;
  optimizer.step();
  float largest = 0;
  for (int64_t i = 0; i < 4096 * 8; ++i)
    largest = std::max(largest, std::fabs(optimizer.update(0)[i]));
  EXPECT_LE(largest, 1e-6f);
}

TEST(KnownFailures, RowsOfAnySizeAreNormalised) {
  Optimizer optimizer(withOthers({{"rownorm.w", {4, 40}}}));
  const float sizes[] = {1e-20f, 1e20f, 1.0f, 0.0f};
  for (std::size_t i = 0; i < 160; ++i)
    optimizer.gradient(0)[i] = sizes[i / 40] * (i % 2 ? 1.0f : -1.0f);
  // The state of the first step is a twentieth of the gradient.
  optimizer.step();
  for (std::size_t i = 0; i < 160; ++i)
    EXPECT_NEAR(-optimizer.update(0)[i],
                i >= 120 ? 0.0 : (i % 2 ? 1 : -1) / std::sqrt(40.0), 1e-6)
        << i;
}

//===----------------------------------------------------------------------===//
// State and step
//===----------------------------------------------------------------------===//

TEST(KnownFailures, DecayDoesSomething) {
  Optimizer optimizer(withOthers({{"muon.w", {8, 2}}, {"adamw.w", {8, 2}}}));
  for (std::size_t p : {0, 1})
    for (std::size_t i = 0; i < 16; ++i)
      optimizer.weight(p)[i] = 1;
  // Weight 1, no gradient, decay 10 and lr 0.01, without the shape factor.
  optimizer.arguments.wd.assign(5, 10);
  for (double expected : {0.9, 0.81}) {
    optimizer.step();
    ++optimizer.arguments.step;
    for (std::size_t p : {0, 1})
      for (std::size_t i = 0; i < 16; ++i)
        EXPECT_NEAR(optimizer.weight(p)[i], expected, 1e-6);
  }
}

TEST(KnownFailures, TheAverageIsNotNormalisedInPlace) {
  Optimizer optimizer(withOthers({{"rownorm.w", {8, 5}}}));
  for (std::size_t i = 0; i < 40; ++i)
    optimizer.gradient(0)[i] = 1;
  for (double expected : {0.05, 0.0975}) {
    optimizer.step();
    ++optimizer.arguments.step;
    for (std::size_t i = 0; i < 40; ++i)
      EXPECT_NEAR(optimizer.arguments.states[0].f32()[i], expected, 1e-7);
  }
}
