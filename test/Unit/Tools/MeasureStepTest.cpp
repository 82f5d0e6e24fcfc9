//===- MeasureStepTest.cpp - what compiled steps measure ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside the runtime's measurements of the same tensors, which have tests of
// their own against plain loops.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Certificate.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Geometry/Oracle.h"
#include "runtime/Geometry/StepQuality.h"
#include "test/Unit/Tools/CompiledSpec.h"

#include <cmath>
#include <limits>
#include <map>

using namespace steep;
using namespace steep::test;

namespace {

const std::vector<Shape> shapes = {{1, 3},   {2, 2},   {40, 8},
                                   {97, 17}, {33, 40}, {700, 20}};

class Measures : public CompiledSpec {
public:
  explicit Measures(const CompileChoice &choice = {})
      : CompiledSpec(STEEP_TEST_DATA "/measures.mlir", nameShapes(), choice) {
    arguments.measure = true;
    for (std::size_t i = 0; i < arguments.gradients.size(); ++i) {
      fillNormal(arguments.parameters[i], 100 + static_cast<unsigned>(i));
      fillNormal(arguments.gradients[i], static_cast<unsigned>(i));
      if (parameter(i).group == "facts")
        center(arguments.gradients[i]);
    }
  }

  /// What was measured of a parameter, by its name.
  std::map<std::string, double> of(const std::string &name) const {
    std::map<std::string, double> numbers;
    const auto &list = artefact->manifest().measures;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].parameter == name)
        numbers[list[i].name] = arguments.measures.at(i);
    return numbers;
  }

  static void center(const Tensor &g) {
    for (int64_t k = 0; k < g.dim(1); ++k) {
      double sum = 0;
      for (int64_t i = 0; i < g.dim(0); ++i)
        sum += g.f32()[i * g.dim(1) + k];
      for (int64_t i = 0; i < g.dim(0); ++i)
        g.f32()[i * g.dim(1) + k] -=
            static_cast<float>(sum / static_cast<double>(g.dim(0)));
    }
  }

private:
  static NamedShapes nameShapes() {
    NamedShapes list;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      list.emplace_back(fmt::format("plain.{}", i), shapes[i]);
    list.emplace_back("facts.small", Shape{40, 8});
    list.emplace_back("facts.large", Shape{2100, 64});
    list.emplace_back("none.0", Shape{3, 3});
    return list;
  }
};

void expectNear(double actual, double wanted, double tolerance,
                const std::string &what) {
  if (!std::isfinite(wanted)) {
    EXPECT_FALSE(std::isfinite(actual)) << what << " " << actual;
    return;
  }
  EXPECT_NEAR(actual, wanted, tolerance * std::max(1e-30, std::fabs(wanted)))
      << what;
}

/// One target a level of the instruction set, as far as this CPU has them.
std::vector<std::string> targets() {
  std::vector<std::string> list = {"x86-64"};
  if (__builtin_cpu_supports("avx2"))
    list.emplace_back("x86-64-v3");
  if (__builtin_cpu_supports("avx512f"))
    list.emplace_back("x86-64-v4");
  return list;
}

TEST(MeasureStep, AreThoseOfTheRuntime) {
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    CompileChoice choice;
    choice.target = target;
    Measures step(choice);
    std::vector<Tensor> before;
    for (const Tensor &weight : step.arguments.parameters)
      before.push_back(weight.clone());
    step.step();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      SCOPED_TRACE(shapeString(shapes[i]));
      auto m = step.of(fmt::format("plain.{}", i));
      const Tensor &g = step.arguments.gradients[i];
      const Tensor &s = step.arguments.updates[i];
      const Certificate certificate = rowNormCertificate(g);
      expectNear(m["certificate"], certificate.ratio, 1e-9, "certificate");
      expectNear(m["effective_rows"], certificate.effectiveRows, 1e-6, "rows");
      EXPECT_LE(m["certificate"], certificate.ratio * (1 + 1e-9));
      expectNear(m["column_sum"], certificate.sums.norm, 1e-12, "column sum");
      expectNear(m["column_defect"], certificate.sums.defect, 1e-12, "defect");
      EXPECT_NEAR(m["decrease"], firstOrderDecrease(g, s),
                  1e-12 + 1e-12 * std::fabs(m["decrease"]));
      const DualNorms dual = dualNorms(g);
      expectNear(m["dual_max_row"], dual.maxRow, 1e-12, "max_row");
      EXPECT_NEAR(m["dual_common_ball"], dual.commonBall, 1e-5 * dual.maxRow);
      expectNear(m["dual_max_column"], dual.maxColumn, 1e-12, "max_column");
      expectNear(m["dual_sign"], dual.sign, 1e-12, "sign");
      expectNear(m["dual_frobenius"], dual.frobenius, 1e-12, "frobenius");
      expectNear(m["dual_spectral"], dual.nuclear, 1e-11, "spectral");
      const double diameter = rowDiameter(s), separation = rowSeparation(s);
      expectNear(m["diameter"], diameter, 1e-12, "diameter");
      expectNear(m["separation"], separation, 1e-12, "separation");
      expectNear(m["rho"], separationRatio(separation, diameter), 1e-12, "rho");
      const CoveringRadius covering = coveringRadius(s);
      EXPECT_LE(m["covering_lower"], m["covering_upper"]);
      EXPECT_LE(m["covering_lower"], covering.upper);
      EXPECT_GE(m["covering_lower"], m["diameter"] / 2);
      EXPECT_GE(m["covering_upper"], covering.lower);
      EXPECT_LE(m["covering_upper"] * (1 - 2e-3), covering.upper);
      expectNear(m["hilbert"], hilbertRms(s, before[i]), 1e-6, "hilbert");
    }
  }
}

TEST(MeasureStep, ChangeNoBitAndCostNothingElse) {
  Measures measured, plain;
  plain.arguments.measure = false;
  measured.step();
  plain.step();
  EXPECT_TRUE(plain.arguments.measures.empty());
  for (std::size_t i = 0; i < plain.arguments.parameters.size(); ++i) {
    EXPECT_TRUE(sameBits(measured.arguments.parameters[i],
                         plain.arguments.parameters[i]));
    EXPECT_TRUE(
        sameBits(measured.arguments.updates[i], plain.arguments.updates[i]));
  }
  for (std::size_t i = 0; i < plain.arguments.states.size(); ++i)
    EXPECT_TRUE(
        sameBits(measured.arguments.states[i], plain.arguments.states[i]));
  // The same numbers where no increment is asked for.
  Measures quiet;
  quiet.arguments.updates.clear();
  quiet.step();
  ASSERT_EQ(quiet.arguments.measures.size(),
            measured.arguments.measures.size());
  for (std::size_t i = 0; i < quiet.arguments.measures.size(); ++i) {
    if (std::isfinite(measured.arguments.measures[i])) {
      EXPECT_EQ(quiet.arguments.measures[i], measured.arguments.measures[i])
          << i;
    }
  }
}

/// Tensions are bounds of what the exact oracle finds.
void expectBounds(const Measures &step, double clip) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i][0] > 100) // the solver takes its time
      continue;
    SCOPED_TRACE(shapeString(shapes[i]));
    auto m = step.of(fmt::format("plain.{}", i));
    const auto report = solveRowDiameter(step.arguments.gradients[i]).report;
    // The rule measures the clipped gradient, which is rounded to f32.
    const double slack = 1e-6 * clip * report.upper;
    EXPECT_LE(m["tension_lower"], clip * report.upper + slack);
    EXPECT_GE(m["tension_upper"], clip * report.lower - slack);
    const DualNorms dual = dualNorms(step.arguments.gradients[i]);
    EXPECT_NEAR(m["tension_lower"], clip * dual.commonBall / 2,
                1e-5 * clip * dual.maxRow);
    // Or by what holds for every gradient, where that is sharper.
    const double k =
        static_cast<double>(std::min(shapes[i][0] - 1, shapes[i][1]));
    const double jung = k < 1 ? 1 : std::sqrt((k + 1) / (2 * k));
    expectNear(m["tension_upper"] * std::max(m["certificate"], jung),
               m["tension_lower"], 1e-9, "certificate");
  }
}

TEST(MeasureStep, CertificatesRestOnFactsThatHold) {
  Measures step;
  expectBounds(step, step.step().clipFactor);
  for (const char *name : {"facts.small", "facts.large"}) {
    auto m = step.of(name);
    const std::size_t i = shapes.size() + (name[6] == 'l');
    const Certificate wanted = rowNormCertificate(step.arguments.gradients[i]);
    expectNear(m["certificate"], wanted.ratio, 1e-6, name);
    EXPECT_LE(m["certificate"], wanted.ratio * (1 + 1e-6));
    expectNear(m["tension_lower"], m["dual"] / 2, 1e-9, name);
    EXPECT_LE(m["tension_lower"], m["dual"] / 2);
  }
  // A common row contradicts the fact: the step is no projected RowNorm.
  Measures broken;
  const Tensor &g = broken.arguments.gradients[shapes.size() + 1];
  for (int64_t i = 0; i < g.count(); ++i)
    g.f32()[i] += 0.5f;
  broken.step();
  EXPECT_TRUE(std::isnan(broken.of("facts.large")["certificate"]));
  EXPECT_TRUE(std::isnan(broken.of("facts.large")["effective_rows"]));
  EXPECT_TRUE(std::isnan(broken.of("facts.large")["tension_lower"]));
  EXPECT_TRUE(std::isnan(broken.of("facts.large")["tension_upper"]));
  EXPECT_TRUE(std::isnan(broken.of("facts.large")["dual"]));
  EXPECT_FALSE(std::isnan(broken.of("facts.small")["certificate"]));
  EXPECT_FALSE(std::isnan(broken.of("facts.small")["dual"]));
}

TEST(MeasureStep, ExtremeGradients) {
  Measures zero;
  for (const Tensor &g : zero.arguments.gradients)
    std::memset(g.data(), 0, g.bytes());
  zero.step();
  EXPECT_EQ(zero.of("plain.2")["certificate"], 1);
  EXPECT_EQ(zero.of("plain.2")["effective_rows"], 0);
  EXPECT_EQ(zero.of("plain.2")["diameter"], 0);
  EXPECT_EQ(zero.of("facts.small")["certificate"], 1);
  EXPECT_EQ(zero.of("facts.small")["dual"], 0);
  // Nothing is written where the step is skipped.
  Measures skipped;
  skipped.arguments.gradients[0].f32()[0] =
      std::numeric_limits<float>::infinity();
  EXPECT_TRUE(skipped.step().skipped);
  for (double number : skipped.arguments.measures)
    EXPECT_TRUE(std::isnan(number));
}

} // namespace
