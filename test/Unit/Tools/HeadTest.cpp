//===- HeadTest.cpp - equidistant, equalised and clipped heads ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/Neighbours.h"
#include "test/Unit/Geometry/Clouds.h"
#include "test/Unit/Tools/CompiledRule.h"

#include <algorithm>
#include <cmath>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

/// A rule without state whose increment is that of `op` with radius %lr.
static std::string oracleRule(const std::string &op) {
  return makeRule({}, "  %c = geo.center %g\n  %s = " + op +
                          "\n  %w1 = geo.apply %w, %s\n  optim.yield %w1\n");
}

static double dot(const Matrix &a, const Matrix &b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i)
    sum += a.data[i] * b.data[i];
  return sum;
}

static double cosine(const Matrix &a, const Matrix &b) {
  return dot(a, b) / reference::frobeniusNorm(a) / reference::frobeniusNorm(b);
}

//===----------------------------------------------------------------------===//
// geo.common_ball
//===----------------------------------------------------------------------===//

/// What is left of equal rows, and of one row, when the mean row is taken off
/// is rounding errors, of which a norm makes rows of length one. They are all
/// the same, and the outer projection takes them off.
TEST(CommonBall, EqualRowsAndOneRowGetNoStep) {
  CompiledRule rule(makeRule({"b"}, R"(
  %b1 = geo.ema %b, %g {beta = 0.95}
  %c = geo.correct_bias %b1, %t {beta = 0.95}
  %s = geo.common_ball %c radius(%lr) {eps = 1.0e-8}
  %w1 = geo.apply %w, %s
  optim.yield %w1, %b1
)"),
                    {{300, 64}, {2060, 64}, {1, 7}, {1, 512}, {3, 32}});
  for (int t = 1; t <= 4; ++t) {
    for (unsigned i = 0; i < 5; ++i) {
      Tensor &gradient = rule.gradient(i);
      fillNormal(gradient, 10 * t + i, t == 3 ? 1e4f : 1.0f);
      // The last one differs in its rows, so that some step is taken.
      for (int64_t j = gradient.dim(1); i < 4 && j < gradient.count(); ++j)
        gradient.f32()[j] = gradient.f32()[j - gradient.dim(1)];
    }
    rule.step();
    for (unsigned i = 0; i < 5; ++i) {
      const double length = reference::frobeniusNorm(toMatrix(rule.update(i)));
      if (i < 4)
        EXPECT_EQ(length, 0) << "step " << t << ", parameter " << i;
      else
        EXPECT_GT(length, 1);
    }
  }
}

//===----------------------------------------------------------------------===//
// geo.equidistant
//===----------------------------------------------------------------------===//

static const char *equidistant =
    "geo.equidistant %c radius(%lr) {rounds = 5, steps = 6}";

struct Distances {
  double least = HUGE_VAL, most = 0;
};

/// delta(S) and D(S) in one pass over the pairs, since there are many.
static Distances measure(const Matrix &s) {
  Distances squares;
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t k = 0; k < i; ++k) {
      double square = 0;
      for (std::size_t j = 0; j < s.cols; ++j) {
        double difference = s.row(i)[j] - s.row(k)[j];
        square += difference * difference;
      }
      squares.least = std::min(squares.least, square);
      squares.most = std::max(squares.most, square);
    }
  return {std::sqrt(squares.least), std::sqrt(squares.most)};
}

TEST(Equidistant, SpreadsTheHeadOfALanguageModel) {
  CompiledRule rule(oracleRule(equidistant), {{3000, 128}});
  rule.gradient() = clouds::rounded(clouds::languageModel(3000, 128, 6000, 3));
  rule.step();
  Matrix g = reference::center(toMatrix(rule.gradient()));
  Matrix s = toMatrix(rule.update());
  Distances spread = measure(s),
            plain = measure(reference::normalizeRows(g, 0));
  EXPECT_GE(spread.least / spread.most, 0.6);
  EXPECT_LE(spread.most, 2 * (1 + 1e-6));
  EXPECT_LT(plain.least / plain.most, 0.12);
  // It descends: about as steeply as the polar factor's rows, normalised.
  EXPECT_GT(-cosine(g, s), 0.2);
  for (double square : reference::rowSquares(s))
    EXPECT_NEAR(square, 1, 1e-5);
}

TEST(Equidistant, OneRowMoreThanColumnsIsARegularSimplex) {
  CompiledRule rule(oracleRule(equidistant), {{65, 64}, {33, 64}, {9, 8}});
  for (std::size_t i = 0; i < 3; ++i)
    fillNormal(rule.gradient(i), 7 + static_cast<unsigned>(i));
  rule.step();
  for (std::size_t i : {0, 1, 2}) {
    Matrix s = toMatrix(rule.update(i));
    double distance = std::sqrt(2 + 2 / (static_cast<double>(s.rows) - 1));
    EXPECT_NEAR(reference::separation(s), distance, 2e-5) << i;
    EXPECT_NEAR(reference::diameter(s), distance, 2e-5) << i;
    EXPECT_GT(-cosine(reference::center(toMatrix(rule.gradient(i))), s), 0.7);
  }
}

TEST(Equidistant, EqualsTheReference) {
  std::vector<Shape> shapes = {{97, 17}, {40, 40}, {17, 33}, {257, 32}, {3, 2}};
  CompiledRule rule(
      oracleRule("geo.equidistant %c radius(%lr) {rounds = 2, steps = 5}"),
      shapes);
  rule.arguments.lr = {0.25};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    fillNormal(rule.gradient(i), static_cast<unsigned>(i));
  rule.step();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    EXPECT_LT(
        reference::relativeDifference(
            toMatrix(rule.update(i)),
            reference::equidistant(
                reference::center(toMatrix(rule.gradient(i))), 0.25, 2, 5)),
        5e-5)
        << shapes[i][0] << "x" << shapes[i][1];
}

TEST(Equidistant, RepulsionEqualsTheReferenceAndParts) {
  std::vector<Shape> shapes = {{97, 17}, {40, 40}, {300, 33}};
  CompiledRule rule(oracleRule("geo.equidistant %c radius(%lr) {rounds = 2, "
                               "steps = 6, repulsion = 3, distance = 1.2}"),
                    shapes);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    fillNormal(rule.gradient(i), static_cast<unsigned>(i));
  // Two rows that are one stay together and disturb nobody.
  for (int64_t j = 0; j < 33; ++j)
    rule.gradient(2).f32()[33 + j] = rule.gradient(2).f32()[j];
  rule.step();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Matrix c = reference::center(toMatrix(rule.gradient(i)));
    Matrix s = toMatrix(rule.update(i));
    EXPECT_LT(reference::relativeDifference(
                  s, reference::equidistant(c, 1, 2, 6, 3, 1.2)),
              2e-4)
        << i;
    if (i == 2)
      continue; // the two rows are together
    EXPECT_GE(reference::separation(s) * (1 + 1e-6),
              reference::separation(reference::equidistant(c, 1, 2, 6)));
  }
}

TEST(Equidistant, ZeroStaysZeroAndScaleIsNotSeen) {
  CompiledRule rule(oracleRule(equidistant), {{12, 5}, {12, 5}});
  fillNormal(rule.gradient(1), 1);
  rule.step();
  Tensor expected = rule.update(1).clone();
  for (int64_t i = 0; i < 60; ++i)
    EXPECT_EQ(rule.update(0).f32()[i], 0);
  for (int exponent : {-60, 30}) {
    fillNormal(rule.gradient(1), 1, std::ldexp(1.0f, exponent));
    rule.step();
    EXPECT_TRUE(sameBits(rule.update(1), expected)) << exponent;
  }
}

//===----------------------------------------------------------------------===//
// geo.equalize
//===----------------------------------------------------------------------===//

TEST(Equalize, EqualsTheReference) {
  for (bool rowsFirst : {true, false}) {
    CompiledRule rule(
        oracleRule(fmt::format("geo.equalize %g radius(%lr) "
                               "{{floor = 1.0e-7, order = \"{}\"}}",
                               rowsFirst ? "rows_columns" : "columns_rows")),
        {{33, 17}, {17, 97}, {1, 8}, {8, 1}, {130, 1100}});
    rule.arguments.lr = {0.5};
    for (std::size_t i = 0; i < 5; ++i) {
      fillNormal(rule.gradient(i), static_cast<unsigned>(i));
      // Rows of very different sizes; row 2 is below the floor.
      Tensor &g = rule.gradient(i);
      for (int64_t row = 0; row < g.dim(0); ++row)
        for (int64_t j = 0; j < g.dim(1); ++j)
          g.f32()[row * g.dim(1) + j] *= row == 2   ? 1e-9f
                                         : row == 3 ? 1e-2f
                                         : row == 4 ? 1e3f
                                                    : 1;
    }
    rule.step();
    for (std::size_t i = 0; i < 4; ++i) {
      Matrix s = toMatrix(rule.update(i));
      Matrix expected =
          reference::equalize(toMatrix(rule.gradient(i)), 0.5, 1e-7, rowsFirst);
      EXPECT_LT(reference::relativeDifference(s, expected), 1e-6) << i;
      // What is normalised last has root mean square r.
      std::vector<double> squares =
          reference::rowSquares(rowsFirst ? reference::transpose(s) : s);
      double count = static_cast<double>(rowsFirst ? s.rows : s.cols);
      for (std::size_t k = 0; k < squares.size(); ++k) {
        bool isZero = !rowsFirst && k == 2;
        EXPECT_NEAR(squares[k], isZero ? 0 : 0.25 * count, 1e-4);
      }
    }
  }
}

TEST(Equalize, ZeroStaysZeroWithoutAFloor) {
  CompiledRule rule(oracleRule("geo.equalize %g radius(%lr)"),
                    {{5, 4}, {5, 4}});
  // One row and one column of zeros, and tiny entries: all are told apart.
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 4; ++j)
      rule.gradient(1).f32()[i * 4 + j] =
          i == 1 || j == 2 ? 0.0f : 1e-20f * static_cast<float>(1 + i + 2 * j);
  rule.step();
  for (int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(rule.update(0).f32()[i], 0);
  EXPECT_LT(reference::relativeDifference(
                toMatrix(rule.update(1)),
                reference::equalize(toMatrix(rule.gradient(1)), 1, 0)),
            1e-6);
}

//===----------------------------------------------------------------------===//
// geo.clipped_row
//===----------------------------------------------------------------------===//

static std::string clippedRule(double clip) {
  return oracleRule(
      fmt::format("geo.clipped_row %g radius(%lr) {{clip = {:.3f}}}", clip));
}

TEST(ClippedRow, EqualsTheReference) {
  std::vector<Shape> shapes = {{7, 64}, {9, 33}, {3, 1}, {4, 257}};
  for (double clip : {1.5, 3.0}) {
    CompiledRule rule(clippedRule(clip), shapes);
    rule.arguments.lr = {0.25};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Tensor &g = rule.gradient(i);
      std::mt19937 random(static_cast<unsigned>(i));
      std::normal_distribution<float> normal;
      // Rows: Gaussian, heavy-tailed, tiny, huge, sparse, zero.
      for (int64_t row = 0; row < g.dim(0); ++row)
        for (int64_t j = 0; j < g.dim(1); ++j) {
          float x = normal(random);
          g.f32()[row * g.dim(1) + j] = row == 1   ? x * x * x
                                        : row == 2 ? 1e-20f * x
                                        : row == 3 ? 1e20f * x
                                        : row == 4 ? (j % 29 == 0 ? x : 0)
                                        : row == 5 ? 0
                                                   : x;
        }
    }
    rule.step();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Matrix s = toMatrix(rule.update(i));
      EXPECT_LT(
          reference::relativeDifference(
              s, reference::clippedRow(toMatrix(rule.gradient(i)), 0.25, clip)),
          1e-6)
          << clip << " " << i;
      for (double x : s.data)
        EXPECT_LE(std::abs(x), 0.25 * clip * (1 + 1e-6));
    }
  }
}

TEST(ClippedRow, OneIsSignAndMuchIsRowNormalisation) {
  for (double clip : {1.0, 8.0}) {
    CompiledRule rule(clippedRule(clip), {{6, 64}});
    fillNormal(rule.gradient(), 5);
    rule.gradient().f32()[3] = 0;
    rule.step();
    Matrix g = toMatrix(rule.gradient());
    Matrix expected = reference::normalizeRows(g, 0);
    for (std::size_t i = 0; i < g.data.size(); ++i)
      expected.data[i] = clip > 1 ? -8 * expected.data[i]
                                  : (g.data[i] < 0   ? 1.0
                                     : g.data[i] > 0 ? -1.0
                                                     : 0.0);
    EXPECT_LT(reference::relativeDifference(toMatrix(rule.update()), expected),
              1e-6);
  }
}

TEST(ClippedRow, AnotherScaleIsTheSameStep) {
  CompiledRule rule(clippedRule(3), {{5, 40}});
  fillNormal(rule.gradient(), 1);
  rule.step();
  Tensor expected = rule.update().clone();
  for (int exponent : {-40, 60}) {
    fillNormal(rule.gradient(), 1, std::ldexp(1.0f, exponent));
    rule.step();
    EXPECT_TRUE(sameBits(rule.update(), expected)) << exponent;
  }
}
