//===- Replay.h - a recorded trajectory, taken again ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A replay file holds a training run of another program, small enough to carry
// around: the tensors
//
//   init.PARAM, grad0.PARAM, final.PARAM     F32, as the model names them
//   tokens [steps, 2, batch, length]         I32: inputs, then targets
//   panel [sequences, length]                I32: positions of the Hilbert RMS
//   loss, grad_norm, lr_scale, head_diameter, hilbert_rms [steps]   F64
//
// and the metadata dim, layers, vocab, head_dim, head, steps, warmup, clip,
// muon_lr, embed_lr, head_lr. grad0 and grad_norm are before clipping.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_REPLAY_H
#define STEEP_RUNTIME_TRAIN_REPLAY_H

#include "runtime/Core/Safetensors.h"
#include "runtime/Train/Optimizer.h"

#include <string>
#include <vector>

namespace steep {

/// Relative differences |a - b| / max(|b|, 1e-30) of what this build computes,
/// a, and what the file records, b; 0 where both are 0, tensors by Frobenius
/// norm, `final` measured on final minus init.
struct ReplayResult {
  std::vector<double> loss, gradNorm, lrScale, headDiameter, hilbertRms;
  std::vector<std::pair<std::string, double>> grad0, final;

  /// The largest of all; not finite where one is not.
  double largest() const;
  /// {"loss": [...], ..., "grad0": {...}, "final": {...}}.
  std::string json() const;
};

/// A replay file that has been read and checked, but for its large tensors.
class Replay {
public:
  /// Throws Error, naming the file, where a tensor or a key is missing or does
  /// not fit.
  explicit Replay(const std::string &path);

  const ModelConfig &sizes() const { return config; }
  /// "rownorm" or "adamw".
  const std::string &head() const { return headRule; }
  /// Takes all steps.
  ReplayResult run(Optimizer &optimizer, int threads) const;

private:
  std::vector<double> rates(const Manifest &manifest) const;
  int64_t metadataInteger(const char *key, int64_t least) const;
  double metadataNumber(const char *key) const;
  void checkTensor(const std::string &name, DType dtype,
                   const std::vector<int64_t> &shape) const;

  SafetensorsFile file;
  ModelConfig config;
  std::string headRule;
  int64_t steps = 0, batch = 0, length = 0, warmup = 0;
  double clip = 0;
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_REPLAY_H
