//===- ColumnsTest.cpp - parameters that are split along axis 1 -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each block of columns has the bits of the same matrix as a parameter of its
// own, and the numbers of the rule in float64.
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/ThreadPool.h"
#include "test/Unit/Tools/CompiledSpec.h"

#include <cmath>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

namespace {

/// Where a block lies in its parameter, seen as one matrix.
struct Block {
  int64_t row, column, rows, columns;
};

struct Whole {
  const char *name;
  Shape shape;
  int64_t columns;
  std::vector<Block> blocks;
};

const std::vector<Whole> wholes = {
    {"qkv.w", {16, 22}, 22, {{0, 0, 16, 12}, {0, 12, 16, 5}, {0, 17, 16, 5}}},
    {"heads.w", {9, 10}, 10, {{0, 0, 9, 5}, {0, 5, 9, 5}}},
    {"experts.w",
     {2, 7, 10},
     10,
     {{0, 0, 7, 4}, {0, 4, 7, 6}, {7, 0, 7, 4}, {7, 4, 7, 6}}},
    {"conv.w", {8, 3, 2, 2}, 12, {{0, 0, 8, 4}, {0, 4, 8, 8}}},
};

/// The part of a tensor with rows of `columns` elements.
Matrix cut(const Tensor &tensor, int64_t columns, const Block &block) {
  Matrix part(static_cast<std::size_t>(block.rows),
              static_cast<std::size_t>(block.columns));
  for (int64_t i = 0; i < block.rows; ++i)
    for (int64_t j = 0; j < block.columns; ++j)
      part.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) =
          tensor.f32()[(block.row + i) * columns + block.column + j];
  return part;
}

/// The wholes, then each block of theirs as a parameter.
class Columns : public CompiledSpec {
public:
  Columns() : CompiledSpec(STEEP_TEST_DATA "/columns.mlir", nameShapes()) {
    arguments.wd.assign(arguments.lr.size(), 0.5);
    for (std::size_t p = 0; p < arguments.parameters.size(); ++p)
      fillNormal(arguments.parameters[p], static_cast<unsigned>(100 + p));
    forEachBlock([&](std::size_t p, std::size_t single, const Block &block) {
      fill(arguments.parameters[single],
           cut(arguments.parameters[p], wholes[p].columns, block));
    });
  }

  /// Blocks of very different sizes, which one norm for all would show.
  void fillGradients(unsigned seed) {
    for (std::size_t p = 0; p < wholes.size(); ++p) {
      fillNormal(arguments.gradients[p], seed + static_cast<unsigned>(p));
      float factor = 1;
      for (const Block &block : wholes[p].blocks) {
        for (int64_t i = 0; i < block.rows; ++i)
          for (int64_t j = 0; j < block.columns; ++j)
            arguments.gradients[p].f32()[(block.row + i) * wholes[p].columns +
                                         block.column + j] *= factor;
        factor *= 50;
      }
    }
    forEachBlock([&](std::size_t p, std::size_t single, const Block &block) {
      fill(arguments.gradients[single],
           cut(arguments.gradients[p], wholes[p].columns, block));
    });
  }

  template <typename Visit> static void forEachBlock(Visit visit) {
    std::size_t single = wholes.size();
    for (std::size_t p = 0; p < wholes.size(); ++p)
      for (const Block &block : wholes[p].blocks)
        visit(p, single++, block);
  }

  /// Everything of a block but what `arguments` does not have.
  void expectSame(std::size_t p, std::size_t single, const Block &block) const {
    const Whole &whole = wholes[p];
    SCOPED_TRACE(fmt::format("{} column {}", whole.name, block.column));
    auto expect = [](const Matrix &part, const Tensor &alone) {
      EXPECT_TRUE(part.data == toMatrix(alone).data);
    };
    expect(cut(arguments.parameters[p], whole.columns, block),
           arguments.parameters[single]);
    if (!arguments.updates.empty())
      expect(cut(arguments.updates[p], whole.columns, block),
             arguments.updates[single]);
    const std::size_t s = stateOf(p), other = stateOf(single);
    expect(cut(arguments.states[s], whole.columns, block),
           arguments.states[other]);
    if (parameter(p).states.size() < 2)
      return;
    // One number a row and block of columns.
    int64_t across = 0, before = 0;
    for (const Block &each : whole.blocks) {
      across += each.row == 0;
      before += each.row == 0 && each.column < block.column;
    }
    expect(cut(arguments.states[s + 1], across,
               {block.row, before, block.rows, 1}),
           arguments.states[other + 1]);
  }

private:
  static NamedShapes nameShapes() {
    NamedShapes list;
    for (const Whole &whole : wholes)
      list.emplace_back(whole.name, whole.shape);
    forEachBlock([&](std::size_t p, std::size_t single, const Block &block) {
      list.emplace_back(
          fmt::format("{}.{}", p == 0 ? "single" : "alone", single),
          Shape{block.rows, block.columns});
    });
    return list;
  }
};

TEST(Columns, BlocksAreSingleMatrices) {
  Columns spec, quiet;
  ThreadPool pool(3);
  StepArguments &arguments = spec.arguments;
  quiet.arguments.updates.clear(); // another function of the step
  EXPECT_EQ(spec.parameter(1).states[1].shape, (Shape{9, 2}));
  EXPECT_EQ(spec.parameter(2).states[0].shape, (Shape{2, 7, 10}));
  EXPECT_EQ(spec.parameter(2).states[1].shape, (Shape{2, 7, 2}));
  EXPECT_EQ(spec.parameter(3).states[1].shape, (Shape{8, 2}));
  for (int64_t t = 1; t <= 3; ++t) {
    std::vector<Matrix> weights, states;
    for (const Block &block : wholes[0].blocks) {
      weights.push_back(cut(arguments.parameters[0], 22, block));
      states.push_back(cut(arguments.states[0], 22, block));
    }
    for (Columns *one : {&spec, &quiet}) {
      one->fillGradients(static_cast<unsigned>(10 * t));
      one->arguments.step = t;
    }
    const double clip = spec.step().clipFactor;
    quiet.artefact->step(quiet.arguments, &pool);
    for (const Columns *one : {&spec, &quiet})
      Columns::forEachBlock(
          [&](std::size_t p, std::size_t single, const Block &block) {
            one->expectSame(p, single, block);
          });
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const Block &block = wholes[0].blocks[k];
      const reference::Step expected = reference::muonStep(
          weights[k], cut(arguments.gradients[0], 22, block), states[k],
          {0.1, 0.5, clip, t});
      auto distance = [&](const Tensor &actual, const Matrix &wanted) {
        return reference::relativeDifference(cut(actual, 22, block), wanted);
      };
      EXPECT_LT(distance(arguments.updates[0], expected.increment), 5e-5) << k;
      EXPECT_LT(distance(arguments.parameters[0], expected.weight), 5e-6) << k;
      EXPECT_LT(distance(arguments.states[0], expected.state), 1e-6) << k;
    }
  }
}

/// The norm over all gradients counts every block once, measures are named by
/// where their matrix begins, and what is not finite is found in any block.
TEST(Columns, NormMeasuresAndSkips) {
  Columns spec;
  spec.fillGradients(1);
  spec.arguments.measure = true;
  std::vector<Matrix> gradients;
  for (const Tensor &gradient : spec.arguments.gradients)
    gradients.push_back(toMatrix(gradient));
  const double norm = reference::globalNorm(gradients);
  EXPECT_NEAR(spec.step().gradNorm, norm, norm * 1e-12);
  std::vector<std::string> matrices;
  for (const Manifest::Measure &measure : spec.artefact->manifest().measures)
    if (measure.parameter == "qkv.w")
      matrices.push_back(measure.matrix());
  EXPECT_EQ(matrices,
            (std::vector<std::string>{"qkv.w", "qkv.w[0,12]", "qkv.w[0,17]"}));
  ASSERT_GE(spec.arguments.measures.size(), 3u);
  EXPECT_GT(spec.arguments.measures[1], 10 * spec.arguments.measures[0]);
  EXPECT_GT(spec.arguments.measures[2], 10 * spec.arguments.measures[1]);

  spec.arguments.gradients[2].f32()[9 * 10 + 9] = INFINITY;
  const Tensor before = spec.arguments.parameters[2].clone();
  const StepResult result = spec.step();
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(result.nonfiniteParameter, 2);
  EXPECT_TRUE(sameBits(spec.arguments.parameters[2], before));
}

} // namespace
