//===- DeviceSpecsTest.cpp - every rule of every spec on a GPU ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rule updates matrices of small and odd shapes on the emulated GPU, under
// checks and in a random order of threads, beside the same rule in float64 and
// the CPU's kernels; from PTX it must give the bits of LLVM's IR. On a card
// ($STEEP_TEST_DEVICE) the same without what only an emulator can tell.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Neighbours.h"
#include "test/Unit/Tools/CompiledSpec.h"
#include "test/Unit/Tools/ShippedRules.h"
#include "test/Unit/Tools/TestDevices.h"

#include <algorithm>
#include <set>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

namespace {
/// A rule, and whether it is the first to multiply matrices: then it updates
/// larger ones too.
struct Tried {
  ShippedRule rule;
  bool isFirst;
};
} // namespace

static bool multiplies(const ShippedRule &rule) {
  return rule.text.find("geo.spectral") != std::string::npos ||
         rule.text.find("geo.equidistant") != std::string::npos;
}

/// All rules, those that several specs state in the same words once.
static std::vector<Tried> listTried() {
  std::vector<Tried> tried;
  std::set<std::string> texts;
  if (findGpu().empty())
    return tried;
  for (const ShippedRule &rule : listRules()) {
    if (!texts.insert(rule.text + (rule.hasZeroColumnSum ? "!" : "")).second)
      continue;
    const bool isFirst =
        multiplies(rule) &&
        std::none_of(tried.begin(), tried.end(),
                     [](const Tried &other) { return multiplies(other.rule); });
    tried.push_back({rule, isFirst});
  }
  return tried;
}

static NamedShapes nameShapes(const Tried &tried) {
  // Less than a vector, and wide. Compiling products takes most of the time, so
  // that one rule alone has a single row and ragged tiles.
  std::vector<Shape> shapes = {{7, 5}, {33, 96}};
  if (tried.isFirst)
    shapes.insert(shapes.end(), {{1, 64}, {130, 100}});
  // A row that the warps of a block share.
  if (!multiplies(tried.rule))
    shapes.insert(shapes.end(), {{1, 64}, {130, 100}, {2, 4500}});
  NamedShapes list;
  for (const Shape &shape : shapes)
    list.emplace_back(fmt::format("m{}x{}", shape[0], shape[1]), shape);
  return list;
}

/// What a rule is held to, relative. Newton-Schulz enlarges small singular
/// values up to several hundredfold, rounding errors with them.
static double toleranceOf(const ShippedRule &rule) {
  return multiplies(rule) ? 5e-5 : 1e-5;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Singular values that fall by a third each, so that pairs can be told apart.
static void fillFalling(const Tensor &tensor, unsigned seed) {
  fillNormal(tensor, seed);
  reference::SingularValues pairs = reference::singularValues(toMatrix(tensor));
  Matrix scaledRight(pairs.right.rows, pairs.right.cols);
  for (std::size_t k = 0; k < pairs.right.cols; ++k)
    for (std::size_t i = 0; i < pairs.right.rows; ++i)
      scaledRight.at(i, k) =
          pairs.right.at(i, k) * std::pow(0.67, static_cast<double>(k));
  fill(tensor,
       reference::multiply(pairs.left, reference::transpose(scaledRight)));
}

static void fillGradients(const ShippedRule &rule, StepArguments &arguments,
                          unsigned seed) {
  for (unsigned p = 0; p < arguments.gradients.size(); ++p) {
    const Tensor &gradient = arguments.gradients[p];
    if (needsSpectrum(rule.spec, rule.name))
      fillFalling(gradient, seed + p);
    else
      fillNormal(gradient, seed + p);
    if (rule.hasZeroColumnSum)
      subtractMeanRow(gradient);
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::vector<Tensor> allTensors(const StepArguments &arguments) {
  std::vector<Tensor> all = arguments.parameters;
  all.insert(all.end(), arguments.states.begin(), arguments.states.end());
  all.insert(all.end(), arguments.updates.begin(), arguments.updates.end());
  return all;
}

namespace {
class DeviceSpecs : public testing::TestWithParam<Tried> {
protected:
  const ShippedRule &rule() const { return GetParam().rule; }

  /// Two steps from the same start, wherever the spec runs; `check` sees what
  /// was before and after each.
  template <typename Check> void train(CompiledSpec &spec, Check &&check) {
    StepArguments &arguments = spec.arguments;
    arguments.wd.assign(arguments.wd.size(), 0.5);
    arguments.gradScale = 0.5;
    for (unsigned p = 0; p < arguments.parameters.size(); ++p)
      fillNormal(arguments.parameters[p], 100 + p);
    for (int64_t t = 1; t <= 2; ++t) {
      fillGradients(rule(), arguments, static_cast<unsigned>(1000 * t));
      std::vector<Matrix> weights, states;
      for (const Tensor &weight : arguments.parameters)
        weights.push_back(toMatrix(weight));
      for (const Tensor &state : arguments.states)
        states.push_back(toMatrix(state));
      arguments.step = t;
      const StepResult result = spec.step();
      ASSERT_FALSE(result.skipped);
      check(weights, states, result);
    }
  }

  CompiledSpec compile(Device *device) {
    return compile(device, nameShapes(GetParam()));
  }
  CompiledSpec compile(Device *device, const NamedShapes &list) {
    return CompiledSpec(STEEP_TEST_SPECS "/" + rule().spec + ".mlir", list,
                        {"native,sm_80", rule().name, device});
  }

  /// What the driver would compile does what LLVM's IR did, bit for bit.
  void expectSameBits(const std::vector<Tensor> &expected) {
    std::unique_ptr<Device> device = openUnchecked(/*ptx=*/true);
    CompiledSpec spec = compile(device.get());
    train(spec, [](auto &&...) {});
    const std::vector<Tensor> actual = allTensors(spec.arguments);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(sameBits(actual[i], expected[i])) << "PTX, tensor " << i;
  }

  /// Whether the test ends here: a rule that only a CPU computes is refused by
  /// name.
  bool isRefused() {
    if (rule().text.find("geo.row_diameter") == std::string::npos ||
        rule().text.find("form = \"relax\"") != std::string::npos)
      return false;
    EXPECT_ERROR(compile(nullptr, {{"m8x8", {8, 8}}}),
                 "a function of the host");
    return true;
  }
};
} // namespace

TEST_P(DeviceSpecs, AgreesWithTheReference) {
  if (isRefused())
    return;
  const Rule reference = findRule(rule().spec, rule().name);
  ASSERT_TRUE(reference) << "add " << rule().spec << "." << rule().name
                         << " to ShippedRules.cpp";
  // Few rounds of power iteration are only near to exact singular pairs.
  const double tolerance =
      needsSpectrum(rule().spec, rule().name) ? 1e-2 : toleranceOf(rule());
  std::unique_ptr<Device> device = openChecked(findGpu());
  CompiledSpec gpu = compile(device.get());
  double worst = 0;
  auto expectNear = [&](const Tensor &actual, const Matrix &wanted,
                        const std::string &what) {
    const double apart = distance(actual, wanted);
    worst = std::max(worst, apart);
    EXPECT_LT(apart, tolerance) << what;
  };
  train(gpu, [&](const std::vector<Matrix> &weights,
                 const std::vector<Matrix> &states, const StepResult &result) {
    StepArguments &arguments = gpu.arguments;
    for (std::size_t p = 0; p < weights.size(); ++p) {
      const Manifest::Parameter &parameter = gpu.parameter(p);
      const std::string what =
          fmt::format("{}, update {}", parameter.name, arguments.step);
      const std::size_t s = gpu.stateOf(p), count = parameter.states.size();
      const auto first = states.begin() + static_cast<long>(s);
      Updated expected = reference(
          weights[p], toMatrix(arguments.gradients[p]),
          {first, first + static_cast<long>(count)},
          {arguments.lr[0], 0.5, 0.5 * result.clipFactor, arguments.step});
      expectNear(arguments.updates[p], expected.increment, what + ": update");
      expectNear(arguments.parameters[p], expected.weight, what + ": weight");
      ASSERT_EQ(expected.states.size(), count);
      for (std::size_t k = 0; k < count; ++k)
        expectNear(arguments.states[s + k], expected.states[k],
                   what + ": state " + std::to_string(k));
    }
  });

  CompiledSpec host = compile(nullptr);
  train(host, [](auto &&...) {});
  const std::vector<Tensor> here = allTensors(host.arguments),
                            there = allTensors(gpu.arguments);
  double apart = 0;
  for (std::size_t i = 0; i < here.size(); ++i)
    apart = std::max(apart, distance(there[i], toMatrix(here[i])));
  EXPECT_LT(apart, toleranceOf(rule())) << "beside the CPU";
  RecordProperty("reference", fmt::format("{:.1e}", worst));
  RecordProperty("cpu", fmt::format("{:.1e}", apart));
  if (findGpu() == "simt")
    expectSameBits(there);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceSpecs);
INSTANTIATE_TEST_SUITE_P(Shipped, DeviceSpecs, testing::ValuesIn(listTried()),
                         [](const auto &info) {
                           return info.param.rule.spec + "_" +
                                  info.param.rule.name;
                         });
