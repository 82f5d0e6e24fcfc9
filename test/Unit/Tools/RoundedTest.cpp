//===- RoundedTest.cpp - products of BF16, and bits on threads ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Muon, whose steps are chains of products, on the CPU: with operands rounded
// to BF16 beside a reference that rounds the same ones, and beside one that
// rounds nothing for matrices of several spectra; and in both precisions on
// one, two and three threads. `native` multiplies tiles on AMX where this CPU
// has it.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Balls.h"
#include "test/Unit/Tools/CompiledSpec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

static std::string writeSpec(const TemporaryFolder &folder,
                             const std::string &dot, unsigned steps,
                             const std::string &schedule = R"("jordan")") {
  const std::string path = folder / "muon.mlir";
  std::ofstream(path) << fmt::format(R"(
optim.spec @chain {{ optim.group @all ["*"] uses @muon lr 2.0e-2 wd 0.0 }}
optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {{
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {{beta = 0.95, nesterov}}
  %r  = geo.shape_scale %lr, %w {{kind = "original"}}
  %s  = geo.spectral %n radius(%r) {} {{schedule = {}, steps = {}, eps = 1.0e-5}}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}})",
                                     dot, schedule, steps);
  return path;
}

static void fillTensors(StepArguments &arguments, unsigned seed) {
  for (unsigned p = 0; p < arguments.parameters.size(); ++p) {
    fillNormal(arguments.parameters[p], seed + p);
    fillNormal(arguments.gradients[p], seed + 100 + p);
    fillNormal(arguments.states[p], seed + 200 + p);
  }
}

namespace {
/// One step of Newton-Schulz is three products; a sum that falls to the other
/// side of a tie moves an operand of the next one by 2^-8, and few do. Such
/// a number changes all that follows, so a second step, which has one more kind
/// of product, is looked at less closely.
struct Case {
  unsigned steps;
  NamedShapes shapes;
  double bound;
};
class Rounded : public testing::TestWithParam<Case> {};
} // namespace

TEST_P(Rounded, AgreesWithARoundedReference) {
  const auto &[steps, list, bound] = GetParam();
  TemporaryFolder folder;
  CompiledSpec spec(writeSpec(folder, "dot(bf16)", steps), list);
  StepArguments &arguments = spec.arguments;
  fillTensors(arguments, 1);
  const auto weights = toMatrices(arguments.parameters),
             gradients = toMatrices(arguments.gradients),
             states = toMatrices(arguments.states);
  ASSERT_FALSE(spec.step().skipped);
  reference::Scalars scalars;
  scalars.lr = arguments.lr[0];
  for (std::size_t i = 0; i < list.size(); ++i) {
    // A square is multiplied from its left, as a tall matrix is.
    auto turn = [&](const Matrix &m) {
      return m.rows == m.cols ? reference::transpose(m) : m;
    };
    const reference::Step step = reference::muonStep(
        turn(weights[i]), turn(gradients[i]), turn(states[i]), scalars, 0.95,
        1e-5, reference::jordan(steps), reference::roundToBf16);
    EXPECT_LT(distance(arguments.updates[i], turn(step.increment)), bound)
        << list[i].first;
    EXPECT_LT(distance(arguments.states[i], turn(step.state)), 1e-6)
        << list[i].first;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Products, Rounded,
    testing::Values(Case{1,
                         {{"square", {96, 96}},
                          {"one", {64, 96}},
                          {"other", {64, 96}},
                          {"row", {1, 40}},
                          {"wide", {33, 65}},
                          {"deep", {1100, 34}}},
                         3e-5},
                    Case{2, {{"square", {64, 64}}, {"wide", {33, 65}}}, 1e-3}));

/// `count` random rows of length one that are orthogonal to each other.
static Matrix orthogonalRows(std::size_t count, std::size_t size,
                             std::mt19937 &random) {
  Matrix rows(count, size);
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < count; ++i) {
    double *row = rows.row(i);
    std::generate_n(row, size, [&] { return normal(random); });
    for (std::size_t k = 0; k <= i; ++k) {
      const double *other = rows.row(k);
      const double along = std::inner_product(row, row + size, other, 0.0);
      const double factor = k < i ? along : 1 - 1 / std::sqrt(along);
      for (std::size_t j = 0; j < size; ++j)
        row[j] -= factor * other[j];
    }
  }
  return rows;
}

/// U diag(s) V^T with random U and V.
static Matrix withSpectrum(std::size_t rows, std::size_t cols, unsigned seed,
                           const std::function<double(double)> &spectrum) {
  std::mt19937 random(seed);
  Matrix u = orthogonalRows(rows, rows, random);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j)
      u.at(i, j) *= spectrum(double(i));
  return reference::multiply(reference::transpose(u),
                             orthogonalRows(rows, cols, random));
}

/// What five steps lose by rounding operands alone, iterates staying FP32, in
/// parts of the update. Larger matrices lose less: of 512 rows 0.025, 0.004,
/// 0.005 and 0.004 (jordan), where storing BF16, too, would lose 0.03, 0.05,
/// 0.15 and 0.56.
TEST(Spectra, RoundedOperandsLoseLittle) {
  const double rows = 96;
  const std::pair<const char *, std::function<double(double)>> spectra[] = {
      {"gauss", {}},
      {"power", [](double i) { return 1 / (i + 1); }},
      {"exp", [=](double i) { return std::pow(10, -8 * i / rows); }},
      {"rank 16", [](double i) { return i < 16 ? 1 : 1e-12; }}};
  struct Schedule {
    const char *name;
    reference::Coefficients coefficients;
    std::array<double, 4> bounds;
  };
  for (const auto &[name, coefficients, bounds] :
       {Schedule{
            R"("jordan")", reference::jordan(5), {0.03, 0.025, 0.01, 0.015}},
        Schedule{R"("polar_express", safety = 1.01)",
                 reference::polarExpress(5, 1.01),
                 {0.03, 0.02, 0.02, 0.065}}}) {
    TemporaryFolder folder;
    NamedShapes list;
    for (const auto &[spectrum, unused] : spectra)
      for (int64_t columns : {96, 192})
        list.push_back(
            {fmt::format("{} {}", spectrum, columns), {96, columns}});
    CompiledSpec spec(writeSpec(folder, "dot(bf16)", 5, name), list);
    StepArguments &arguments = spec.arguments;
    reference::Scalars scalars;
    scalars.lr = arguments.lr[0];
    for (std::size_t i = 0; i < list.size(); ++i)
      if (i / 2 == 0)
        fillNormal(arguments.gradients[i], 5);
      else
        fill(arguments.gradients[i],
             withSpectrum(96, list[i].second[1], unsigned(i),
                          spectra[i / 2].second));
    const auto weights = toMatrices(arguments.parameters),
               gradients = toMatrices(arguments.gradients),
               states = toMatrices(arguments.states);
    ASSERT_FALSE(spec.step().skipped);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const reference::Step step =
          reference::muonStep(weights[i], gradients[i], states[i], scalars,
                              0.95, 1e-5, coefficients);
      const double lost = distance(arguments.updates[i], step.increment);
      EXPECT_LT(lost, bounds[i / 2]) << name << " " << list[i].first;
      EXPECT_GT(lost, 1e-4) << "nothing was rounded";
    }
  }
}

/// Few matrices are split within each kernel, many are shared out; neither may
/// change a bit.
TEST(Threads, ChainsHaveTheSameBits) {
  TemporaryFolder folder;
  const NamedShapes list = {
      {"a", {96, 64}}, {"b", {96, 64}}, {"c", {96, 64}}, {"split", {160, 320}}};
  for (const char *dot : {"", "dot(bf16)"}) {
    CompiledSpec spec(writeSpec(folder, dot, 1), list);
    std::vector<Tensor> weights, states;
    for (int threads : {1, 2, 3}) {
      fillTensors(spec.arguments, 7);
      ThreadPool pool(threads);
      ASSERT_FALSE(spec.artefact->step(spec.arguments, &pool).skipped);
      for (std::size_t i = 0; i < list.size(); ++i) {
        const Tensor &weight = spec.arguments.parameters[i],
                     &state = spec.arguments.states[i];
        if (threads == 1) {
          for (const auto &[from, to] :
               {std::pair(&weight, &weights), std::pair(&state, &states)}) {
            to->emplace_back(DType::F32, list[i].second);
            std::memcpy(to->back().data(), from->data(), from->bytes());
          }
          continue;
        }
        EXPECT_TRUE(sameBits(weight, weights[i]))
            << list[i].first << ", " << threads << " threads " << dot;
        EXPECT_TRUE(sameBits(state, states[i]))
            << list[i].first << ", " << threads << " threads " << dot;
      }
    }
  }
}
