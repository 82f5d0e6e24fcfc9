//===- Doubles.h - what stands in for compiler and data ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_TRAIN_DOUBLES_H
#define STEEP_TEST_UNIT_TRAIN_DOUBLES_H

#include "runtime/Train/Optimizer.h"
#include "runtime/Train/RunConfig.h"
#include "runtime/Train/TrainingData.h"

#include <functional>
#include <string>

namespace steep::test {

/// The paper's recipe in lib/Reference's plain loops, as an Optimizer.
class ReferenceOptimizer : public Optimizer {
public:
  /// `head` is the head's rule, "rownorm" or "adamw".
  ReferenceOptimizer(const ModelConfig &sizes, const std::string &head);
  const Manifest &manifest() const override { return content; }
  std::vector<Tensor> makeStates() const override;
  StepResult step(StepArguments &arguments, ThreadPool *pool) override;

  /// Called with the gradients before each step, to spoil them.
  std::function<void(StepArguments &)> before;
  Manifest content;
};

/// Pseudo-random tokens; the position is the number of batches.
class SyntheticData : public TrainingData {
public:
  explicit SyntheticData(const RunConfig &config) : config(config) {}
  void next(int32_t *tokens, int32_t *targets) override;
  std::string position() const override;
  void restore(const std::string &position) override;
  int64_t validationSequences() const override { return 5; }
  void validation(int64_t first, int64_t count, int32_t *tokens,
                  int32_t *targets) override;

  /// Called with the number of the batch (from 0), and for each validation.
  std::function<void(int64_t)> onNext;
  std::function<void()> onValidation;

private:
  void sequence(uint64_t key, int32_t *tokens, int32_t *targets) const;
  RunConfig config;
  int64_t batches = 0;
};

/// A folder that is removed at the end of the test.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string &name = "") const;

private:
  std::string folder;
};

/// The message of the steep::Error that a call throws, "" where it does not.
std::string failure(const std::function<void()> &call);

/// A resolved run of a very small model: 1 block of width 32.
RunConfig smallRun(const std::string &out);

} // namespace steep::test

#endif // STEEP_TEST_UNIT_TRAIN_DOUBLES_H
