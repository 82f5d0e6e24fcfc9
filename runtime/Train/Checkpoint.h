//===- Checkpoint.h - a run's state on disk ---------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a folder checkpoint-00000123, named for the batches done:
//
//   model.safetensors      the parameters
//   optimizer.safetensors  PARAM.STATE for each state, and PARAM.step, the
//                          number of applied updates, as F32 of rank 0; the
//                          metadata holds the convention of each momentum
//   trainer.json           counters, data position, configuration, and the
//                          SHA-256 of the other two files
//
// It is written under another name and renamed when it is whole, so a folder
// of this name is complete.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_CHECKPOINT_H
#define STEEP_RUNTIME_TRAIN_CHECKPOINT_H

#include "runtime/Core/Manifest.h"
#include "runtime/Core/Safetensors.h"
#include "runtime/Train/Metrics.h"
#include "runtime/Train/RunConfig.h"

#include <optional>
#include <string>
#include <vector>

namespace steep {

/// The counters of a run; everything else is tensors.
struct TrainerState {
  int64_t step = 0;          ///< batches done
  int64_t updates = 0;       ///< updates applied: t of the last one
  int64_t tokens = 0;        ///< tokens seen
  int64_t skipped = 0;       ///< updates skipped
  int64_t skippedInARow = 0; ///< of those, the last without a good one between
  double seconds = 0;        ///< wall time spent so far
  std::string data;          ///< TrainingData::position()
  /// The last step's metrics, where its validation was interrupted.
  std::optional<StepMetrics> pending;
  /// Loaded from a checkpoint whose trainer.json has no digests, as those of
  /// older versions: its files are taken as they are.
  bool unverified = false;
};

/// The tensors of a run, by reference: the optimizer's states in the order of
/// the manifest.
struct CheckpointTensors {
  const Manifest &manifest;
  NamedTensors parameters;
  std::vector<Tensor> states;
};

std::string checkpointName(int64_t step);

/// Complete checkpoints in a run's folder, oldest first. None where the folder
/// does not exist.
std::vector<std::string> listCheckpoints(const std::string &out);

/// Writes OUT/checkpoint-STEP (nothing where it is there already), then removes
/// all but the last `config.keep` and `extra`.
void saveCheckpoint(const RunConfig &config, const TrainerState &state,
                    const CheckpointTensors &tensors, int64_t extra = 0);

/// The newest checkpoint in OUT of fewer batches than `step`; empty where there
/// is none.
std::string checkpointBefore(const std::string &out, int64_t step);

/// The configuration of the run that wrote the checkpoint.
RunConfig readCheckpointConfig(const std::string &folder);

/// Fills the tensors from model.safetensors and optimizer.safetensors in a
/// folder that any trainer may have written, and returns how many updates they
/// have seen: PARAM.step, one number for all. What is checked is what
/// loadCheckpoint checks of them. A weight may be BF16 where the states have
/// its FP32 master, PARAM.master, which is taken then.
int64_t loadStart(const std::string &folder, const CheckpointTensors &tensors);

/// Fills the tensors and returns the counters. Everything is checked before
/// the first tensor is written: names, shapes, types, the momentum's
/// convention, the spec, agreement of the three files, their digests. Errors
/// name the file, and of a damaged checkpoint the one to go back to.
TrainerState loadCheckpoint(const std::string &folder,
                            const CheckpointTensors &tensors);

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_CHECKPOINT_H
