//===- KnownShapesTest.cpp - shapes and layouts that broke others ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second half of KnownFailureTest.cpp, which says where all are.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Tools/CompiledSpec.h"

#include <algorithm>
#include <cmath>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

static constexpr int64_t orders[] = {255, 256, 257, 511, 512, 513};

namespace {
/// One of each group that a test does not fill itself.
class Shapes : public CompiledSpec {
public:
  explicit Shapes(NamedShapes list)
      : CompiledSpec(STEEP_TEST_DATA "/known_shapes.mlir",
                     withOthers(std::move(list))) {}
  float *gradient(std::size_t i) { return arguments.gradients[i].f32(); }
  float *update(std::size_t i) { return arguments.updates[i].f32(); }

private:
  static NamedShapes withOthers(NamedShapes list) {
    const std::vector<std::pair<std::string, Shape>> others = {
        {"conv", {1, 1, 1}}, {"single", {1, 1}},  {"cube", {1, 1}},
        {"center", {1, 1}},  {"padded", {64, 1}}, {"head", {1, 1}},
        {"average", {1, 1}}};
    for (const auto &[group, shape] : others)
      if (std::none_of(list.begin(), list.end(), [&](const auto &item) {
            return item.first.rfind(group + ".", 0) == 0;
          }))
        list.emplace_back(group + ".other", shape);
    return list;
  }
};
} // namespace

/// Every second pair of sides for rows, beside plain loops in float64, and
/// every fifth for products, since compiling takes its time: each side is there
/// as m and as n, beside smaller and larger ones.
TEST(KnownShapes, PairsOfSides) {
  const int64_t sides[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 97};
  NamedShapes list;
  for (int64_t i = 0; i < 14; ++i)
    for (int64_t j = 0; j < 14; ++j)
      for (const char *rule : {"spectral", "rows"})
        if ((i + j) % (rule[0] == 'r' ? 2 : 5) == 0)
          list.emplace_back(fmt::format("{}.{}x{}", rule, sides[i], sides[j]),
                            Shape{sides[i], sides[j]});
  CompiledSpec spec(STEEP_TEST_DATA "/known_pairs.mlir", list);
  for (unsigned p = 0; p < list.size(); ++p)
    fillNormal(spec.arguments.gradients[p], p);
  spec.step();
  for (std::size_t p = 0; p < list.size(); ++p) {
    const Matrix g = toMatrix(spec.arguments.gradients[p]);
    const Matrix expected =
        list[p].first[0] == 's'
            ? reference::spectral(g, 1, {{1.875, -1.25, 0.375}}, 0)
            : reference::scale(reference::normalizeRows(g, 0), -1);
    EXPECT_LT(distance(spec.arguments.updates[p], expected), 2e-6)
        << list[p].first;
  }
}

/// A convolution's kernels are matrices of their own, whatever their batch.
TEST(KnownShapes, ConvolutionsAreNeverOneMatrix) {
  Shapes spec({{"conv.a", {16, 8, 3, 3}},
               {"conv.b", {16, 8, 3, 3}},
               {"conv.c", {16, 8, 3, 3}},
               {"single.a", {16, 72}},
               {"conv.large", {64, 32, 3, 3}},
               {"single.large", {64, 288}}});
  std::vector<Tensor> before;
  for (float others : {1.0f, 100.0f}) {
    for (unsigned p = 0; p < 3; ++p)
      fillNormal(spec.arguments.gradients[p], p, p == 0 ? 1.0f : others);
    fillNormal(spec.arguments.gradients[3], 0);
    for (std::size_t p : {4, 5})
      fillNormal(spec.arguments.gradients[p], 4);
    spec.step();
    const Tensor *updates = spec.arguments.updates.data();
    EXPECT_TRUE(sameBits(updates[0], updates[3]));
    EXPECT_TRUE(sameBits(updates[4], updates[5]));
    if (before.empty())
      for (std::size_t p = 0; p < 3; ++p)
        before.push_back(updates[p].clone());
    EXPECT_TRUE(sameBits(updates[0], before[0]));
  }
}

/// G = [P | I], m x (m + depth), with entries of P in -2 .. 2 whose squares,
/// and those of I, add up to a power of four: the norm divides exactly.
static std::vector<int> makeIntegers(int64_t m, int64_t depth, unsigned seed) {
  const int64_t n = m + depth;
  int64_t total = 1;
  while (4 * total <= m + m * depth * 2)
    total *= 4;
  int64_t left = total - m;
  std::vector<int> g(static_cast<std::size_t>(m * n));
  std::vector<std::size_t> places;
  for (int64_t i = 0; i < m; ++i) {
    g[static_cast<std::size_t>(i * n + depth + i)] = 1;
    for (int64_t j = 0; j < depth; ++j)
      places.push_back(static_cast<std::size_t>(i * n + j));
  }
  std::mt19937 random(seed);
  std::shuffle(places.begin(), places.end(), random);
  for (std::size_t place : places) {
    const int size = left >= 4 && random() % 2 ? 2 : 1;
    if (left == 0)
      break;
    g[place] = random() % 2 ? size : -size;
    left -= size * size;
  }
  EXPECT_EQ(left, 0);
  return g;
}

/// (t/4 + G G^T) G, t the sum of squares.
static std::vector<int64_t> cubeOf(const std::vector<int> &g, int64_t m,
                                   int64_t n, int64_t squares) {
  auto at = [n](int64_t i, int64_t j) {
    return static_cast<std::size_t>(i * n + j);
  };
  std::vector<int64_t> cube(g.size());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t k = 0; k < m; ++k) {
      int64_t sum = i == k ? squares / 4 : 0;
      for (int64_t j = 0; j < n; ++j)
        sum += g[at(i, j)] * g[at(k, j)];
      for (int64_t j = 0; j < n; ++j)
        cube[at(i, j)] += sum * g[at(k, j)];
    }
  }
  return cube;
}

/// A symmetric product by halves: integers come out exactly, and (i, j) has the
/// bits of (j, i) whatever the entries.
TEST(KnownShapes, SymmetricProductsAreExactAndSymmetric) {
  constexpr int64_t depth = 64;
  NamedShapes list;
  for (int64_t m : orders)
    list.emplace_back(fmt::format("cube.{}", m), Shape{m, m + depth});
  Shapes spec(list);
  std::vector<std::vector<int>> integers;
  for (std::size_t p = 0; p < list.size(); ++p) {
    integers.push_back(
        makeIntegers(orders[p], depth, static_cast<unsigned>(p)));
    std::copy(integers[p].begin(), integers[p].end(), spec.gradient(p));
  }
  spec.step();
  for (std::size_t p = 0; p < list.size(); ++p) {
    int64_t squares = 0, wrong = 0;
    for (int entry : integers[p])
      squares += entry * entry;
    const double scale = std::pow(static_cast<double>(squares), -1.5);
    const auto cube =
        cubeOf(integers[p], orders[p], orders[p] + depth, squares);
    for (std::size_t i = 0; i < cube.size(); ++i)
      wrong += -static_cast<double>(spec.update(p)[i]) !=
               static_cast<double>(cube[i]) * scale;
    EXPECT_EQ(wrong, 0) << list[p].first;
  }

  for (unsigned p = 0; p < list.size(); ++p) {
    const int64_t m = orders[p], n = m + depth;
    fillNormal(spec.arguments.gradients[p], p);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < m; ++j)
        spec.gradient(p)[i * n + depth + j] = i == j ? 30.0f : 0.0f;
  }
  spec.step();
  for (std::size_t p = 0; p < list.size(); ++p) {
    const int64_t m = orders[p], n = m + depth;
    int64_t different = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < i; ++j)
        different += spec.update(p)[i * n + depth + j] !=
                     spec.update(p)[j * n + depth + i];
    EXPECT_EQ(different, 0) << list[p].first;
  }
}

/// What the tests below share, to be compiled once.
static const NamedShapes few = {{"center.w", {2, 2}},
                                {"padded.w", {64, 24}},
                                {"head.w", {50, 24}},
                                {"average.w", {8, 5}}};

TEST(KnownShapes, CentringSubtractsTheMeanRow) {
  Shapes spec(few);
  const float g[] = {1, 2, 5, 10}, expected[] = {-2, -4, 2, 4};
  std::memcpy(spec.gradient(0), g, sizeof g);
  spec.step();
  EXPECT_EQ(std::memcmp(spec.update(0), expected, sizeof expected), 0);
}

/// Rates are arguments: whatever they are, the code is the same.
TEST(KnownShapes, AThousandRatesCompileNothing) {
  Shapes spec(few);
  const float g[] = {1, 2, 5, 10};
  std::memcpy(spec.gradient(0), g, sizeof g);
  for (int i = 0; i < 1000; ++i) {
    const float lr = std::ldexp(1.0f + 1e-3f * static_cast<float>(i), -i / 50);
    spec.arguments.lr[spec.groupOf(0)] = lr;
    spec.step();
    ASSERT_EQ(spec.update(0)[0], -2 * lr);
  }
}

/// A vocabulary of 50 that is padded to 64: pad rows stay zero, and neither the
/// mean row nor a norm knows of them.
TEST(KnownShapes, PadRowsStayZeroAndCountForNothing) {
  Shapes spec(few);
  fillNormal(spec.arguments.gradients[2], 1);
  std::memcpy(spec.gradient(1), spec.gradient(2),
              spec.arguments.gradients[2].bytes());
  for (int step = 1; step <= 2; ++step) {
    spec.arguments.step = step;
    spec.step();
  }
  EXPECT_EQ(std::memcmp(spec.arguments.parameters[1].data(),
                        spec.arguments.parameters[2].data(),
                        spec.arguments.parameters[2].bytes()),
            0);
  EXPECT_NE(spec.arguments.parameters[1].f32()[0], 0.0f);
  for (int64_t i = 50 * 24; i < 64 * 24; ++i)
    ASSERT_EQ(spec.arguments.parameters[1].f32()[i], 0.0f);
}

/// 8 x 5 ones, beta 0.9: the buffer is 0.1, then 0.19, and is not what was
/// normalised. (StageTest has the other types.)
TEST(KnownShapes, TheAverageIsKept) {
  Shapes spec(few);
  std::fill(spec.gradient(3), spec.gradient(3) + 40, 1.0f);
  for (double expected : {0.1, 0.19}) {
    spec.step();
    ++spec.arguments.step;
    for (int64_t i = 0; i < 40; ++i) {
      EXPECT_NEAR(spec.arguments.states[0].f32()[i], expected, 1e-7);
      EXPECT_NEAR(-spec.update(3)[i], 1 / std::sqrt(5.0), 1e-6);
    }
  }
}
