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
#include "test/Unit/Tools/CompiledSpec.h"
#include "test/Unit/Tools/ShippedRules.h"

#include <algorithm>

using namespace steep;
using namespace steep::test;
using reference::Matrix;
using reference::Scalars;

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

class Specs : public testing::TestWithParam<std::string> {};

/// Specs whose rules have one answer for any gradient: all but those that look
/// for singular pairs and for the exact row diameter, which have tests of their
/// own.
static std::vector<std::string> listTrainable() {
  std::vector<std::string> names = listSpecs();
  auto isOwn = [](const std::string &name) {
    for (const ShippedRule &rule : listRules(name))
      if (rule.name == "row_diameter" || needsSpectrum(name, rule.name))
        return true;
    return false;
  };
  names.erase(std::remove_if(names.begin(), names.end(), isOwn), names.end());
  return names;
}

TEST_P(Specs, EveryUpdateIsTheRulesAndTheLossFalls) {
  std::string name = GetParam();
  NamedShapes list = {{"blocks.0.a.weight", {24, 40}},
                      {"blocks.0.b.weight", {40, 24}},
                      {"blocks.0.c.weight", {8, 48}},
                      {"embed.weight", {33, 16}},
                      {"lm_head.weight", {33, 16}}};
  CompiledSpec spec(STEEP_TEST_SPECS "/" + name + ".mlir", list);
  StepArguments &arguments = spec.arguments;
  arguments.wd.assign(arguments.wd.size(), 0.5);
  std::vector<Tensor> targets;
  for (unsigned p = 0; p < list.size(); ++p) {
    targets.emplace_back(DType::F32, list[p].second);
    fillNormal(targets[p], 10 + p);
    // Then so has the gradient, which facts about a head may count on.
    if (list[p].first == "lm_head.weight")
      subtractMeanRow(targets[p]);
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
    const std::vector<Matrix> weights = toMatrices(arguments.parameters);
    const std::vector<Matrix> states = toMatrices(arguments.states);
    arguments.step = t;
    StepResult result = spec.step();
    for (std::size_t p = 0; p < list.size(); ++p) {
      std::string what = fmt::format("{}, update {}", list[p].first, t);
      std::size_t s = spec.stateOf(p), count = spec.parameter(p).states.size();
      Scalars scalars{arguments.lr[spec.groupOf(p)], 0.5, result.clipFactor, t};
      Rule rule = findRule(name, spec.parameter(p).rule);
      ASSERT_TRUE(rule) << "add " << name << "." << spec.parameter(p).rule
                        << " to ShippedRules.cpp";
      const auto first = states.begin() + static_cast<long>(s);
      Updated expected =
          rule(weights[p], toMatrix(arguments.gradients[p]),
               {first, first + static_cast<long>(count)}, scalars);
      EXPECT_LT(distance(arguments.updates[p], expected.increment), 2e-4)
          << what;
      EXPECT_LT(distance(arguments.parameters[p], expected.weight), 2e-4)
          << what;
      ASSERT_EQ(expected.states.size(), count) << what;
      // The first is an average of gradients; a second may be of updates.
      for (std::size_t k = 0; k < count; ++k)
        EXPECT_LT(distance(arguments.states[s + k], expected.states[k]),
                  k == 0 ? 1e-6 : 2e-4)
            << what;
    }
  }
  EXPECT_LT(getLoss(), before);
}

INSTANTIATE_TEST_SUITE_P(Shipped, Specs, testing::ValuesIn(listTrainable()),
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
