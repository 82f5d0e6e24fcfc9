//===- ShardDataTest.cpp - batches from token shards ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Files.h"
#include "runtime/Data/Shard.h"
#include "runtime/Train/ShardData.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

namespace {

RunConfig shards(const TemporaryFolder &folder, int64_t trainTokens) {
  std::filesystem::create_directories(folder.path("data"));
  std::vector<uint16_t> tokens(trainTokens);
  for (int64_t i = 0; i < trainTokens; ++i)
    tokens[i] = static_cast<uint16_t>(i * 7 % 61);
  writeShard(folder.path("data/a_train_0.bin"), tokens.data(), trainTokens);
  writeShard(folder.path("data/a_val_0.bin"), tokens.data(), 50);
  RunConfig config = smallRun(folder.path("run"));
  config.data = folder.path("data");
  return config;
}

using Batch = std::vector<int32_t>;

Batch nextOf(TrainingData &data, const RunConfig &config) {
  Batch inputs(config.batchTokens()), targets(config.batchTokens());
  data.next(inputs.data(), targets.data());
  inputs.insert(inputs.end(), targets.begin(), targets.end());
  return inputs;
}

} // namespace

TEST(ShardData, ContinuesWhereItWas) {
  TemporaryFolder folder;
  const RunConfig config = shards(folder, 1000);
  ShardData whole(config), other(config);
  for (int i = 0; i < 25; ++i) // more than an epoch of 20 batches
    nextOf(whole, config);
  other.restore(whole.position());
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(nextOf(whole, config), nextOf(other, config)) << i;
}

TEST(ShardData, Validation) {
  TemporaryFolder folder;
  const RunConfig config = shards(folder, 1000);
  ShardData data(config);
  ASSERT_EQ(data.validationSequences(), 4); // (50 - 1) / 12
  Batch inputs(2 * config.seq), targets(2 * config.seq);
  data.validation(1, 2, inputs.data(), targets.data());
  EXPECT_EQ(inputs[0], 12 * 7 % 61);
  EXPECT_EQ(targets[0], 13 * 7 % 61);
  EXPECT_EQ(targets.back(), 36 * 7 % 61);
}

TEST(ShardData, OtherShardsAreNoticed) {
  TemporaryFolder folder, other;
  const RunConfig config = shards(folder, 1000);
  const std::string position = ShardData(config).position();
  ShardData changed(shards(other, 500));
  EXPECT_EQ(failure([&] { changed.restore(position); }),
            "--data: the saved run had 20 batches an epoch, these shards give "
            "10");
  EXPECT_NE(failure([&] { changed.restore(R"({"epoch": 0})"); }), "");
}

TEST(ShardData, OtherTokensOfTheSameSizeAreNoticed) {
  TemporaryFolder folder;
  const RunConfig config = shards(folder, 1000);
  const std::string position = ShardData(config).position();
  for (const char *kind : {"train", "val"}) {
    const std::string path =
        folder.path("data/a_" + std::string(kind) + "_0.bin");
    const std::string saved = readFile(path);
    for (std::size_t at : {std::size_t(1024), saved.size() - 2}) {
      std::string changed = saved;
      changed[at] ^= 1;
      writeFile(path, changed);
      EXPECT_EQ(failure([&] { ShardData(config).restore(position); }),
                "--data: the " +
                    std::string(kind[0] == 't' ? "training" : "validation") +
                    " shards hold other tokens than those of the saved run");
    }
    writeFile(path, saved);
  }
  ShardData same(config);
  same.restore(position);
  // As older versions wrote it.
  same.restore(R"({"epoch": 0, "shard": 0, "batch": 1, )"
               R"("batches_per_epoch": 20})");
}

TEST(ShardData, IdsOutsideTheVocabularyAreFoundAtOnce) {
  TemporaryFolder folder;
  RunConfig config = shards(folder, 1000);
  std::vector<uint16_t> tokens(60, 3);
  tokens[58] = 61; // in no batch: only four sequences of 12 are read
  writeShard(folder.path("data/b_val_0.bin"), tokens.data(), 60);
  config.sizes.vocab = 61;
  EXPECT_EQ(failure([&] { ShardData data(config); }),
            "'" + folder.path("data/b_val_0.bin") +
                "': token 61 at position 58 is not in the vocabulary of 61");
  config.sizes.vocab = 62;
  ShardData data(config);
}
