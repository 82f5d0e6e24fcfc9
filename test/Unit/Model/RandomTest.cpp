//===- RandomTest.cpp - the generator of initial weights ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace steep;

// The values come from Python, written from the description in Random.h.
TEST(Random, IsTheDocumentedGenerator) {
  const uint64_t key = normalKey(1234, "embed.weight");
  EXPECT_EQ(key, 0x21cf8dd1edc496dbu);
  std::vector<float> x(6);
  initialiseNormal(x.data(), 0, 6, key, 0.02);
  const std::vector<float> expected = {0x1.571874p-6f, 0x1.73d9f2p-7f,
                                       0x1.692db8p-9f, 0x1.57f0bcp-6f,
                                       0x1.06a33cp-8f, 0x1.d986f4p-8f};
  EXPECT_EQ(x, expected);
}

TEST(Random, PiecesMakeTheWhole) {
  const uint64_t key = normalKey(7, "lm_head.weight");
  std::vector<float> whole(101), pieces(101);
  initialiseNormal(whole.data(), 0, 101, key, 1);
  initialiseNormal(&pieces[0], 0, 40, key, 1);
  initialiseNormal(&pieces[40], 40, 101, key, 1);
  EXPECT_EQ(whole, pieces);
}

TEST(Random, SeedsAndNamesDiffer) {
  EXPECT_NE(normalKey(1, "a"), normalKey(2, "a"));
  EXPECT_NE(normalKey(1, "a"), normalKey(1, "b"));
}

TEST(Random, HasTheMomentsOfANormal) {
  std::vector<float> x(20000);
  initialiseNormal(x.data(), 0, 20000, normalKey(3, "x"), 1);
  double sum = 0, squares = 0, fourth = 0;
  for (float value : x) {
    sum += value;
    squares += double(value) * value;
    fourth += std::pow(double(value), 4);
  }
  // Four standard deviations of each moment's mean.
  const double root = std::sqrt(20000.0);
  EXPECT_NEAR(sum / 20000, 0, 4 / root);
  EXPECT_NEAR(squares / 20000, 1, 4 * std::sqrt(2.0) / root);
  EXPECT_NEAR(fourth / 20000, 3, 4 * std::sqrt(96.0) / root);
}
