//===- DataLoaderTest.cpp - tests of runtime/Data/DataLoader --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Data/DataLoader.h"

#include "test/Unit/Core/TestSupport.h"

#include <numeric>
#include <set>

using namespace steep;
using steep::test::TemporaryFolder;
using Order = std::vector<int64_t>;

/// Fixes the generator that DataLoader.h describes; the numbers come from a
/// separate implementation of that text, in Python.
TEST(Shuffle, IsTheDocumentedOne) {
  EXPECT_EQ(shuffled(10, 1, 0, 0), (Order{5, 2, 1, 0, 7, 9, 4, 6, 3, 8}));
  EXPECT_EQ(shuffled(10, 1, 1, 0), (Order{1, 0, 5, 6, 2, 3, 4, 9, 8, 7}));
  EXPECT_EQ(shuffled(10, 1, 0, 1), (Order{9, 8, 1, 6, 3, 4, 7, 0, 2, 5}));
  EXPECT_EQ(shuffled(10, 2, 0, 0), (Order{4, 6, 2, 8, 1, 7, 9, 3, 0, 5}));
  EXPECT_EQ(shuffled(10, 1, 0, ~uint64_t(0)),
            (Order{3, 0, 6, 2, 4, 1, 9, 7, 5, 8}));
  EXPECT_EQ(shuffled(3, ~uint64_t(0), 5, 7), (Order{1, 0, 2}));
  EXPECT_EQ(shuffled(1, 1, 0, 0), (Order{0}));
  EXPECT_EQ(shuffled(0, 1, 0, 0), (Order{}));
}

TEST(Shuffle, ReachesEveryOrder) {
  std::set<Order> seen;
  for (uint64_t epoch = 0; epoch < 600; ++epoch)
    seen.insert(shuffled(4, 3, epoch, 0));
  EXPECT_EQ(seen.size(), 24u);
}

namespace {
/// Shards of 10, 3 and 24 tokens that count on: 0 .. 9, 100 .. 102, 200 .. 223.
class Loader : public ::testing::Test {
protected:
  Loader() {
    int64_t sizes[] = {10, 3, 24};
    for (int i = 0; i < 3; ++i) {
      std::vector<uint16_t> tokens(static_cast<std::size_t>(sizes[i]));
      std::iota(tokens.begin(), tokens.end(), static_cast<uint16_t>(100 * i));
      std::string path = folder / ("x_train_" + std::to_string(i) + ".bin");
      writeShard(path, tokens.data(), sizes[i]);
      options.shards.push_back(path);
    }
    options.batch = 2;
    options.length = 2;
    options.seed = 5;
  }

  /// Sequences of two tokens, two a batch: the four inputs.
  std::vector<int32_t> next(DataLoader &loader) {
    std::vector<int32_t> inputs(4), targets(4);
    loader.next(inputs.data(), targets.data());
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(targets[static_cast<std::size_t>(i)],
                inputs[static_cast<std::size_t>(i)] + 1);
    return inputs;
  }

  TemporaryFolder folder;
  DataLoader::Options options;
};
} // namespace

TEST_F(Loader, GivesEveryBatchOnceAnEpoch) {
  // 10 tokens: 4 sequences, 2 batches. 3 tokens: 1 sequence, no batch.
  // 24 tokens: 11 sequences, 5 batches, the last sequence unused.
  DataLoader loader(options);
  ASSERT_EQ(loader.batchesPerEpoch(), 7);
  std::set<int32_t> expected = {0, 4, 200, 204, 208, 212, 216};
  std::set<std::vector<int32_t>> orders;
  for (int epoch = 0; epoch < 4; ++epoch) {
    std::vector<int32_t> firsts;
    for (int i = 0; i < 7; ++i) {
      std::vector<int32_t> batch = next(loader);
      EXPECT_EQ(batch[3], batch[0] + 3); // two sequences that follow
      firsts.push_back(batch[0]);
      EXPECT_EQ(loader.position().epoch, epoch);
    }
    EXPECT_EQ(std::set<int32_t>(firsts.begin(), firsts.end()), expected);
    // Shards are not mixed.
    int changes = 0;
    for (std::size_t i = 1; i < 7; ++i)
      changes += (firsts[i] < 100) != (firsts[i - 1] < 100);
    EXPECT_EQ(changes, 1);
    orders.insert(firsts);
  }
  EXPECT_GT(orders.size(), 2u);
}

TEST_F(Loader, FollowsTheDocumentedOrder) {
  DataLoader loader(options);
  for (uint64_t epoch = 0; epoch < 3; ++epoch)
    for (int64_t shard : shuffled(3, 5, epoch, ~uint64_t(0))) {
      int64_t batches[] = {2, 0, 5};
      for (int64_t batch :
           shuffled(batches[shard], 5, epoch, static_cast<uint64_t>(shard)))
        EXPECT_EQ(next(loader)[0], 100 * shard + 4 * batch);
    }
}

TEST_F(Loader, ContinuesWhereItWas) {
  DataLoader loader(options);
  for (int i = 0; i < 25; ++i) {
    DataLoader::Position position = loader.position();
    DataLoader other(options);
    other.seek(position);
    EXPECT_EQ(other.position().batch, position.batch);
    std::vector<int32_t> expected = next(loader);
    EXPECT_EQ(next(other), expected);
    EXPECT_EQ(next(other).size(), 4u);
  }
}

TEST_F(Loader, RefusesPlacesThatAreNotThere) {
  DataLoader loader(options);
  for (DataLoader::Position position : {DataLoader::Position{-1, 0, 0},
                                        {0, 3, 0},
                                        {0, -1, 0},
                                        {0, 0, -1},
                                        {0, 0, 6}})
    EXPECT_ERROR(loader.seek(position), "the data has no place epoch");
  EXPECT_EQ(loader.position().epoch, 0);
}

TEST_F(Loader, RefusesSizesThatDoNotFit) {
  auto refuse = [&](int64_t batch, int64_t length, const char *message) {
    DataLoader::Options other = options;
    other.batch = batch;
    other.length = length;
    EXPECT_ERROR(DataLoader{other}, message);
  };
  refuse(0, 2, "batches of 0 sequences of 2 tokens are not possible");
  refuse(2, -1, "batches of 2 sequences of -1 tokens");
  refuse(INT64_MAX, INT64_MAX, "are not possible");
  refuse(2, 12,
         "a batch of 2 sequences of 12 tokens needs a shard of 25 tokens, but "
         "the largest of 3 has 24");
  DataLoader::Options none;
  EXPECT_ERROR(DataLoader{none}, "the largest of 0 has 0");
}

TEST_F(Loader, NamesATokenOutsideTheVocabulary) {
  options.vocabulary = 200;
  DataLoader loader(options);
  auto epoch = [&] {
    std::vector<int32_t> inputs(4), targets(4);
    for (int i = 0; i < 7; ++i)
      loader.next(inputs.data(), targets.data());
  };
  EXPECT_ERROR(epoch(), "is not in the vocabulary of 200");
}

TEST_F(Loader, ValidationIsAFixedPrefix) {
  ValidationData data(options.shards, 3, 300);
  ASSERT_EQ(data.sequences(), 3 + 0 + 7);
  std::vector<int32_t> inputs(12), targets(12);
  data.read(1, 4, inputs.data(), targets.data());
  EXPECT_EQ(inputs, (std::vector<int32_t>{3, 4, 5, 6, 7, 8, 200, 201, 202, 203,
                                          204, 205}));
  EXPECT_EQ(targets[5], 9);
  EXPECT_EQ(targets[11], 206);
  EXPECT_ERROR(data.read(7, 4, inputs.data(), targets.data()),
               "4 validation sequences from 7 on are wanted, but there are 10");
  EXPECT_ERROR(ValidationData(options.shards, 24),
               "a validation sequence of 24 tokens needs a shard of 25 tokens");
  EXPECT_ERROR(ValidationData(options.shards, 0), "are not possible");
}
