//===- DataLoader.h - batches of token sequences ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shard of `count` tokens gives floor((count - 1) / length) sequences: number
// s reads the length + 1 tokens from s * length on, its inputs, and shifted by
// one its targets. A batch is `batch` sequences that follow each other in one
// shard, floor(sequences / batch) a shard; what is left over is not used.
//
// Every epoch shuffles the shards, and the batches of each shard:
//   mix(z)      SplitMix64's finaliser: z ^= z >> 30; z *= 0xbf58476d1ce4e5b9;
//               z ^= z >> 27; z *= 0x94d049bb133111eb; z ^= z >> 31
//   g           0x9e3779b97f4a7c15
//   key         mix(mix(mix(seed + g) + epoch + g) + shard + g), where shard is
//               the place in the sorted list of files, or 2^64 - 1 for the
//               order of the shards
//   draw(i)     mix(key + (i + 1) * g)
//   shuffle     of 0 .. n - 1: for k = n - 1 down to 1, the entries k and
//               high64(draw(n - 1 - k) * (k + 1)) change places, where high64
//               is the upper half of the 128-bit product
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DATA_DATALOADER_H
#define STEEP_RUNTIME_DATA_DATALOADER_H

#include "runtime/Data/Shard.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steep {

/// The numbers 0 .. count - 1 in the order that the comment above defines.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint64_t epoch,
                              uint64_t shard);

/// Endless training batches.
class DataLoader {
public:
  struct Options {
    std::vector<std::string> shards; ///< files, as findShards() lists them
    int64_t batch = 1;               ///< sequences a batch
    int64_t length = 1;              ///< tokens a sequence
    int64_t vocabulary = 50257;      ///< larger tokens are an error
    uint64_t seed = 0;
  };
  /// Where the next batch comes from; all that has to be saved.
  struct Position {
    int64_t epoch = 0;
    int64_t shard = 0; ///< place in the epoch's order of shards
    int64_t batch = 0; ///< place in the shard's order of batches
  };

  /// Throws Error where a shard is malformed or none holds a whole batch.
  explicit DataLoader(Options options);

  /// Writes the next batch: batch x length inputs, and as many targets.
  void next(int32_t *inputs, int32_t *targets);
  Position position() const { return place; }
  /// Continues there. Throws Error where there is no such place.
  void seek(const Position &position);
  int64_t batchesPerEpoch() const { return total; }

private:
  void enterEpoch();
  void enterShard();
  int64_t batchesIn(int64_t shard) const;

  Options options;
  std::vector<TokenShard> files;
  int64_t total = 0;
  Position place;
  std::vector<int64_t> shardOrder; ///< of the epoch
  std::vector<int64_t> batchOrder; ///< of the shard
};

/// The first sequences of the validation shards, in their order.
class ValidationData {
public:
  /// Throws Error where a shard is malformed or none holds a sequence.
  ValidationData(const std::vector<std::string> &shards, int64_t length,
                 int64_t vocabulary = 50257);

  int64_t sequences() const { return total; }
  /// Writes sequences first .. first + count - 1.
  void read(int64_t first, int64_t count, int32_t *inputs,
            int32_t *targets) const;

private:
  std::vector<TokenShard> files;
  int64_t length, vocabulary, total = 0;
};

} // namespace steep

#endif // STEEP_RUNTIME_DATA_DATALOADER_H
