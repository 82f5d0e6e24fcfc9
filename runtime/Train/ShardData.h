//===- ShardData.h - batches from token shards ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_SHARDDATA_H
#define STEEP_RUNTIME_TRAIN_SHARDDATA_H

#include "runtime/Data/DataLoader.h"
#include "runtime/Train/TrainingData.h"

namespace steep {

/// The shards *train*.bin and *val*.bin of config.data.
class ShardData : public TrainingData {
public:
  /// Throws Error where a shard is missing or malformed, too short for one
  /// batch, or holds an id that is not in the vocabulary. Reads all of them.
  explicit ShardData(const RunConfig &config);
  void next(int32_t *tokens, int32_t *targets) override;
  std::string position() const override;
  /// Throws Error where the shards hold other tokens than those of the run
  /// that saved the position; one without fingerprints, of an older version,
  /// is compared by the number of batches.
  void restore(const std::string &position) override;
  int64_t validationSequences() const override;
  void validation(int64_t first, int64_t count, int32_t *tokens,
                  int32_t *targets) override;

private:
  DataLoader loader;
  ValidationData fixed;
  std::string trainTokens, validationTokens; ///< fingerprints
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_SHARDDATA_H
