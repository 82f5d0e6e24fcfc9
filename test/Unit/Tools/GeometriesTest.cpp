//===- GeometriesTest.cpp - compiled geometries beside plain loops --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Balls.h"
#include "test/Unit/Tools/CompiledSpec.h"
#include "test/Unit/Tools/TestDevices.h"

#include <cmath>
#include <functional>
#include <map>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

//===----------------------------------------------------------------------===//
// Oracles
//===----------------------------------------------------------------------===//

/// The increment of radius 0.5 for a gradient.
static const std::map<std::string, std::function<Matrix(const Matrix &)>>
    oracles = {
        {"sign", [](const Matrix &g) { return reference::sign(g, 0.5, 0.25); }},
        {"frobenius",
         [](const Matrix &g) { return reference::frobenius(g, 0.5, 0.25); }},
        {"column",
         [](const Matrix &g) { return reference::maxColumn(g, 0.5, 1e-8); }},
        {"standard",
         [](const Matrix &g) {
           return reference::spectral(g, 0.5, reference::jordan(), 0);
         }},
        {"gram",
         [](const Matrix &g) {
           return reference::spectral(g, 0.5, reference::jordan(), 0);
         }},
        {"steep",
         [](const Matrix &g) {
           return reference::spectral(g, 0.5, reference::polarExpress(10, 1.05),
                                      0);
         }},
        {"table",
         [](const Matrix &g) {
           reference::Coefficients table = {{3.4445, -4.7750, 2.0315},
                                            {2.5, -2.0, 0.6}};
           table.resize(4, {1.875, -1.25, 0.375});
           return reference::spectral(g, 0.5, table, 0);
         }},
        {"safe",
         [](const Matrix &g) {
           // g/(s ||g|| + eps) is (g/s) / (||g|| + eps/s).
           reference::Coefficients scaled = reference::polarExpress(5, 1.01);
           double norm = reference::frobeniusNorm(g);
           return reference::spectral(g, 0.5, scaled,
                                      1.01 * norm + 1e-3 - norm);
         }},
        {"free",
         [](const Matrix &g) {
           return reference::spectral(g, 0.5, reference::you(7),
                                      1e-3 * reference::frobeniusNorm(g));
         }},
        {"plus",
         [](const Matrix &g) {
           return reference::maxRow(
               reference::newtonSchulz(g, reference::cubic(12), 0), 0.5, 1e-7);
         }},
        {"cautious", [](const Matrix &g) { return reference::sign(g, 0.5); }},
};

/// One list for all tests, which is compiled once: small shapes for every
/// oracle, and larger ones where a test looks closer.
static NamedShapes makeList() {
  NamedShapes list;
  auto add = [&](const std::string &rule, Shape shape) {
    list.emplace_back(fmt::format("{}.{}x{}", rule, shape[0], shape[1]), shape);
  };
  for (const auto &[rule, oracle] : oracles)
    for (const Shape &shape : {Shape{1, 1}, {1, 7}, {33, 5}, {17, 40}})
      add(rule, shape);
  for (const char *rule : {"standard", "gram", "free", "cautious"})
    add(rule, {64, 128});
  for (const char *rule : {"standard", "gram"})
    add(rule, {160, 48});
  // Columns of many rows are summed in groups.
  add("column", {2100, 3});
  return list;
}

static const NamedShapes list = makeList();

static CompiledSpec compile() {
  return CompiledSpec(STEEP_TEST_DATA "/geometries.mlir", list);
}

TEST(Geometries, OraclesOfEveryShape) {
  CompiledSpec spec = compile();
  for (unsigned p = 0; p < list.size(); ++p) {
    fillNormal(spec.arguments.gradients[p], p);
    fillNormal(spec.arguments.parameters[p], 1000 + p);
  }
  spec.arguments.wd.assign(spec.arguments.wd.size(), 0.2);
  std::vector<Matrix> weights;
  for (const Tensor &weight : spec.arguments.parameters)
    weights.push_back(toMatrix(weight));
  spec.step();
  for (std::size_t p = 0; p < list.size(); ++p) {
    std::string rule = spec.parameter(p).rule;
    Matrix s = oracles.at(rule)(toMatrix(spec.arguments.gradients[p]));
    EXPECT_LT(distance(spec.arguments.updates[p], s), 1e-4) << list[p].first;
    Matrix w = rule == "cautious"
                   ? reference::applyCautiously(weights[p], s, 0.9)
                   : reference::apply(weights[p], s, 0.9);
    EXPECT_LT(distance(spec.arguments.parameters[p], w), 2e-4) << list[p].first;
  }
}

/// Powers of two change no bit of a homogeneous oracle, and nothing is too
/// small or too large for it: neither a norm whose inverse is beyond FP32, nor
/// one whose inverse is below its normal numbers.
TEST(Geometries, ScaleOfTheGradientIsNotSeen) {
  CompiledSpec spec = compile();
  std::map<std::string, std::vector<float>> expected;
  for (int exponent : {0, -140, -60, -20, 30, 120}) {
    for (std::size_t p = 0; p < list.size(); ++p) {
      const Tensor &gradient = spec.arguments.gradients[p];
      fillNormal(gradient, 7);
      // 2^-140 is below FP32's normal numbers: keep few bits of each entry.
      for (int64_t i = 0; i < gradient.count(); ++i)
        gradient.f32()[i] =
            std::ldexp(std::round(gradient.f32()[i] * 8) / 8, exponent);
    }
    spec.step();
    for (std::size_t p = 0; p < list.size(); ++p) {
      std::string rule = spec.parameter(p).rule;
      if (rule != "free" && rule != "cautious" && rule != "standard" &&
          rule != "gram")
        continue;
      const Tensor &tensor = spec.arguments.updates[p];
      std::vector<float> bits(tensor.f32(), tensor.f32() + tensor.count());
      rule = list[p].first;
      if (exponent == 0)
        expected[rule] = bits;
      EXPECT_TRUE(bits == expected[rule]) << rule << " 2^" << exponent;
    }
  }
}

TEST(Geometries, BothFormsAgree) {
  CompiledSpec spec = compile();
  for (std::size_t p = 0; p < list.size(); ++p)
    fillNormal(spec.arguments.gradients[p],
               static_cast<unsigned>(list[p].second[0]));
  spec.step();
  std::map<std::string, Matrix> updates;
  for (std::size_t p = 0; p < list.size(); ++p)
    updates[list[p].first] = toMatrix(spec.arguments.updates[p]);
  for (const char *shape : {".64x128", ".160x48"}) {
    std::string name = shape;
    EXPECT_LT(reference::relativeDifference(updates["gram" + name],
                                            updates["standard" + name]),
              1e-4)
        << shape;
  }
}

TEST(Geometries, ZeroStaysZero) {
  CompiledSpec spec = compile();
  spec.step();
  for (std::size_t p = 0; p < list.size(); ++p)
    for (int64_t i = 0; i < spec.arguments.updates[p].count(); ++i)
      ASSERT_EQ(spec.arguments.updates[p].f32()[i], 0.0f) << list[p].first;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// A parameter of several matrices and where each of them begins; the single
/// parameters follow in this order.
static const std::vector<std::pair<Shape, std::vector<Shape>>> wholes = {
    {{22, 16}, {{12, 16}, {5, 16}, {5, 16}}},
    {{10, 16}, {{5, 16}, {5, 16}}},
    {{3, 12, 16}, {{12, 16}, {12, 16}, {12, 16}}},
    {{8, 3, 2, 2}, {{8, 12}}},
};

static bool sameBytes(const float *a, const float *b, int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(float)) ==
         0;
}

/// On every device that there is.
class Structure : public testing::TestWithParam<std::string> {
protected:
  CompiledSpec compile(const NamedShapes &list) {
    device = openChecked(GetParam());
    return CompiledSpec(
        STEEP_TEST_DATA "/structure.mlir", list,
        {device->target(CompileRequest().target), "", device.get()});
  }
  std::unique_ptr<Device> device;
};

INSTANTIATE_TEST_SUITE_P(, Structure, testing::ValuesIn(listDevices()),
                         [](const auto &info) { return info.param; });

TEST_P(Structure, BlocksAreSingleMatrices) {
  NamedShapes list = {{"qkv.w", wholes[0].first},
                      {"heads.w", wholes[1].first},
                      {"experts.w", wholes[2].first},
                      {"conv.w", wholes[3].first}};
  for (const auto &[whole, parts] : wholes)
    for (const Shape &part : parts)
      list.emplace_back(fmt::format("alone.{}", list.size()), part);
  CompiledSpec spec = compile(list);
  StepArguments &arguments = spec.arguments;

  // States and manifest keep the parameter whole.
  EXPECT_EQ(spec.parameter(2).shape, (Shape{3, 12, 16}));
  EXPECT_EQ(spec.parameter(2).states[0].shape, (Shape{3, 12, 16}));
  EXPECT_EQ(spec.parameter(2).states[1].shape, (Shape{3, 12, 1}));
  EXPECT_EQ(spec.parameter(3).states[0].shape, (Shape{8, 3, 2, 2}));
  EXPECT_EQ(spec.parameter(3).states[1].shape, (Shape{8, 1}));

  for (int64_t t = 1; t <= 3; ++t) {
    std::size_t single = wholes.size();
    for (std::size_t p = 0; p < wholes.size(); ++p) {
      // Blocks of very different sizes, which one norm for all would show.
      const Tensor &gradient = arguments.gradients[p];
      fillNormal(gradient, static_cast<unsigned>(10 * t + p));
      int64_t at = 0;
      for (std::size_t k = 0; k < wholes[p].second.size(); ++k, ++single) {
        const Tensor &part = arguments.gradients[single];
        for (int64_t i = 0; i < part.count(); ++i)
          gradient.f32()[at + i] *= static_cast<float>(std::pow(100.0, k));
        std::memcpy(part.f32(), gradient.f32() + at, part.bytes());
        at += part.count();
      }
    }
    arguments.step = t;
    spec.step();

    single = wholes.size();
    for (std::size_t p = 0; p < wholes.size(); ++p) {
      int64_t at = 0, row = 0;
      for (std::size_t k = 0; k < wholes[p].second.size(); ++k, ++single) {
        int64_t rows = wholes[p].second[k][0];
        int64_t count = arguments.updates[single].count();
        std::size_t s = spec.stateOf(p), other = spec.stateOf(single);
        EXPECT_TRUE(sameBytes(arguments.updates[p].f32() + at,
                              arguments.updates[single].f32(), count))
            << list[p].first << " block " << k << " update " << t;
        EXPECT_TRUE(sameBytes(arguments.parameters[p].f32() + at,
                              arguments.parameters[single].f32(), count))
            << list[p].first << " block " << k;
        EXPECT_TRUE(sameBytes(arguments.states[s].f32() + at,
                              arguments.states[other].f32(), count))
            << list[p].first << " block " << k;
        EXPECT_TRUE(sameBytes(arguments.states[s + 1].f32() + row,
                              arguments.states[other + 1].f32(), rows))
            << list[p].first << " block " << k;
        EXPECT_NE(arguments.updates[single].f32()[0], 0.0f);
        at += count;
        row += rows;
      }
    }
  }
}

/// The norm over all gradients counts every block once.
TEST_P(Structure, TheNormIsThatOfWholeParameters) {
  NamedShapes list = {{"qkv.w", wholes[0].first},
                      {"heads.w", wholes[1].first},
                      {"experts.w", wholes[2].first},
                      {"conv.w", wholes[3].first},
                      {"alone.w", {5, 16}}};
  CompiledSpec spec = compile(list);
  std::vector<Matrix> gradients;
  for (std::size_t p = 0; p < list.size(); ++p) {
    fillNormal(spec.arguments.gradients[p], static_cast<unsigned>(p));
    gradients.push_back(toMatrix(spec.arguments.gradients[p]));
  }
  const double norm = reference::globalNorm(gradients);
  EXPECT_NEAR(spec.step().gradNorm, norm, norm * 1e-12);
  // A gradient that is not finite is found in any block.
  spec.arguments.gradients[2].f32()[2 * 12 * 16 + 5] = INFINITY;
  StepResult result = spec.step();
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(result.nonfiniteParameter, 2);
}
