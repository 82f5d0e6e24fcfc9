//===- DataLoader.cpp - batches of token sequences ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Data/DataLoader.h"

#include "runtime/Core/Error.h"

#include <numeric>
#include <utility>

namespace steep {

//===----------------------------------------------------------------------===//
// Shuffling
//===----------------------------------------------------------------------===//

static constexpr uint64_t golden = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint64_t epoch,
                              uint64_t shard) {
  uint64_t key = mix(mix(mix(seed + golden) + epoch + golden) + shard + golden);
  std::vector<int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), int64_t(0));
  uint64_t drawn = 0;
  for (std::size_t k = order.size(); k-- > 1;) {
    uint64_t bits = mix(key + ++drawn * golden);
    auto other = static_cast<std::size_t>(
        (static_cast<unsigned __int128>(bits) * (k + 1)) >> 64);
    std::swap(order[k], order[other]);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

static void checkSizes(int64_t batch, int64_t length, int64_t vocabulary) {
  constexpr int64_t most = int64_t(1) << 31;
  if (batch < 1 || length < 1 || batch > most / length)
    fail(
        "batches of {} sequences of {} tokens are not possible: from 1 to 2^31 "
        "tokens a batch are expected",
        batch, length);
  if (vocabulary < 1 || vocabulary > 65536)
    fail("a vocabulary of {} is not possible: 1 to 65536 are expected",
         vocabulary);
}

/// Sequences first .. first + count - 1 of a shard.
static void readSequences(const TokenShard &shard, int64_t first, int64_t count,
                          int64_t length, int64_t vocabulary, int32_t *inputs,
                          int32_t *targets) {
  std::vector<uint16_t> tokens =
      shard.read(first * length, count * length + 1, vocabulary);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    inputs[i] = tokens[i];
    targets[i] = tokens[i + 1];
  }
}

//===----------------------------------------------------------------------===//
// DataLoader
//===----------------------------------------------------------------------===//

/// Takes the place of a shard's number for the order of the shards themselves.
static constexpr uint64_t allShards = ~uint64_t(0);

DataLoader::DataLoader(Options given) : options(std::move(given)) {
  checkSizes(options.batch, options.length, options.vocabulary);
  for (const std::string &path : options.shards)
    files.push_back(TokenShard::open(path));
  int64_t most = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    total += batchesIn(static_cast<int64_t>(i));
    most = std::max(most, files[i].count());
  }
  if (total == 0)
    fail("a batch of {} sequences of {} tokens needs a shard of {} tokens, but "
         "the largest of {} has {}",
         options.batch, options.length, options.batch * options.length + 1,
         files.size(), most);
  enterEpoch();
}

int64_t DataLoader::batchesIn(int64_t shard) const {
  return files[static_cast<std::size_t>(shard)].sequences(options.length) /
         options.batch;
}

void DataLoader::enterEpoch() {
  shardOrder = shuffled(static_cast<int64_t>(files.size()), options.seed,
                        static_cast<uint64_t>(place.epoch), allShards);
  enterShard();
}

/// Orders the batches of the shard at the place.
void DataLoader::enterShard() {
  int64_t shard = shardOrder[static_cast<std::size_t>(place.shard)];
  batchOrder = shuffled(batchesIn(shard), options.seed,
                        static_cast<uint64_t>(place.epoch),
                        static_cast<uint64_t>(shard));
}

void DataLoader::next(int32_t *inputs, int32_t *targets) {
  while (place.batch >= static_cast<int64_t>(batchOrder.size())) {
    place.batch = 0;
    if (++place.shard < static_cast<int64_t>(files.size())) {
      enterShard();
      continue;
    }
    place.shard = 0;
    ++place.epoch;
    enterEpoch();
  }
  int64_t shard = shardOrder[static_cast<std::size_t>(place.shard)];
  int64_t batch = batchOrder[static_cast<std::size_t>(place.batch)];
  readSequences(files[static_cast<std::size_t>(shard)], batch * options.batch,
                options.batch, options.length, options.vocabulary, inputs,
                targets);
  ++place.batch;
}

void DataLoader::seek(const Position &position) {
  bool possible = position.epoch >= 0 && position.shard >= 0 &&
                  position.batch >= 0 &&
                  position.shard < static_cast<int64_t>(files.size());
  if (possible) {
    std::vector<int64_t> order =
        shuffled(static_cast<int64_t>(files.size()), options.seed,
                 static_cast<uint64_t>(position.epoch), allShards);
    possible = position.batch <=
               batchesIn(order[static_cast<std::size_t>(position.shard)]);
  }
  if (!possible)
    fail("the data has no place epoch {}, shard {}, batch {}: it differs from "
         "what the place was saved for",
         position.epoch, position.shard, position.batch);
  place = position;
  enterEpoch();
}

//===----------------------------------------------------------------------===//
// ValidationData
//===----------------------------------------------------------------------===//

ValidationData::ValidationData(const std::vector<std::string> &shards,
                               int64_t length, int64_t vocabulary)
    : length(length), vocabulary(vocabulary) {
  checkSizes(1, length, vocabulary);
  int64_t most = 0;
  for (const std::string &path : shards) {
    files.push_back(TokenShard::open(path));
    total += files.back().sequences(length);
    most = std::max(most, files.back().count());
  }
  if (total == 0)
    fail("a validation sequence of {} tokens needs a shard of {} tokens, but "
         "the largest of {} has {}",
         length, length + 1, files.size(), most);
}

void ValidationData::read(int64_t first, int64_t count, int32_t *inputs,
                          int32_t *targets) const {
  if (first < 0 || count < 0 || first > total || count > total - first)
    fail("{} validation sequences from {} on are wanted, but there are {}",
         count, first, total);
  for (const TokenShard &file : files) {
    int64_t here = file.sequences(length);
    if (first >= here) {
      first -= here;
      continue;
    }
    int64_t taken = std::min(count, here - first);
    if (taken == 0)
      return;
    readSequences(file, first, taken, length, vocabulary, inputs, targets);
    inputs += taken * length;
    targets += taken * length;
    count -= taken;
    first = 0;
  }
}

} // namespace steep
