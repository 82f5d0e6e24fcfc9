//===- TrajectoryTest.cpp - against recorded float64 trainings ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ReferenceModel.h"

#include "runtime/Core/Safetensors.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace steep;

namespace {

class Trajectory : public testing::TestWithParam<const char *> {
protected:
  Trajectory()
      : file(SafetensorsFile::open(std::string(STEEP_TEST_DATA "/") +
                                   GetParam())) {
    config.dim = number("dim");
    config.layers = number("layers");
    config.vocab = number("vocab");
    config.headDim = number("head_dim");
    config.heads = config.dim / config.headDim;
    config.context = number("length");
    batch = number("batch");
  }
  int64_t number(const char *key) const {
    return std::stoll(file.metadataAt(key));
  }
  /// Both ids of the first step.
  const int32_t *tokens() {
    ids = file.load("tokens");
    return ids.i32();
  }
  void takeWeights(Model &model, const std::string &prefix) const {
    for (std::size_t i = 0; i < model.specs().size(); ++i) {
      const Tensor from = file.load(prefix + model.specs()[i].name);
      ASSERT_EQ(from.shape(), model.specs()[i].shape);
      std::copy_n(from.f32(), from.count(), model.parameters()[i].f32());
    }
  }

  SafetensorsFile file;
  ModelConfig config;
  int64_t batch;
  Tensor ids;
};

} // namespace

TEST_P(Trajectory, FirstLossAndGradients) {
  Model model(config);
  takeWeights(model, "init.");
  const int32_t *inputs = tokens();
  const int32_t *targets = inputs + batch * config.context;
  const double loss =
      model.forwardBackward(inputs, targets, batch, config.context);
  const double expected = file.load("loss").f64()[0];
  EXPECT_NEAR(loss, expected, 1e-7 * expected);
  EXPECT_EQ(loss, model.loss(inputs, targets, batch, config.context));

  double squares = 0;
  for (std::size_t i = 0; i < model.specs().size(); ++i) {
    const std::string &name = model.specs()[i].name;
    EXPECT_LT(
        relativeDifference(model.gradients()[i], file.load("grad0." + name)),
        2e-6)
        << name;
    squares += std::pow(frobenius(model.gradients()[i]), 2);
  }
  const double norm = file.load("grad_norm").f64()[0];
  EXPECT_NEAR(std::sqrt(squares), norm, 1e-6 * norm);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Trajectory,
                         testing::Values("train_adamw_d64_l2.safetensors",
                                         "train_rownorm_d128_l1.safetensors"));
