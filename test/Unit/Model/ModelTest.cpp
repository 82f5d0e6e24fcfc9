//===- ModelTest.cpp - configuration, determinism, accumulation -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ReferenceModel.h"

#include "runtime/Core/Error.h"
#include "runtime/Model/Kernels/Kernels.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace steep;

static const ModelConfig smallConfig{64, 2, 1, 257, 48, 64};

/// The message of the Error that `body` throws.
template <typename Body> static std::string errorOf(const Body &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(ModelConfig, PaperSizes) {
  ModelConfig config{512, 32, 8, 50257, 2048};
  config.validate();
  EXPECT_EQ(parameterCount(config), 185680896);
  EXPECT_EQ(parameterCount({768, 32, 12, 50257, 2048}), 379184640);
  EXPECT_EQ(parameterCount({1024, 32, 16, 50257, 2048}), 639797248);
  EXPECT_DOUBLE_EQ(trainingFlopsPerToken({512, 4, 8, 50257, 512}, 512),
                   6.0 * (4 * 16 * 512 * 512 + 50257 * 512) +
                       6.0 * 4 * 512 * 512);
}

TEST(ModelConfig, NamesAndShapes) {
  const auto specs = parameterSpecs({128, 2, 2, 257, 16});
  ASSERT_EQ(specs.size(), 16u);
  EXPECT_EQ(specs[0].name, "embed.weight");
  EXPECT_EQ(specs[1].name, "blocks.0.attn.q.weight");
  EXPECT_EQ(specs[4].name, "blocks.0.attn.out.weight");
  EXPECT_EQ(specs[5].name, "blocks.0.mlp.gate.weight");
  EXPECT_EQ(specs[5].shape, (std::vector<int64_t>{512, 128}));
  EXPECT_EQ(specs[14].name, "blocks.1.mlp.down.weight");
  EXPECT_EQ(specs[14].shape, (std::vector<int64_t>{128, 512}));
  EXPECT_EQ(specs[15].name, "lm_head.weight");
  EXPECT_EQ(specs[15].shape, (std::vector<int64_t>{257, 128}));
}

TEST(ModelConfig, BadSizesAreErrors) {
  auto message = [](ModelConfig config) {
    return errorOf([&] { config.validate(); });
  };
  EXPECT_EQ(message({0, 1, 1, 10, 10, 64}),
            "model: dim is 0, expected 1 to 1048576");
  EXPECT_EQ(message({64, -1, 1, 10, 10, 64}),
            "model: layers is -1, expected 1 to 4096");
  EXPECT_EQ(message({64, 1, 0, 10, 10, 64}),
            "model: heads is 0, expected 1 to 1048576");
  EXPECT_EQ(message({64, 1, 1, 0, 10, 64}),
            "model: vocabulary is 0, expected 1 to 1073741824");
  EXPECT_EQ(message({64, 1, 1, 10, 0, 64}),
            "model: context is 0, expected 1 to 1048576");
  EXPECT_EQ(message({65, 1, 1, 10, 10, 65}),
            "model: head dimension is 65, expected an even number (RoPE turns "
            "pairs)");
  EXPECT_EQ(message({96, 1, 1, 10, 10, 64}),
            "model: 1 heads of dimension 64 make 64, but dim is 96");
  EXPECT_NE(errorOf([] { Model model({96, 1, 1, 10, 10, 64}); }), "no error");
  EXPECT_EQ(errorOf([] { Model model(smallConfig, -2); }),
            "model: -2 threads asked for, expected 1 to 1024, or 0 for "
            "OpenMP's number");
}

TEST(Model, BadBatchesAreErrors) {
  Model model(smallConfig);
  std::vector<int32_t> ids(96, 1), targets(96, 1);
  auto message = [&](int64_t batch, int64_t length) {
    return errorOf([&] {
      model.forwardBackward(ids.data(), targets.data(), batch, length);
    });
  };
  EXPECT_EQ(message(2, 49), "model: a sequence has 49 tokens, expected 1 to 48 "
                            "(the context)");
  EXPECT_EQ(message(2, 0),
            "model: a sequence has 0 tokens, expected 1 to 48 (the context)");
  EXPECT_NE(message(0, 48).find("a batch has 0 sequences"), std::string::npos);
  ids[50] = 257;
  EXPECT_EQ(message(2, 48),
            "model: token 2 of sequence 1 is 257, expected 0 to 256");
  EXPECT_EQ(errorOf([&] { model.hiddenStates(ids.data(), 2, 48); }),
            "model: token 2 of sequence 1 is 257, expected 0 to 256");
  ids[50] = 0;
  targets[0] = -1;
  EXPECT_EQ(message(2, 48),
            "model: target 0 of sequence 0 is -1, expected 0 to 256");
  EXPECT_EQ(errorOf([&] { model.loss(ids.data(), targets.data(), 2, 48); }),
            "model: target 0 of sequence 0 is -1, expected 0 to 256");
  EXPECT_EQ(errorOf([&] { model.parameterIndex("head"); }),
            "model: there is no parameter named 'head'");
  EXPECT_EQ(model.parameterIndex("lm_head.weight"), 15u);
}

static bool sameBits(const Tensor &a, const Tensor &b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST(Model, InitialWeightsDependOnTheSeedAlone) {
  Model one(smallConfig, 1), two(smallConfig, 2), other(smallConfig);
  one.initialise(42);
  two.initialise(42);
  other.initialise(43);
  for (std::size_t i = 0; i < one.specs().size(); ++i) {
    EXPECT_TRUE(sameBits(one.parameters()[i], two.parameters()[i]));
    EXPECT_FALSE(sameBits(one.parameters()[i], other.parameters()[i]));
    const double root = std::sqrt(double(one.parameters()[i].count()));
    EXPECT_NEAR(frobenius(one.parameters()[i]) / root, 0.02, 0.02 * 3 / root);
  }
}

TEST(Model, SameThreadsGiveTheSameBits) {
  const int64_t batch = 2, length = 48;
  const auto tokens = someTokens(batch * length, 257, 1);
  const auto targets = someTokens(batch * length, 257, 2);
  for (int threads : {1, 2, 3}) {
    Model first(smallConfig, threads), second(smallConfig, threads);
    EXPECT_EQ(first.threads(), threads);
    first.initialise(1);
    second.initialise(1);
    // Another batch in between: its buffers' content must not matter.
    second.forwardBackward(targets.data(), tokens.data(), 3, 32);
    const double a =
        first.forwardBackward(tokens.data(), targets.data(), batch, length);
    const double b =
        second.forwardBackward(tokens.data(), targets.data(), batch, length);
    EXPECT_EQ(a, b);
    for (std::size_t i = 0; i < first.specs().size(); ++i)
      EXPECT_TRUE(sameBits(first.gradients()[i], second.gradients()[i]))
          << first.specs()[i].name;
  }
}

TEST(Model, MicroBatchesMakeABatch) {
  const int64_t batch = 4, length = 33, half = batch / 2 * length;
  const auto tokens = someTokens(batch * length, 257, 1);
  const auto targets = someTokens(batch * length, 257, 2);
  Model whole(smallConfig), parts(smallConfig);
  drawLargeWeights(whole, 3);
  drawLargeWeights(parts, 3);
  const double loss =
      whole.forwardBackward(tokens.data(), targets.data(), batch, length);
  // The first micro-batch overwrites what was there before.
  parts.forwardBackward(targets.data(), tokens.data(), batch, length);
  const double a = parts.forwardBackward(tokens.data(), targets.data(), 2,
                                         length, 0.5, false);
  const double b = parts.forwardBackward(
      tokens.data() + half, targets.data() + half, 2, length, 0.5, true);
  EXPECT_NEAR((a + b) / 2, loss, 1e-7 * loss);
  for (std::size_t i = 0; i < whole.specs().size(); ++i)
    EXPECT_LT(relativeDifference(parts.gradients()[i], whole.gradients()[i]),
              2e-6)
        << whole.specs()[i].name;
}

TEST(Model, RowsOfUnusedTokensHaveNoGradient) {
  const std::vector<int32_t> tokens = {3, 3, 200, 3}, targets = {1, 2, 3, 4};
  Model model(smallConfig);
  model.initialise(1);
  model.forwardBackward(targets.data(), tokens.data(), 1, 4);
  model.forwardBackward(tokens.data(), targets.data(), 1, 4);
  const float *gradient = model.gradients().front().f32();
  for (int64_t row = 0; row < 257; ++row) {
    bool zero = true;
    for (int64_t i = 0; i < 64; ++i)
      zero &= gradient[row * 64 + i] == 0;
    EXPECT_EQ(zero, row != 3 && row != 200) << row;
  }
}

TEST(Model, LaterTokensDoNotReachEarlierStates) {
  auto tokens = someTokens(48, 257, 1);
  Model model(smallConfig);
  drawLargeWeights(model, 4);
  const Tensor before = model.hiddenStates(tokens.data(), 1, 48);
  tokens[40] = (tokens[40] + 1) % 257;
  const Tensor after = model.hiddenStates(tokens.data(), 1, 48);
  EXPECT_EQ(std::memcmp(before.f32(), after.f32(), 40 * 64 * sizeof(float)), 0);
  for (int64_t position = 40; position < 48; ++position)
    EXPECT_NE(std::memcmp(before.f32() + position * 64,
                          after.f32() + position * 64, 64 * sizeof(float)),
              0);
}

// 60 sequences of 40 are more than one group of an evaluation.
TEST(Model, EvaluationInGroups) {
  const int64_t batch = 60, length = 40;
  const auto tokens = someTokens(batch * length, 257, 1);
  const auto targets = someTokens(batch * length, 257, 2);
  Model model(smallConfig);
  drawLargeWeights(model, 4);
  const double loss = model.loss(tokens.data(), targets.data(), batch, length);
  EXPECT_NEAR(
      loss, model.forwardBackward(tokens.data(), targets.data(), batch, length),
      1e-7 * loss);
  const Tensor states = model.hiddenStates(tokens.data(), batch, length);
  const ReferenceModel reference(model);
  const auto expected = reference.hidden(&tokens[59 * length], length);
  for (int64_t i = 0; i < length * 64; ++i)
    EXPECT_NEAR(states.f32()[59 * length * 64 + i], expected[i], 1e-4);
}

TEST(Model, ANanIsReported) {
  Model model(smallConfig);
  model.initialise(1);
  model.parameters()[5].f32()[0] = NAN;
  const std::vector<int32_t> tokens = {1, 2, 3}, targets = {2, 3, 4};
  EXPECT_TRUE(
      std::isnan(model.forwardBackward(tokens.data(), targets.data(), 1, 3)));
}
