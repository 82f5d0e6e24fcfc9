//===- MeasureTest.cpp - diameter, separation, Hilbert RMS ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Geometry/Measure.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Core/ThreadPool.h"
#include "test/Unit/Geometry/Clouds.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace steep;

namespace {

double at(const Tensor &s, int64_t i, int64_t j) {
  return s.dtype() == DType::F32 ? s.f32()[i * s.dim(1) + j]
                                 : s.f64()[i * s.dim(1) + j];
}

double pairDistance(const Tensor &s, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < s.dim(1); ++k) {
    const double x = at(s, i, k) - at(s, j, k);
    sum += x * x;
  }
  return std::sqrt(sum);
}

void bruteForce(const Tensor &s, double &diameter, double &separation) {
  diameter = 0;
  separation = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < s.dim(0); ++i)
    for (int64_t j = i + 1; j < s.dim(0); ++j) {
      const double distance = pairDistance(s, i, j);
      diameter = std::max(diameter, distance);
      separation = std::min(separation, distance);
    }
}

double bruteHilbert(const Tensor &s, const Tensor &h) {
  double sum = 0;
  for (int64_t p = 0; p < h.dim(0); ++p) {
    double most = -1e300, least = 1e300;
    for (int64_t i = 0; i < s.dim(0); ++i) {
      double logit = 0;
      for (int64_t k = 0; k < s.dim(1); ++k)
        logit += at(s, i, k) * at(h, p, k);
      most = std::max(most, logit);
      least = std::min(least, logit);
    }
    sum += (most - least) * (most - least);
  }
  return std::sqrt(sum / h.dim(0));
}

Tensor gaussian(DType type, int64_t rows, int64_t columns, unsigned seed,
                double scale = 1, double offset = 0) {
  Tensor tensor(type, {rows, columns});
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double x = normal(engine) * scale + offset;
    if (type == DType::F32)
      tensor.f32()[i] = static_cast<float>(x);
    else
      tensor.f64()[i] = x;
  }
  return tensor;
}

void expectNear(double value, double expected, double relative) {
  EXPECT_LE(std::fabs(value - expected), relative * std::fabs(expected))
      << value << " and " << expected;
}

void expectBruteForce(const Tensor &s, double relative) {
  double diameter, separation;
  bruteForce(s, diameter, separation);
  expectNear(rowDiameter(s), diameter, relative);
  expectNear(rowSeparation(s), separation, relative);
}

std::string failure(const std::function<void()> &call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(Measure, RecordedCases) {
  const SafetensorsFile file =
      SafetensorsFile::open(STEEP_TEST_DATA "/measurements.safetensors");
  int seen = 0;
  for (const auto &[name, entry] : file.entries()) {
    if (name.size() < 2 || name.substr(name.size() - 2) != "_s")
      continue;
    const std::string stem = name.substr(0, name.size() - 2);
    SCOPED_TRACE(stem);
    const Tensor s = file.load(name);
    expectNear(rowDiameter(s), file.load(stem + "_diameter").f64()[0], 1e-6);
    if (file.contains(stem + "_separation")) {
      const double expected = file.load(stem + "_separation").f64()[0];
      if (std::isinf(expected) || s.dim(0) == 1)
        EXPECT_TRUE(std::isinf(rowSeparation(s)));
      else
        expectNear(rowSeparation(s), expected, 1e-6);
    }
    if (file.contains(stem + "_h"))
      expectNear(hilbertRms(s, file.load(stem + "_h")),
                 file.load(stem + "_hilbert_rms").f64()[0], 1e-6);
    ++seen;
  }
  EXPECT_EQ(seen, 5);
}

TEST(Measure, BruteForceOfManyShapes) {
  for (int64_t rows : {1, 2, 3, 7, 8, 9, 31, 32, 33, 127, 128, 129, 300})
    for (int64_t columns : {1, 2, 17, 64}) {
      SCOPED_TRACE(testing::Message() << rows << "x" << columns);
      const Tensor s =
          gaussian(DType::F32, rows, columns, rows * 100 + columns);
      const Tensor h = gaussian(DType::F32, 13, columns, rows + columns);
      double diameter, separation;
      bruteForce(s, diameter, separation);
      expectNear(rowDiameter(s), diameter, 1e-14);
      if (rows == 1)
        EXPECT_TRUE(std::isinf(rowSeparation(s)));
      else
        expectNear(rowSeparation(s), separation, 1e-14);
      expectNear(hilbertRms(s, h), bruteHilbert(s, h), 1e-12);
    }
}

TEST(Measure, ACommonOffsetChangesNothing) {
  expectBruteForce(gaussian(DType::F32, 300, 16, 1, 1, 1000), 1e-14);
  expectBruteForce(gaussian(DType::F32, 300, 16, 2, 1e-3, 1000), 1e-14);
  expectBruteForce(gaussian(DType::F64, 300, 16, 3, 1e-6, 1e6), 1e-14);
}

TEST(Measure, DoubleStaysDouble) {
  // Two rows that differ from a third by 1e-12: invisible in FP32.
  Tensor s(DType::F64, {4, 3});
  s.f64()[0] = 1;
  s.f64()[3] = -1;
  s.f64()[6] = 1 + 1e-12;
  s.f64()[9] = 0.5;
  expectNear(rowDiameter(s), 2 + 1e-12, 1e-15);
  expectNear(rowSeparation(s), 1e-12, 1e-3);
  expectBruteForce(gaussian(DType::F64, 200, 33, 4), 1e-14);
}

TEST(Measure, AnyScale) {
  for (double scale : {1e-30, 1e-20, 1e-6, 1e15, 1e30})
    expectBruteForce(gaussian(DType::F32, 150, 24, 5, scale), 1e-12);
  for (double scale : {1e-150, 1e150})
    expectBruteForce(gaussian(DType::F64, 150, 24, 6, scale), 1e-12);
}

TEST(Measure, RowsOfVeryDifferentNorms) {
  Tensor s = gaussian(DType::F32, 700, 12, 7);
  for (int64_t i = 0; i < s.dim(0); ++i)
    for (int64_t k = 0; k < s.dim(1); ++k)
      s.f32()[i * s.dim(1) + k] *= 1.0f / static_cast<float>(1 + i * i);
  expectBruteForce(s, 1e-14);
}

/// Projected RowNorm of a language model's gradient: rows of tokens that do not
/// occur are nearly one row, and their pairs need not be looked at.
TEST(Measure, MostPairsOfALanguageModelsStepAreRuledOut) {
  const Tensor g = clouds::languageModel(8000, 32, 1600, 1);
  Tensor unit(DType::F64, g.shape());
  auto subtractMean = [&](const Tensor &rows) {
    for (int64_t k = 0; k < 32; ++k) {
      double sum = 0;
      for (int64_t i = 0; i < 8000; ++i)
        sum += rows.f64()[i * 32 + k];
      for (int64_t i = 0; i < 8000; ++i)
        rows.f64()[i * 32 + k] -= sum / 8000;
    }
  };
  std::copy(g.f64(), g.f64() + g.count(), unit.f64());
  subtractMean(unit);
  for (int64_t i = 0; i < 8000; ++i) {
    double square = 0;
    for (int64_t k = 0; k < 32; ++k)
      square += unit.f64()[i * 32 + k] * unit.f64()[i * 32 + k];
    for (int64_t k = 0; k < 32; ++k)
      unit.f64()[i * 32 + k] /= std::sqrt(square);
  }
  subtractMean(unit);
  double looked = 1;
  const double diameter = rowDiameter(clouds::rounded(unit), nullptr, &looked);
  EXPECT_GT(diameter, 1.5);
  EXPECT_GT(looked, 0);
  EXPECT_LT(looked, 1.0 / 6);
}

TEST(Measure, DuplicatesAndTies) {
  Tensor s = gaussian(DType::F32, 640, 8, 8);
  // Rows 5, 15, 25, ... are one row; and many pairs tie for the largest.
  for (int64_t i = 0; i < s.dim(0); ++i)
    for (int64_t k = 0; k < s.dim(1); ++k)
      s.f32()[i * s.dim(1) + k] = (i % 2 ? 1.0f : -1.0f) * 0.25f * (k + 1);
  double diameter, separation;
  bruteForce(s, diameter, separation);
  EXPECT_EQ(separation, 0);
  EXPECT_EQ(rowSeparation(s), 0);
  expectNear(rowDiameter(s), diameter, 1e-14);

  Tensor equal(DType::F32, {50, 4});
  std::fill_n(equal.f32(), equal.count(), 1.1f);
  EXPECT_EQ(rowDiameter(equal), 0);
  EXPECT_EQ(rowSeparation(equal), 0);
  EXPECT_EQ(hilbertRms(equal, gaussian(DType::F32, 5, 4, 9)), 0);
}

TEST(Measure, RegularSimplexEveryPairTies) {
  Tensor s(DType::F64, {200, 200});
  for (int64_t i = 0; i < 200; ++i)
    s.f64()[i * 200 + i] = 3;
  expectNear(rowDiameter(s), 3 * std::sqrt(2.0), 1e-15);
  expectNear(rowSeparation(s), 3 * std::sqrt(2.0), 1e-15);
  EXPECT_EQ(separationRatio(rowSeparation(s), rowDiameter(s)), 1);
}

TEST(Measure, TheSameForAnyThreads) {
  ThreadPool two(2), three(3);
  const Tensor s = gaussian(DType::F32, 1500, 40, 10);
  const Tensor h = gaussian(DType::F32, 90, 40, 11);
  EXPECT_EQ(rowDiameter(s), rowDiameter(s, &two));
  EXPECT_EQ(rowDiameter(s), rowDiameter(s, &three));
  EXPECT_EQ(rowSeparation(s), rowSeparation(s, &two));
  EXPECT_EQ(hilbertRms(s, h), hilbertRms(s, h, &two));
}

TEST(Measure, NonFiniteIsNaN) {
  Tensor s = gaussian(DType::F32, 30, 4, 12);
  const Tensor h = gaussian(DType::F32, 30, 4, 13);
  s.f32()[17] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(rowDiameter(s)));
  EXPECT_TRUE(std::isnan(rowSeparation(s)));
  EXPECT_TRUE(std::isnan(hilbertRms(s, h)));
  EXPECT_TRUE(std::isnan(hilbertRms(h, s)));
}

TEST(Measure, RefusesWhatIsNoMatrix) {
  EXPECT_EQ(failure([] { rowDiameter(Tensor(DType::F32, {3})); }),
            "the increment s must be a matrix with at least one row and one "
            "column, got shape [3]");
  EXPECT_EQ(failure([] {
              rowSeparation(Tensor(DType::I32, {3, 2}));
            }),
            "the increment s must have elements of type F32 or F64, got I32");
  EXPECT_EQ(
      failure([] {
        hilbertRms(Tensor(DType::F32, {3, 2}), Tensor(DType::F32, {3, 4}));
      }),
      "the increment s has 2 columns and the hidden states h have 4: "
      "they must be equal");
}
