//===- OracleStepTest.cpp - compiled steps of the row diameter ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiled solver answers is feasible, by plain loops, and as steep as
// the runtime's oracle says it can be.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Oracle.h"
#include "runtime/Core/ThreadPool.h"
#include "runtime/Geometry/Oracle.h"
#include "runtime/Geometry/StepQuality.h"
#include "test/Unit/Tools/CompiledSpec.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace steep;
using reference::Matrix;
using test::Shape;
using test::toMatrix;

namespace {

const std::vector<Shape> shapes = {{40, 8},  {1, 3},  {2, 2},  {3, 5},
                                   {97, 17}, {60, 1}, {33, 40}};

/// Every form on every shape; parameter form.i has the shape i.
class Oracles : public test::CompiledSpec {
public:
  explicit Oracles(const std::string &target)
      : CompiledSpec(STEEP_TEST_DATA "/oracles.mlir", nameShapes(),
                     {target, "", nullptr}) {
    for (std::size_t i = 0; i < arguments.gradients.size(); ++i)
      fill(arguments.gradients[i], static_cast<unsigned>(i % shapes.size()));
    setRate(2.5e-3);
  }

  static void fill(const Tensor &g, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < g.count(); ++i)
      g.f32()[i] = normal(random) / static_cast<float>(1 + i / g.dim(1));
  }
  void setRate(double lr) { arguments.lr = {lr, lr, lr}; }

private:
  static test::NamedShapes nameShapes() {
    test::NamedShapes list;
    for (const char *form : {"exact", "repair", "relax"})
      for (std::size_t i = 0; i < shapes.size(); ++i)
        list.emplace_back(fmt::format("{}.{}", form, i), shapes[i]);
    return list;
  }
};

/// The rate as the step sees it, times the rule's rho.
double diameterBound(double lr, float rho = 1) {
  return 2 * static_cast<double>(static_cast<float>(lr) * rho);
}

} // namespace

TEST(OracleSteps, AreFeasibleAndAsSteepAsTheirFormSays) {
  for (const char *target : {"native", "x86-64", "x86-64-v3"}) {
    Oracles oracles(target);
    StepArguments &arguments = oracles.arguments;
    oracles.artefact->step(arguments);
    const std::size_t count = shapes.size();
    const double eta = diameterBound(2.5e-3), wide = diameterBound(2.5e-3, 3);
    for (std::size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(fmt::format("{} {}x{}", target, shapes[i][0], shapes[i][1]));
      const Tensor &g = arguments.gradients[i];
      const double tension = solveRowDiameter(g).report.upper;
      const double best = tension * eta;
      const double slack = 1e-12 * best;
      const Tensor &exact = arguments.updates[i];
      EXPECT_LE(reference::rowDiameter(toMatrix(exact)), wide);
      EXPECT_GE(stepQuality(g, exact).decrease,
                tension * wide * (1 - 3e-6) - slack);
      const Tensor &repaired = arguments.updates[count + i];
      EXPECT_LE(reference::rowDiameter(toMatrix(repaired)), eta);
      EXPECT_GE(stepQuality(g, repaired).decrease, 0.7 * best - slack);
      const Tensor &relaxed = arguments.updates[2 * count + i];
      EXPECT_LE(reference::rowDiameter(toMatrix(relaxed)), eta * (1 + 0x1p-21));
      EXPECT_GE(stepQuality(g, relaxed).decrease,
                best * reference::rowNormCertificate(toMatrix(g)) * (1 - 1e-6) -
                    slack);
      // The weight, zero before, is the increment.
      for (int64_t k = 0; k < exact.count(); ++k)
        ASSERT_EQ(arguments.parameters[i].f32()[k], exact.f32()[k]);
    }
  }
}

TEST(OracleSteps, TheSameBitsForAnyThreadsAndWithoutTheIncrement) {
  Oracles one("native"), more("native");
  ThreadPool pool(3);
  more.arguments.updates.clear();
  for (int64_t step = 1; step <= 2; ++step) {
    one.arguments.step = more.arguments.step = step;
    one.artefact->step(one.arguments);
    more.artefact->step(more.arguments, &pool);
  }
  for (std::size_t i = 0; i < one.arguments.parameters.size(); ++i)
    EXPECT_EQ(std::memcmp(one.arguments.parameters[i].data(),
                          more.arguments.parameters[i].data(),
                          one.arguments.parameters[i].bytes()),
              0)
        << i;
}

TEST(OracleSteps, ZeroRatesAndGradientsMoveNothing) {
  Oracles oracles("native");
  StepArguments &arguments = oracles.arguments;
  oracles.setRate(0); // as a warm-up starts
  oracles.artefact->step(arguments);
  auto expectStill = [&] {
    for (const Tensor &w : arguments.parameters)
      for (int64_t i = 0; i < w.count(); ++i)
        ASSERT_EQ(w.f32()[i], 0);
  };
  expectStill();
  oracles.setRate(1);
  for (const Tensor &state : arguments.states)
    std::memset(state.data(), 0, state.bytes());
  for (const Tensor &g : arguments.gradients)
    std::memset(g.data(), 0, g.bytes());
  oracles.artefact->step(arguments);
  expectStill();
}
