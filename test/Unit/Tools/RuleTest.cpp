//===- RuleTest.cpp - rules that no shipped spec has ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/ThreadPool.h"
#include "test/Unit/Tools/CompiledSpec.h"

#include <cmath>

using namespace steep;
using reference::Matrix;
using test::sameBits;
using test::Shape;

namespace {
/// The rules for the shapes given: parameters center.0, center.1 and so on,
/// and previous.0.
class Rules : public test::CompiledSpec {
public:
  Rules(const std::vector<Shape> &centered, const Shape &previous)
      : CompiledSpec(STEEP_TEST_DATA "/rules.mlir",
                     nameShapes(centered, previous)) {
    arguments.lr = {0, 0};
  }

private:
  static test::NamedShapes nameShapes(const std::vector<Shape> &centered,
                                      const Shape &previous) {
    test::NamedShapes list;
    for (std::size_t i = 0; i < centered.size(); ++i)
      list.emplace_back(fmt::format("center.{}", i), centered[i]);
    list.emplace_back("previous.0", previous);
    return list;
  }
};
} // namespace

static void fillNormal(const Tensor &tensor, unsigned seed, float mean) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.f32()[i] = normal(random);
}

static Matrix matrix(const Tensor &tensor) {
  return Matrix(static_cast<std::size_t>(tensor.dim(0)),
                static_cast<std::size_t>(tensor.dim(1)), tensor.f32());
}

// Means far from zero, so that what is left of them would be seen: without
// groups of rows, with two and many, with rows left over and without.
TEST(Rules, MeansAreThoseOfTheReferenceWithAnyThreads) {
  const std::vector<Shape> shapes = {
      {1, 1},      {2, 3},      {97, 17},   {127, 1031}, {128, 1031},
      {129, 1024}, {191, 1025}, {1023, 5},  {2047, 64},  {2048, 64},
      {2049, 1},   {4099, 33},  {3333, 257}};
  Rules rules(shapes, {1, 1});
  for (unsigned p = 0; p < shapes.size(); ++p)
    fillNormal(rules.arguments.gradients[p], p, 100);
  std::vector<Tensor> first;
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    rules.artefact->step(rules.arguments, &pool);
    for (std::size_t p = 0; p < shapes.size(); ++p) {
      const Tensor &update = rules.arguments.updates[p];
      if (threads == 1) {
        first.push_back(update.clone());
        EXPECT_LT(reference::relativeDifference(
                      matrix(update),
                      reference::center(matrix(rules.arguments.gradients[p]))),
                  1e-5)
            << shapes[p][0] << " x " << shapes[p][1];
      }
      EXPECT_TRUE(sameBits(update, first[p]))
          << shapes[p][0] << " x " << shapes[p][1] << ", " << threads;
    }
  }
}

/// What RowNorm makes of an average, with the projections that a group has.
static Matrix projected(const std::string &group, const Matrix &c,
                        double radius) {
  if (group == "both")
    return reference::commonBall(c, radius, 1e-8);
  if (group == "inner")
    return reference::maxRow(reference::center(c), radius, 1e-8);
  return reference::center(reference::maxRow(c, radius, 1e-8));
}

// Rows in groups, with some left over and without, whose sums follow the rows
// block by block; one block only; two steps, so that the average is in use.
TEST(Rules, ProjectionsAreThoseOfTheReferenceWithAnyThreads) {
  const std::vector<Shape> shapes = {{1539, 128}, {2048, 64}, {97, 17}};
  test::NamedShapes list;
  for (const char *group : {"both", "inner", "outer"})
    for (std::size_t i = 0; i < shapes.size(); ++i)
      list.emplace_back(fmt::format("{}.{}", group, i), shapes[i]);
  std::vector<Tensor> first;
  for (int threads : {1, 2, 3, 7}) {
    test::CompiledSpec rules(STEEP_TEST_DATA "/projections.mlir", list);
    ThreadPool pool(threads);
    // Each parameter's average, and where one is carried its mean row.
    std::vector<std::size_t> averages;
    std::size_t states = 0;
    for (const Manifest::Parameter &parameter :
         rules.artefact->manifest().parameters) {
      averages.push_back(states);
      states += parameter.states.size();
    }
    for (unsigned t = 1; t <= 2; ++t) {
      for (unsigned p = 0; p < list.size(); ++p)
        fillNormal(rules.arguments.gradients[p], 100 * t + p, 0.5f);
      std::vector<Tensor> before;
      for (const Tensor &state : rules.arguments.states)
        before.push_back(state.clone());
      rules.arguments.step = t;
      rules.artefact->step(rules.arguments, &pool);
      for (std::size_t p = 0; p < list.size(); ++p) {
        const std::string &name = list[p].first;
        const Matrix average =
            reference::ema(matrix(before[averages[p]]),
                           matrix(rules.arguments.gradients[p]), 0.9);
        EXPECT_LT(reference::relativeDifference(
                      matrix(rules.arguments.states[averages[p]]), average),
                  1e-6)
            << name;
        EXPECT_LT(reference::relativeDifference(
                      matrix(rules.arguments.updates[p]),
                      projected(name.substr(0, name.find('.')),
                                reference::correctBias(average, 0.9, t), 0.01)),
                  1e-5)
            << name << ", step " << t;
      }
    }
    for (std::size_t p = 0; p < list.size(); ++p) {
      if (threads == 1)
        first.push_back(rules.arguments.parameters[p].clone());
      EXPECT_TRUE(sameBits(rules.arguments.parameters[p], first[p]))
          << list[p].first << ", " << threads << " threads";
    }
  }
}

TEST(Rules, StatesMayBeWhatWasBefore) {
  Rules rules({{1, 1}}, {33, 19});
  StepArguments &arguments = rules.arguments;
  for (unsigned t = 1; t <= 4; ++t) {
    fillNormal(arguments.parameters[1], 10 + t, 0);
    fillNormal(arguments.gradients[1], 20 + t, 0);
    const Tensor w = arguments.parameters[1].clone();
    std::vector<Tensor> before;
    for (const Tensor &state : arguments.states)
      before.push_back(state.clone());
    arguments.step = t;
    rules.artefact->step(arguments);
    EXPECT_TRUE(sameBits(arguments.states[0], arguments.gradients[1]));
    EXPECT_TRUE(sameBits(arguments.states[1], w));
    EXPECT_TRUE(sameBits(arguments.states[2], before[0]));
    for (int64_t i = 0; i < w.count(); ++i) {
      const float s = std::fma(0.5f, before[1].f32()[i], before[2].f32()[i]);
      ASSERT_EQ(arguments.updates[1].f32()[i], s);
      ASSERT_EQ(arguments.parameters[1].f32()[i], w.f32()[i] + s);
    }
  }
}
