//===- TrainingData.h - where batches come from -----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_TRAININGDATA_H
#define STEEP_RUNTIME_TRAIN_TRAININGDATA_H

#include <cstdint>
#include <memory>
#include <string>

namespace steep {

struct RunConfig;

/// Batches of token sequences, and a fixed list of validation sequences.
class TrainingData {
public:
  virtual ~TrainingData();
  /// Writes the next batch: batch x seq inputs, and as many targets.
  virtual void next(int32_t *tokens, int32_t *targets) = 0;
  /// Where the next batch comes from, as a JSON object; restore() continues
  /// there.
  virtual std::string position() const = 0;
  virtual void restore(const std::string &position) = 0;
  /// Number of validation sequences; they never change.
  virtual int64_t validationSequences() const = 0;
  virtual void validation(int64_t first, int64_t count, int32_t *tokens,
                          int32_t *targets) = 0;
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_TRAININGDATA_H
