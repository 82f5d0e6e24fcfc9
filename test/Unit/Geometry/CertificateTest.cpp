//===- CertificateTest.cpp - certificates against the exact optimum -------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A certificate that is wrong is worse than none: over many clouds it never
// promises more than the exact oracle leaves.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Certificate.h"
#include "lib/Reference/Oracle.h"
#include "runtime/Core/ThreadPool.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Geometry/Oracle.h"
#include "test/Unit/Geometry/Clouds.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace steep;

namespace {

/// Checks every promise about one gradient.
void expectHonest(const Tensor &g) {
  const oracle::Report exact = solveRowDiameter(g).report;
  const Certificate certificate = rowNormCertificate(g);
  const FlowBound flow = rowNormFlowBound(g);
  if (exact.upper == 0) {
    EXPECT_EQ(certificate.ratio, 1);
    EXPECT_EQ(flow.ratio, 1);
    EXPECT_EQ(certificate.effectiveRows, 0);
    return;
  }
  // What RowNorm reaches for certain, and at best.
  const double most = exact.rowNorm / exact.lower;
  EXPECT_LE(certificate.ratio, most * (1 + 1e-14));
  EXPECT_LE(flow.ratio, most * (1 + 1e-14));
  EXPECT_GE(flow.upper, exact.lower * (1 - 1e-14));
  // The sweep is worth something, and the cheap one is no worse than Jung.
  EXPECT_GE(flow.ratio, certificate.ratio * (1 - 1e-12));
  EXPECT_GE(certificate.ratio, std::sqrt(0.5));
  if (g.dtype() == DType::F64) {
    const double plain = reference::rowNormCertificate(
        {static_cast<std::size_t>(g.dim(0)), static_cast<std::size_t>(g.dim(1)),
         g.f64()});
    EXPECT_NEAR(certificate.ratio, std::min(plain, 1.0), 1e-9);
  }
  EXPECT_GE(certificate.effectiveRows, 2 * (1 - 1e-9));
  EXPECT_LE(certificate.effectiveRows,
            static_cast<double>(g.dim(0)) * (1 + 1e-9));
}

} // namespace

TEST(Certificate, NeverPromisesTooMuch) {
  for (const std::string &kind : clouds::kinds())
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{2, 3},
                                 {3, 2},
                                 {6, 5},
                                 {23, 4},
                                 {40, 12},
                                 {70, 8}})
      for (unsigned seed : {1u, 2u, 3u}) {
        SCOPED_TRACE(kind + " " + std::to_string(rows) + "x" +
                     std::to_string(columns));
        const Tensor g = clouds::make(kind, rows, columns, seed);
        expectHonest(g);
        expectHonest(clouds::rounded(g));
      }
  expectHonest(Tensor(DType::F32, {9, 4}));
}

TEST(Certificate, IsSharpWhereItCanBe) {
  // Regular simplices and two rows.
  for (int64_t k : {1, 2, 5, 30}) {
    const Tensor g = clouds::make("simplex", k + 1, k, 0);
    const double n = static_cast<double>(k);
    EXPECT_NEAR(rowNormCertificate(g).ratio, std::sqrt((n + 1) / (2 * n)),
                1e-12);
    EXPECT_NEAR(rowNormFlowBound(g).ratio, std::sqrt((n + 1) / (2 * n)), 1e-12);
  }
}

TEST(Certificate, IsRefusedWhereTheCentringWasLeftOutWrongly) {
  const Tensor wrong = clouds::rounded(clouds::make("offset", 50, 8, 1));
  const Certificate refused = rowNormCertificate(wrong, true);
  EXPECT_TRUE(std::isnan(refused.ratio));
  EXPECT_GT(refused.sums.defect, 0.5);
  // Centred first, the same gradient has one.
  EXPECT_GE(rowNormCertificate(wrong).ratio, std::sqrt(0.5));
  // A head's gradient in FP32 is centred to rounding.
  const Tensor right = clouds::rounded(clouds::make("lm", 80, 8, 1));
  const Certificate given = rowNormCertificate(right, true);
  EXPECT_LT(given.sums.defect, 1e-6);
  EXPECT_EQ(given.ratio, rowNormCertificate(right).ratio);
}

TEST(Certificate, OneRowAloneProvesNothing) {
  // One nonzero row, or a shifted cloud, would give nonsense without centring.
  Tensor g(DType::F32, {5, 3});
  g.f32()[0] = 1;
  expectHonest(g);
  EXPECT_TRUE(std::isnan(rowNormCertificate(g, true).ratio));
}

TEST(Certificate, AnyScaleAndThreads) {
  Tensor g = clouds::make("gauss", 70, 9, 2);
  const Certificate certificate = rowNormCertificate(g);
  const FlowBound flow = rowNormFlowBound(g);
  ThreadPool three(3);
  EXPECT_EQ(rowNormFlowBound(g, &three).upper, flow.upper);
  for (int64_t i = 0; i < g.count(); ++i)
    g.f64()[i] *= 0x1p-600;
  EXPECT_EQ(rowNormCertificate(g).ratio, certificate.ratio);
  EXPECT_EQ(rowNormFlowBound(g).upper, flow.upper * 0x1p-600);
}

TEST(Certificate, NonFiniteHasNone) {
  Tensor g = clouds::make("gauss", 7, 3, 3);
  g.f64()[5] = INFINITY;
  EXPECT_TRUE(std::isnan(rowNormCertificate(g).ratio));
  EXPECT_TRUE(std::isnan(rowNormFlowBound(g).ratio));
  EXPECT_TRUE(std::isnan(columnSums(g).defect));
  EXPECT_TRUE(std::isnan(coveringRadius(g).upper));
  EXPECT_TRUE(std::isnan(dualNorms(g).nuclear));
}

TEST(CoveringRadius, BoundsHoldAndMeet) {
  for (const std::string &kind : clouds::kinds())
    for (int64_t rows : {1, 2, 5, 60}) {
      SCOPED_TRACE(kind + " " + std::to_string(rows));
      const Tensor s = clouds::make(kind, rows, 6, 4);
      const CoveringRadius radius = coveringRadius(s, 1e-3, 20000);
      const double diameter = rowDiameter(s);
      EXPECT_LE(radius.lower, radius.upper);
      EXPECT_GE(radius.lower, radius.upper * (1 - 5e-3));
      // D/2 <= rad <= sqrt(k/(2(k+1))) D, k = min(V - 1, d), of either bound
      // however few steps there are.
      const double k = std::min<double>(rows - 1, 6);
      for (int64_t steps : {0, 1, 20000}) {
        const CoveringRadius early = coveringRadius(s, 1e-3, steps);
        EXPECT_GE(early.lower, diameter / 2) << steps;
        EXPECT_LE(early.lower, early.upper) << steps;
        EXPECT_LE(early.upper,
                  std::sqrt(k / (2 * (k + 1))) * diameter * (1 + 1e-12))
            << steps;
      }
    }
  // A simplex attains Jung's bound.
  const CoveringRadius simplex =
      coveringRadius(clouds::make("simplex", 5, 4, 0), 1e-6);
  EXPECT_NEAR(simplex.upper, std::sqrt(4.0 / 10) * std::sqrt(2.0), 1e-5);
}

// Equal rows have radius 0, wherever they are; and an offset is no part of it.
TEST(CoveringRadius, IsBlindToAnOffset) {
  for (double offset : {0.0, 0.1, 1.0 / 3, 1e8 / 3, 1e30 / 3, -1e300 / 3})
    for (DType type : {DType::F32, DType::F64}) {
      if (type == DType::F32 && std::fabs(offset) > 1e38)
        continue;
      SCOPED_TRACE(offset);
      Tensor s(type, {7, 3});
      auto set = [&](int64_t at, double value) {
        if (type == DType::F32)
          s.f32()[at] = static_cast<float>(value);
        else
          s.f64()[at] = value;
        return type == DType::F32 ? static_cast<double>(s.f32()[at]) : value;
      };
      for (int64_t at = 0; at < 21; ++at)
        set(at, offset);
      const CoveringRadius equal = coveringRadius(s);
      EXPECT_EQ(equal.lower, 0);
      EXPECT_EQ(equal.upper, 0);
      // One row elsewhere: half its distance, of a pair on one axis.
      const double distance =
          std::fabs(set(4, offset + std::max(1.0, std::fabs(offset) / 4)) -
                    set(1, offset));
      const CoveringRadius pair = coveringRadius(s, 1e-3, 20000);
      EXPECT_LE(pair.lower, distance / 2);
      EXPECT_GE(pair.upper, distance / 2);
      EXPECT_GE(pair.lower, distance / 2 * (1 - 5e-3));
      EXPECT_LE(pair.lower, rowDiameter(s));
    }
}

TEST(DualNorms, AreWhatOraclesReach) {
  Tensor g(DType::F64, {3, 2});
  const double values[] = {3, 4, 0, 0, -3, 2};
  std::copy(values, values + 6, g.f64());
  const DualNorms norms = dualNorms(g);
  EXPECT_NEAR(norms.maxRow, 5 + std::sqrt(13.0), 1e-14);
  EXPECT_NEAR(norms.maxColumn, std::sqrt(18.0) + std::sqrt(20.0), 1e-14);
  EXPECT_NEAR(norms.sign, 12, 1e-14);
  EXPECT_NEAR(norms.frobenius, std::sqrt(38.0), 1e-14);
  // Rows minus their mean (0, 2).
  EXPECT_NEAR(norms.commonBall, std::sqrt(13.0) + 2 + 3, 1e-14);
  // Singular values of a 2-column matrix: s1^2 + s2^2 = 38, s1 s2 = sqrt(det).
  const double determinant = 18.0 * 20 - 6.0 * 6;
  EXPECT_NEAR(norms.nuclear, std::sqrt(38 + 2 * std::sqrt(determinant)), 1e-12);
  // Both orientations, and rank one.
  const Tensor thin = clouds::make("collinear", 30, 5, 5);
  const DualNorms flat = dualNorms(thin);
  EXPECT_NEAR(flat.nuclear, flat.frobenius, 1e-9 * flat.frobenius);
  const DualNorms wide = dualNorms(clouds::make("gauss", 4, 40, 6));
  EXPECT_GE(wide.nuclear, wide.frobenius);
  EXPECT_LE(wide.nuclear, 2 * wide.frobenius * (1 + 1e-12));
}
