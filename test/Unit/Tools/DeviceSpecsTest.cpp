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
#include <fstream>
#include <regex>
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

static bool mayUseGramForm(const ShippedRule &rule) {
  return rule.text.find("form = \"auto\"") != std::string::npos;
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

/// Two steps from the same start, wherever the spec runs; `check` sees what was
/// before and after each.
template <typename Check>
static void train(CompiledSpec &spec, const ShippedRule &rule, Check &&check) {
  StepArguments &arguments = spec.arguments;
  arguments.wd.assign(arguments.wd.size(), 0.5);
  arguments.gradScale = 0.5;
  arguments.measure = !spec.artefact->manifest().measures.empty();
  for (unsigned p = 0; p < arguments.parameters.size(); ++p)
    fillNormal(arguments.parameters[p], 100 + p);
  for (int64_t t = 1; t <= 2; ++t) {
    fillGradients(rule, arguments, static_cast<unsigned>(1000 * t));
    const std::vector<Matrix> weights = toMatrices(arguments.parameters);
    const std::vector<Matrix> states = toMatrices(arguments.states);
    arguments.step = t;
    const StepResult result = spec.step();
    ASSERT_FALSE(result.skipped);
    check(weights, states, result);
  }
}

/// Enough steps that every kernel has run in eight schedules, none of which may
/// be reported: each launch has one of its own.
static void runSchedules(CompiledSpec &spec) {
  for (int64_t t = 3; t <= 8; ++t) {
    spec.arguments.step = t;
    EXPECT_FALSE(spec.step().skipped) << t;
  }
}

namespace {
/// How far one tensor lies from what it should be, relative.
struct Apart {
  std::string what;
  double distance;
};
} // namespace

/// All that two steps make, beside the reference.
static std::vector<Apart> compare(CompiledSpec &spec, const ShippedRule &rule,
                                  const Rule &reference) {
  std::vector<Apart> list;
  train(spec, rule,
        [&](const std::vector<Matrix> &weights,
            const std::vector<Matrix> &states, const StepResult &result) {
          StepArguments &arguments = spec.arguments;
          for (std::size_t p = 0; p < weights.size(); ++p) {
            const Manifest::Parameter &parameter = spec.parameter(p);
            const std::string what =
                fmt::format("{}, update {}", parameter.name, arguments.step);
            const std::size_t s = spec.stateOf(p),
                              count = parameter.states.size();
            const auto first = states.begin() + static_cast<long>(s);
            Updated expected =
                reference(weights[p], toMatrix(arguments.gradients[p]),
                          {first, first + static_cast<long>(count)},
                          {arguments.lr[0], 0.5, 0.5 * result.clipFactor,
                           arguments.step});
            auto add = [&](const Tensor &actual, const Matrix &wanted,
                           const std::string &which) {
              list.push_back({what + ": " + which, distance(actual, wanted)});
            };
            add(arguments.updates[p], expected.increment, "update");
            add(arguments.parameters[p], expected.weight, "weight");
            ASSERT_EQ(expected.states.size(), count);
            for (std::size_t k = 0; k < count; ++k)
              add(arguments.states[s + k], expected.states[k],
                  "state " + std::to_string(k));
          }
        });
  return list;
}

/// What the driver would compile does what LLVM's IR did, bit for bit.
template <typename Compile>
static void expectSameBits(const CompiledSpec &fromIr, const ShippedRule &rule,
                           Compile &&compile) {
  std::unique_ptr<Device> device = openUnchecked(/*ptx=*/true);
  CompiledSpec fromPtx = compile(device.get());
  train(fromPtx, rule, [](auto &&...) {});
  const std::vector<Tensor> expected = allTensors(fromIr.arguments),
                            actual = allTensors(fromPtx.arguments);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(sameBits(actual[i], expected[i])) << "PTX, tensor " << i;
}

//===----------------------------------------------------------------------===//
// Every rule
//===----------------------------------------------------------------------===//

namespace {
class DeviceSpecs : public testing::TestWithParam<Tried> {
protected:
  const ShippedRule &rule() const { return GetParam().rule; }

  CompiledSpec compile(Device *device) {
    return compile(device, nameShapes(GetParam()), "none,sm_80");
  }
  CompiledSpec compile(Device *device, const NamedShapes &list,
                       const std::string &target) {
    return CompiledSpec(STEEP_TEST_SPECS "/" + rule().spec + ".mlir", list,
                        {target, rule().name, device});
  }

  /// What a GPU measures of a step, the CPU measures.
  void expectSameMeasures(const CompiledSpec &gpu) {
    CompiledSpec host = compile(nullptr, nameShapes(GetParam()), "x86-64");
    train(host, rule(), [](auto &&...) {});
    const std::vector<double> &here = host.arguments.measures,
                              &there = gpu.arguments.measures;
    ASSERT_EQ(there.size(), here.size());
    for (std::size_t i = 0; i < there.size(); ++i)
      EXPECT_NEAR(there[i], here[i], 1e-5 * std::abs(here[i]))
          << gpu.artefact->manifest().measures[i].name;
  }

  /// Whether the test ends here: a rule that only a CPU computes is refused by
  /// name.
  bool isRefused() {
    if (rule().text.find("geo.row_diameter") == std::string::npos ||
        rule().text.find("form = \"relax\"") != std::string::npos)
      return false;
    EXPECT_ERROR(compile(nullptr, {{"m8x8", {8, 8}}}, "none,sm_80"),
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
  std::unique_ptr<Device> device = openChecked(findGpu());
  CompiledSpec gpu = compile(device.get());
  // Few rounds of power iteration are only near to exact singular pairs. The
  // Gram form ends in a product whose terms cancel: it loses the product of the
  // schedule's first coefficients in units of the last place, 485 of them for
  // five of Jordan's steps, on every machine (a CPU is 1.5e-5 off, too).
  const double bound = needsSpectrum(rule().spec, rule().name) ? 1e-2
                       : mayUseGramForm(rule())                ? 485 * 0x1p-24
                                                               : 1e-5;
  double worst = 0;
  for (const Apart &apart : compare(gpu, rule(), reference)) {
    EXPECT_LT(apart.distance, bound) << apart.what;
    worst = std::max(worst, apart.distance);
  }
  RecordProperty("gpu", fmt::format("{:.1e}", worst));
  if (gpu.arguments.measure)
    expectSameMeasures(gpu);
  if (findGpu() != "simt")
    return;
  expectSameBits(gpu, rule(), [&](Device *d) { return compile(d); });
  runSchedules(gpu);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceSpecs);
INSTANTIATE_TEST_SUITE_P(Shipped, DeviceSpecs, testing::ValuesIn(listTried()),
                         [](const auto &info) {
                           return info.param.rule.spec + "_" +
                                  info.param.rule.name;
                         });

//===----------------------------------------------------------------------===//
// Products of bf16
//===----------------------------------------------------------------------===//

namespace {
/// Muon whose products have bf16 operands, beside a reference that rounds the
/// same operands; for sm_90a they run on warpgroups. One step of Newton-Schulz
/// is the products alone. With each step more numbers fall to the other side of
/// a tie and change all that follows: binary32 and binary64 with the same
/// roundings are 2e-3 apart after three steps and 2e-2 after five
/// (passes/NVPTX/RATIONALE.md).
struct Rounded {
  const char *target;
  unsigned steps;
  double bound;
};
class Bf16 : public testing::TestWithParam<Rounded> {};
} // namespace

/// A square is multiplied from its left, as a tall matrix is.
static Updated stepRounded(const Matrix &w, const Matrix &g, const Matrix &b,
                           const reference::Scalars &scalars, unsigned steps) {
  auto turn = [&](const Matrix &m) {
    return w.rows == w.cols ? reference::transpose(m) : m;
  };
  const reference::Step step =
      reference::muonStep(turn(w), turn(g), turn(b), scalars, 0.95, 1e-5,
                          reference::jordan(steps), reference::roundToBf16);
  return {turn(step.weight), turn(step.increment), {turn(step.state)}};
}

TEST_P(Bf16, AgreesWithARoundedReference) {
  if (findGpu().empty())
    return;
  const char *const target = GetParam().target;
  const unsigned count = GetParam().steps;
  const double bound = GetParam().bound;
  const std::vector<ShippedRule> rules = listRules("paper");
  const auto muon =
      std::find_if(rules.begin(), rules.end(),
                   [](const ShippedRule &rule) { return rule.name == "muon"; });
  ASSERT_NE(muon, rules.end());
  TemporaryFolder folder;
  const std::string spec = folder / "paper.mlir";
  std::ifstream file(STEEP_TEST_SPECS "/paper.mlir");
  std::string text(std::istreambuf_iterator<char>(file), {});
  text = std::regex_replace(
      text, std::regex("(geo\\.spectral %\\w+ radius\\(%\\w+\\))"),
      "$1 dot(bf16)");
  text = std::regex_replace(text, std::regex("steps = 5"),
                            fmt::format("steps = {}", count));
  std::ofstream(spec) << text;
  const std::string wanted = std::string("none,") + target;
  auto compile = [&](Device *device) {
    return CompiledSpec(spec, {{"wide", {33, 65}}, {"square", {96, 96}}},
                        {wanted, "muon", device});
  };
  std::unique_ptr<Device> device = openChecked(findGpu());
  CompiledSpec gpu = compile(device.get());
  const Rule rounded = [&](const Matrix &w, const Matrix &g,
                           const std::vector<Matrix> &states,
                           const reference::Scalars &scalars) {
    return stepRounded(w, g, states[0], scalars, count);
  };
  double worst = 0;
  for (const Apart &apart : compare(gpu, *muon, rounded)) {
    EXPECT_LT(apart.distance, bound) << apart.what;
    worst = std::max(worst, apart.distance);
  }
  RecordProperty("gpu", fmt::format("{:.1e}", worst));
  if (findGpu() != "simt")
    return;
  expectSameBits(gpu, *muon, compile);
  runSchedules(gpu);
}

INSTANTIATE_TEST_SUITE_P(Products, Bf16,
                         testing::Values(Rounded{"sm_80", 1, 1e-6},
                                         Rounded{"sm_90a", 1, 1e-6},
                                         Rounded{"sm_80", 3, 1e-2},
                                         Rounded{"sm_80", 5, 3e-2}));
