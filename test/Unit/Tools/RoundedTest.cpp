//===- RoundedTest.cpp - products of BF16, and bits on threads ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Muon, whose steps are chains of products, on the CPU: with operands rounded
// to BF16 beside a reference that rounds the same ones, and in both precisions
// on one, two and three threads. `native` multiplies tiles on AMX where this
// CPU has it.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Tools/CompiledSpec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

static std::string writeSpec(const TemporaryFolder &folder,
                             const std::string &dot, unsigned steps) {
  const std::string path = folder / "muon.mlir";
  std::ofstream(path) << fmt::format(R"(
optim.spec @chain {{ optim.group @all ["*"] uses @muon lr 2.0e-2 wd 0.0 }}
optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {{
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {{beta = 0.95, nesterov}}
  %r  = geo.shape_scale %lr, %w {{kind = "original"}}
  %s  = geo.spectral %n radius(%r) {} {{schedule = "jordan", steps = {}, eps = 1.0e-5}}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}})",
                                     dot, steps);
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
