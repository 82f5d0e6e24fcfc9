//===- StepQualityTest.cpp - a step against the exact oracle --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/StepQuality.h"
#include "runtime/Core/Error.h"
#include "runtime/Geometry/Oracle.h"
#include "test/Unit/Geometry/Clouds.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace steep;

TEST(StepQuality, OfTheExactStepAndOthers) {
  const Tensor g = clouds::make("lm", 90, 12, 1);
  OracleOptions options;
  options.eta = 1e-3;
  const Tensor best = solveRowDiameter(g, options).update;
  const StepQuality exact = stepQuality(g, best);
  ASSERT_TRUE(exact.gap.has_value());
  EXPECT_LE(*exact.gap, 2e-6);
  EXPECT_GE(*exact.gap, -1e-12);
  // The gradient's own direction is far from steepest here; the zero step is
  // worth nothing, and its gap is of no diameter.
  Tensor plain(DType::F32, g.shape());
  for (int64_t i = 0; i < g.count(); ++i)
    plain.f32()[i] = static_cast<float>(-g.f64()[i]);
  EXPECT_GT(*stepQuality(g, plain).gap, 0.5);
  EXPECT_EQ(*stepQuality(g, Tensor(DType::F32, g.shape())).gap, 0);
  // Uphill: worse than nothing.
  for (int64_t i = 0; i < g.count(); ++i)
    plain.f32()[i] = -best.f32()[i];
  EXPECT_NEAR(*stepQuality(g, plain).gap, 2, 1e-5);
}

TEST(StepQuality, LargeSizesHaveNoGap) {
  const Tensor g(DType::F32, {5000, 2}), s(DType::F32, {5000, 2});
  EXPECT_FALSE(stepQuality(g, s).gap.has_value());
  EXPECT_THROW(stepQuality(g, Tensor(DType::F32, {5000, 3})), Error);
  EXPECT_THROW(firstOrderDecrease(g, Tensor(DType::F32, {4, 2})), Error);
}

TEST(StepQuality, FirstOrderDecrease) {
  Tensor g(DType::F32, {2, 2}), s(DType::F32, {2, 2});
  for (int i = 0; i < 4; ++i) {
    g.f32()[i] = static_cast<float>(i + 1);
    s.f32()[i] = static_cast<float>(i % 2 ? -2 : 1);
  }
  EXPECT_EQ(firstOrderDecrease(g, s), 8);
}
