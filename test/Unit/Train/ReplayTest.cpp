//===- ReplayTest.cpp - recorded trajectories -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Error.h"
#include "runtime/Train/Replay.h"

#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

namespace {

std::string recorded(const char *name) {
  return std::string(STEEP_REPLAY_DATA "/") + name + ".safetensors";
}

void expectWithin(const ReplayResult &result) {
  auto values = [](const char *what, const std::vector<double> &list,
                   double bound) {
    EXPECT_EQ(list.size(), 8u);
    for (double x : list)
      EXPECT_LE(x, bound) << what;
  };
  values("loss", result.loss, 1e-6);
  values("grad_norm", result.gradNorm, 1e-5);
  values("lr_scale", result.lrScale, 1e-12);
  values("head_diameter", result.headDiameter, 1e-5);
  values("hilbert_rms", result.hilbertRms, 1e-5);
  for (const auto &[name, x] : result.grad0)
    EXPECT_LE(x, 1e-5) << "grad0." << name;
  for (const auto &[name, x] : result.final)
    EXPECT_LE(x, 1e-4) << "final." << name;
}

/// All tensors and metadata of a replay file, to be changed and written.
struct Content {
  explicit Content(const std::string &path) {
    const SafetensorsFile file = SafetensorsFile::open(path);
    for (const auto &[name, entry] : file.entries())
      tensors.emplace_back(name, file.load(name));
    metadata = file.metadata();
  }
  Tensor &at(const std::string &name) {
    for (auto &[own, tensor] : tensors)
      if (own == name)
        return tensor;
    throw std::out_of_range(name);
  }
  void remove(const std::string &name) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].first == name) {
        tensors.erase(tensors.begin() + i);
        return;
      }
  }
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};

} // namespace

TEST(Replay, AdamWHead) {
  const Replay replay(recorded("train_adamw_d64_l2"));
  EXPECT_EQ(replay.head(), "adamw");
  ReferenceOptimizer optimizer(replay.sizes(), "adamw");
  const ReplayResult result = replay.run(optimizer, 1);
  expectWithin(result);
  EXPECT_EQ(result.grad0.size(), 16u);
  EXPECT_LE(result.largest(), 1e-4);
}

TEST(Replay, RowNormHead) {
  const Replay replay(recorded("train_rownorm_d128_l1"));
  EXPECT_EQ(replay.head(), "rownorm");
  ReferenceOptimizer optimizer(replay.sizes(), "rownorm");
  expectWithin(replay.run(optimizer, 1));
}

TEST(Replay, SeesAnotherRecipe) {
  const Replay replay(recorded("train_adamw_d64_l2"));
  ReferenceOptimizer optimizer(replay.sizes(), "adamw");
  optimizer.content.groups[2].wd = 0;
  const ReplayResult result = replay.run(optimizer, 1);
  EXPECT_LE(result.loss[1], 1e-6); // the first update has learning rate 0
  EXPECT_GT(result.largest(), 1e-4);
}

TEST(Replay, ANonFiniteWeightIsReported) {
  TemporaryFolder folder;
  const std::string path = folder.path("replay.safetensors");
  Content content(recorded("train_adamw_d64_l2"));
  content.at("init.blocks.0.mlp.down.weight").f32()[5] =
      std::numeric_limits<float>::infinity();
  writeSafetensors(path, content.tensors, content.metadata);
  const Replay replay(path);
  ReferenceOptimizer optimizer(replay.sizes(), "adamw");
  const std::string text = failure([&] { replay.run(optimizer, 1); });
  EXPECT_EQ(text.rfind(quote(path) + ": step 0: the gradient of ", 0), 0u)
      << text;
}

TEST(Replay, BadFiles) {
  TemporaryFolder folder;
  const std::string path = folder.path("replay.safetensors");
  auto refusal = [&](const std::function<void(Content &)> &change) {
    Content content(recorded("train_adamw_d64_l2"));
    change(content);
    writeSafetensors(path, content.tensors, content.metadata);
    const std::string text = failure([&] { Replay replay(path); });
    EXPECT_EQ(text.rfind(quote(path) + ": ", 0), 0u) << text;
    return text.substr(std::min(text.size(), path.size() + 4));
  };
  EXPECT_EQ(refusal([](Content &c) { c.metadata["dim"] = "64x"; }),
            "the metadata 'dim' is '64x', expected an integer >= 1");
  EXPECT_EQ(refusal([](Content &c) { c.metadata["clip"] = "nan"; }),
            "the metadata 'clip' is 'nan', expected a finite number >= 0");
  EXPECT_EQ(refusal([](Content &c) { c.metadata["head"] = "sgd"; }),
            "the metadata 'head' is 'sgd', expected rownorm or adamw");
  EXPECT_EQ(refusal([](Content &c) { c.metadata["warmup"] = "9"; }),
            "the metadata 'warmup' is 9, expected at most 'steps', 8");
  EXPECT_EQ(refusal([](Content &c) { c.metadata["steps"] = "7"; }),
            "'tokens' is I32 [8, 2, 2, 16], expected I32 [7, 2, 2, 16]");
  EXPECT_EQ(refusal([](Content &c) { c.remove("tokens"); }),
            "expected a tensor 'tokens' of shape [steps, 2, batch, length]");
  EXPECT_EQ(refusal([](Content &c) { c.remove("panel"); }),
            "expected a tensor 'panel' of shape [sequences, length]");
  EXPECT_EQ(refusal([](Content &c) { c.remove("final.embed.weight"); }),
            "the tensor 'final.embed.weight' is missing");
  EXPECT_EQ(refusal([](Content &c) { c.at("loss") = Tensor(DType::F32, {8}); }),
            "'loss' is F32 [8], expected F64 [8]");
  EXPECT_EQ(refusal([](Content &c) {
              c.at("init.embed.weight") = Tensor(DType::F32, {64, 257});
            }),
            "'init.embed.weight' is F32 [64, 257], expected F32 [257, 64]");
}
