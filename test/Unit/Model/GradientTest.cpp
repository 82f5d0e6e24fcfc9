//===- GradientTest.cpp - gradients against finite differences ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ReferenceModel.h"

#include "runtime/Model/Random.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace steep;

namespace {

struct Case {
  ModelConfig config;
  int64_t batch, length;
};

class Gradients : public testing::TestWithParam<Case> {};

} // namespace

// Every element of every parameter, by central differences in float64.
TEST(GradientsOfASmallModel, EveryElement) {
  const ModelConfig config{/*dim=*/8,    /*layers=*/2,  /*heads=*/2,
                           /*vocab=*/11, /*context=*/8, /*headDim=*/4};
  const int64_t batch = 2, length = 5;
  Model model(config);
  drawLargeWeights(model, 5);
  const auto tokens = someTokens(batch * length, config.vocab, 1);
  const auto targets = someTokens(batch * length, config.vocab, 2);
  ReferenceModel reference(model);
  const double loss =
      model.forwardBackward(tokens.data(), targets.data(), batch, length);
  EXPECT_NEAR(loss, reference.loss(tokens, targets, batch, length), 1e-6);
  for (std::size_t p = 0; p < model.specs().size(); ++p) {
    Tensor expected(DType::F32, model.specs()[p].shape);
    for (int64_t i = 0; i < expected.count(); ++i) {
      double &weight = reference.parameters[p][i];
      const double before = weight, step = 1e-5;
      weight = before + step;
      const double up = reference.loss(tokens, targets, batch, length);
      weight = before - step;
      const double down = reference.loss(tokens, targets, batch, length);
      weight = before;
      expected.f32()[i] = float((up - down) / (2 * step));
    }
    EXPECT_LT(relativeDifference(model.gradients()[p], expected), 3e-6)
        << model.specs()[p].name;
  }
}

// Larger and odd shapes: the slope along a direction in each parameter. The
// direction is the gradient's own plus as much noise, so that both a wrong
// size and a wrong direction show.
TEST_P(Gradients, SlopeInEachParameter) {
  const Case &c = GetParam();
  Model model(c.config);
  drawLargeWeights(model, 9);
  const int64_t count = c.batch * c.length;
  const auto tokens = someTokens(count, c.config.vocab, 3);
  const auto targets = someTokens(count, c.config.vocab, 4);
  ReferenceModel reference(model);
  const double loss =
      model.forwardBackward(tokens.data(), targets.data(), c.batch, c.length);
  const double exact = reference.loss(tokens, targets, c.batch, c.length);
  EXPECT_NEAR(loss, exact, 1e-6 * exact);
  EXPECT_NEAR(model.loss(tokens.data(), targets.data(), c.batch, c.length),
              exact, 1e-6 * exact);
  for (std::size_t p = 0; p < model.specs().size(); ++p) {
    const Tensor &gradient = model.gradients()[p];
    const int64_t size = gradient.count();
    const double norm = frobenius(gradient);
    const std::string &name = model.specs()[p].name;
    if (c.length == 1 && (name.find(".q.") != std::string::npos ||
                          name.find(".k.") != std::string::npos)) {
      EXPECT_EQ(norm, 0) << name; // one key: the softmax is 1
      continue;
    }
    std::vector<float> noise(size);
    initialiseNormal(noise.data(), 0, size, normalKey(p, "direction"),
                     1 / std::sqrt(double(size)));
    const std::vector<double> before = reference.parameters[p];
    const double step = 1e-5;
    double slope = 0;
    std::vector<double> direction(size);
    for (int64_t i = 0; i < size; ++i) {
      direction[i] = gradient.f32()[i] / norm + noise[i];
      slope += direction[i] * gradient.f32()[i];
    }
    auto lossAt = [&](double distance) {
      for (int64_t i = 0; i < size; ++i)
        reference.parameters[p][i] = before[i] + distance * direction[i];
      return reference.loss(tokens, targets, c.batch, c.length);
    };
    const double measured = (lossAt(step) - lossAt(-step)) / (2 * step);
    EXPECT_NEAR(slope, measured, 1e-5 * norm) << name;
    reference.parameters[p] = before;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Gradients,
    testing::Values(Case{{64, 1, 1, 97, 200, 64}, 1, 130}, // two tiles and two
                    Case{{128, 1, 2, 50, 65, 64}, 3, 65},
                    Case{{64, 2, 1, 33, 16, 64}, 1, 1},
                    Case{{64, 1, 1, 31, 7, 64}, 5, 1},
                    Case{{36, 1, 6, 19, 70, 6}, 3, 67},
                    Case{{24, 2, 1, 5, 9, 24}, 7, 3}));

// More tokens than a chunk of the head and more ids than a block of it.
TEST(HeadGradient, OfALargeVocabulary) {
  const ModelConfig config{64, 1, 1, 5003, 100, 64};
  const int64_t batch = 3, length = 100, n = batch * length;
  ASSERT_GT(n, Model::headChunk);
  Model model(config);
  drawLargeWeights(model, 11);
  const auto tokens = someTokens(n, config.vocab, 5);
  const auto targets = someTokens(n, config.vocab, 6);
  const double loss =
      model.forwardBackward(tokens.data(), targets.data(), batch, length);
  const Tensor hidden = model.hiddenStates(tokens.data(), batch, length);
  ASSERT_EQ(hidden.shape(), (std::vector<int64_t>{n, config.dim}));

  const float *weight = model.parameters().back().f32();
  const int64_t d = config.dim, vocab = config.vocab;
  std::vector<double> gradient(vocab * d), p(vocab);
  double expectedLoss = 0;
  for (int64_t t = 0; t < n; ++t) {
    const float *h = hidden.f32() + t * d;
    double sum = 0;
    for (int64_t i = 0; i < vocab; ++i) {
      double logit = 0;
      for (int64_t j = 0; j < d; ++j)
        logit += double(weight[i * d + j]) * h[j];
      sum += p[i] = std::exp(logit);
    }
    expectedLoss -= std::log(p[targets[t]] / sum) / double(n);
    for (int64_t i = 0; i < vocab; ++i) {
      const double r = (p[i] / sum - (i == targets[t])) / double(n);
      for (int64_t j = 0; j < d; ++j)
        gradient[i * d + j] += r * h[j];
    }
  }
  EXPECT_NEAR(loss, expectedLoss, 1e-7 * expectedLoss);
  Tensor expected(DType::F32, {vocab, d});
  std::copy(gradient.begin(), gradient.end(), expected.f32());
  EXPECT_LT(relativeDifference(model.gradients().back(), expected), 1e-6);
}

// 1^T G = 0: what RowNorm's projection relies on (geometry.md: every logit
// gradient sums to zero).
TEST(HeadGradient, HasZeroColumnSums) {
  const ModelConfig config{64, 1, 1, 5003, 100, 64};
  const int64_t batch = 3, length = 100;
  Model model(config);
  model.initialise(1);
  const auto tokens = someTokens(batch * length, config.vocab, 7);
  const auto targets = someTokens(batch * length, config.vocab, 8);
  model.forwardBackward(tokens.data(), targets.data(), batch, length);
  const Tensor &gradient = model.gradients().back();
  double squares = 0;
  for (int64_t j = 0; j < config.dim; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < config.vocab; ++i)
      sum += gradient.f32()[i * config.dim + j];
    squares += sum * sum;
  }
  EXPECT_LT(std::sqrt(squares), 1e-6 * frobenius(gradient));
}
