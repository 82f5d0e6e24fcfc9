//===- SpecsTest.cpp - shipped specs beside plain loops -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every spec here is compiled for a model of a few tiny matrices and trained on
// a quadratic loss, each update compared with the same rule in float64.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Balls.h"
#include "test/Unit/Tools/CompiledSpec.h"

#include <functional>
#include <map>

using namespace steep;
using namespace steep::test;
using reference::Matrix;
using reference::Scalars;
using reference::ShapeScale;
using reference::Step;

/// The new weight from the old one, its gradient and states.
using Rule = std::function<Step(const Matrix &, const Matrix &,
                                const std::vector<Matrix> &, const Scalars &)>;

//===----------------------------------------------------------------------===//
// The rules, in float64
//===----------------------------------------------------------------------===//

static double scaled(double r, const Matrix &w, ShapeScale kind) {
  return reference::shapeScale(r, w.rows, w.cols, kind);
}

/// Muon with momentum and coefficients of choice; `average` says which form of
/// the momentum, both with Nesterov's step.
static Rule muon(bool average, ShapeScale kind,
                 reference::Coefficients coefficients,
                 bool normalizeRows = false) {
  return [=](const Matrix &w, const Matrix &g, const std::vector<Matrix> &b,
             const Scalars &h) {
    Matrix gc = reference::scale(g, h.clip);
    reference::Momentum sum = reference::momentum(b[0], gc, 0.95);
    Matrix state = average ? reference::ema(b[0], gc, 0.95) : sum.buffer;
    Matrix n = average ? reference::ema(state, gc, 0.95) : sum.nesterov;
    if (normalizeRows)
      n = reference::normalizeRows(n, 1e-8);
    Matrix s = reference::spectral(n, scaled(h.lr, w, kind), coefficients, 0.0);
    return finish(w, std::move(s), h, std::move(state));
  };
}

static Step adamw(const Matrix &w, const Matrix &g,
                  const std::vector<Matrix> &states, const Scalars &h) {
  return reference::adamwStep(w, g, states[0], states[1], h, 0.9, 0.95, 1e-8);
}

/// Scion: an average, then the ball's oracle.
static Rule scion(std::function<Matrix(const Matrix &, double)> oracle) {
  return [=](const Matrix &w, const Matrix &g, const std::vector<Matrix> &b,
             const Scalars &h) {
    Matrix state = reference::ema(b[0], reference::scale(g, h.clip), 0.9);
    return finish(w, oracle(state, h.lr), h, state);
  };
}

static std::map<std::string, Rule> getRules(const std::string &spec) {
  auto jordan = reference::jordan();
  if (spec == "muon")
    return {{"spectral", muon(true, ShapeScale::Original, jordan)}};
  if (spec == "muon_adamw")
    return {{"muon", muon(false, ShapeScale::MatchRmsAdamW,
                          reference::polarExpress(5, 1.01))},
            {"adamw", adamw}};
  if (spec == "muon_eq")
    return {{"spectral", muon(false, ShapeScale::MatchRmsAdamW,
                              reference::you(5), /*normalizeRows=*/true)},
            {"adamw", adamw}};
  if (spec == "normuon")
    return {{"spectral",
             [=](const Matrix &w, const Matrix &g, const std::vector<Matrix> &b,
                 const Scalars &h) {
               return reference::normuonStep(w, g, b[0], b[1], h, jordan);
             }},
            {"adamw", adamw}};
  if (spec == "lion")
    return {{"signs", [](const Matrix &w, const Matrix &g,
                         const std::vector<Matrix> &b, const Scalars &h) {
               return reference::lionStep(w, g, b[0], h);
             }}};
  if (spec == "scale")
    return {{"columns", scion([](const Matrix &b, double lr) {
               return reference::maxColumn(b, lr, 1e-8);
             })}};
  return {
      {"spectral", scion([=](const Matrix &b, double lr) {
         return reference::spectral(b, scaled(50 * lr, b, ShapeScale::Ratio),
                                    jordan, 0);
       })},
      {"rows", scion([](const Matrix &b, double lr) {
         return reference::maxRow(b, scaled(50 * lr, b, ShapeScale::RowRms), 0);
       })},
      {"signs", scion([](const Matrix &b, double lr) {
         return reference::sign(b, scaled(3000 * lr, b, ShapeScale::Mean), 0);
       })}};
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

class Specs : public testing::TestWithParam<const char *> {};

TEST_P(Specs, EveryUpdateIsTheRulesAndTheLossFalls) {
  std::string name = GetParam();
  NamedShapes list = {{"blocks.0.a.weight", {24, 40}},
                      {"blocks.0.b.weight", {40, 24}},
                      {"blocks.0.c.weight", {8, 48}},
                      {"embed.weight", {33, 16}},
                      {"lm_head.weight", {33, 16}}};
  CompiledSpec spec(STEEP_TEST_SPECS "/" + name + ".mlir", list);
  std::map<std::string, Rule> rules = getRules(name);
  StepArguments &arguments = spec.arguments;
  arguments.wd.assign(arguments.wd.size(), 0.5);
  std::vector<Tensor> targets;
  for (unsigned p = 0; p < list.size(); ++p) {
    targets.emplace_back(DType::F32, list[p].second);
    fillNormal(targets[p], 10 + p);
  }
  auto getLoss = [&] {
    double loss = 0;
    for (std::size_t p = 0; p < list.size(); ++p)
      loss += std::pow(
          reference::frobeniusNorm(reference::combine(
              1, toMatrix(arguments.parameters[p]), -1, toMatrix(targets[p]))),
          2);
    return loss;
  };

  double before = getLoss();
  for (int64_t t = 1; t <= 4; ++t) {
    for (std::size_t p = 0; p < list.size(); ++p)
      for (int64_t i = 0; i < targets[p].count(); ++i)
        arguments.gradients[p].f32()[i] =
            arguments.parameters[p].f32()[i] - targets[p].f32()[i];
    std::vector<Matrix> weights, states;
    for (const Tensor &weight : arguments.parameters)
      weights.push_back(toMatrix(weight));
    for (const Tensor &state : arguments.states)
      states.push_back(toMatrix(state));
    arguments.step = t;
    StepResult result = spec.step();
    for (std::size_t p = 0; p < list.size(); ++p) {
      std::string what = fmt::format("{}, update {}", list[p].first, t);
      std::size_t s = spec.stateOf(p), count = spec.parameter(p).states.size();
      Scalars scalars{arguments.lr[spec.groupOf(p)], 0.5, result.clipFactor, t};
      if (name == "scion" || name == "scale")
        scalars.wd = 0;
      Step expected = rules.at(spec.parameter(p).rule)(
          weights[p], toMatrix(arguments.gradients[p]),
          {states.begin() + static_cast<long>(s), states.end()}, scalars);
      EXPECT_LT(distance(arguments.updates[p], expected.increment), 2e-4)
          << what;
      EXPECT_LT(distance(arguments.parameters[p], expected.weight), 2e-4)
          << what;
      EXPECT_LT(distance(arguments.states[s], expected.state), 1e-6) << what;
      if (count > 1) {
        EXPECT_LT(distance(arguments.states[s + 1], expected.second), 2e-4)
            << what;
      }
    }
  }
  EXPECT_LT(getLoss(), before);
}

INSTANTIATE_TEST_SUITE_P(Shipped, Specs,
                         testing::Values("muon", "muon_adamw", "scion",
                                         "normuon", "muon_eq", "lion", "scale"),
                         [](const auto &info) { return info.param; });

/// Clipping stands before the oracle: however hard it clips, the update of a
/// spectral parameter has one size.
TEST(Clipping, DoesNotShrinkASpectralUpdate) {
  std::ifstream file(STEEP_TEST_SPECS "/muon_adamw.mlir");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string given = "global_norm<1.0>";
  ASSERT_NE(text.find(given), std::string::npos);
  TemporaryFolder folder;
  NamedShapes list = {{"blocks.0.w", {24, 40}},
                      {"embed.weight", {3, 4}},
                      {"lm_head.weight", {3, 4}}};
  std::vector<Matrix> updates;
  for (const char *most : {"1.0e-3", "1.0", "1.0e+3"}) {
    std::string clipped = text;
    clipped.replace(clipped.find(given), given.size(),
                    std::string("global_norm<") + most + ">");
    writeQuickly(folder / "clip.mlir", clipped);
    CompiledSpec spec(folder / "clip.mlir", list);
    for (unsigned p = 0; p < 3; ++p)
      fillNormal(spec.arguments.gradients[p], p);
    double factor = spec.step().clipFactor;
    EXPECT_EQ(factor < 1, std::string(most) != "1.0e+3");
    updates.push_back(toMatrix(spec.arguments.updates[0]));
  }
  for (const Matrix &update : updates)
    EXPECT_LT(reference::relativeDifference(update, updates[2]), 1e-5);
}
