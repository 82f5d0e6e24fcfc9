//===- RunConfig.h - everything a training run is told ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_RUNCONFIG_H
#define STEEP_RUNTIME_TRAIN_RUNCONFIG_H

#include "runtime/Model/Config.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace steep {

/// The configuration of a run. Zero (or -1, where 0 means something) stands
/// for "not said": resolve() fills it in.
struct RunConfig {
  std::string model; ///< a preset's name, or empty: the sizes are given
  ModelConfig sizes;
  std::string spec;
  std::string artefact; ///< folder; empty: compiled from the spec
  std::string data;
  std::string out;
  std::string device = "host";
  std::string target = "native";
  int64_t steps = 0;
  int64_t warmup = -1; ///< in updates; -1: the spec's fraction
  int64_t batch = 0;   ///< sequences an update
  int64_t microBatch = 0;
  int64_t seq = 0; ///< tokens a sequence
  int64_t seed = 1;
  int64_t threads = 0;
  std::map<std::string, double> lr; ///< overrides, by group
  int64_t valEvery = 100;           ///< 0: never
  int64_t valBatches = 8;
  int64_t saveEvery = 500; ///< 0: only the last
  int64_t keep = 3;        ///< checkpoints
  int64_t diameterEvery = 10;
  int64_t hilbertEvery = 500;
  int64_t hilbertPositions = 8192;
  int64_t oracleEvery = 0;   ///< 0: never
  int64_t measuresEvery = 0; ///< 0: never
  int64_t stopAt = 0;        ///< save and end after this step; 0: do not

  /// Takes sizes and lengths of the preset and defaults of the rest, and
  /// checks everything that needs no file. Throws Error, naming the flag.
  void resolve();

  int64_t microBatches() const { return batch / microBatch; }
  int64_t batchTokens() const { return batch * seq; }

  std::string json() const;
  /// What json() wrote; `origin` begins error messages.
  static RunConfig parse(const std::string &json, const std::string &origin);
};

/// Throws Error, naming the flag, where continuing `saved` as `now` would not
/// be the same run.
void checkSameRun(const RunConfig &saved, const RunConfig &now);

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_RUNCONFIG_H
