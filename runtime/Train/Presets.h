//===- Presets.h - the paper's models and learning rates --------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_PRESETS_H
#define STEEP_RUNTIME_TRAIN_PRESETS_H

#include "runtime/Core/Manifest.h"
#include "runtime/Model/Config.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace steep {

/// A named model with the length of its run: the paper's three, and `tiny`,
/// which learns in minutes on two cores.
struct Preset {
  std::string name;
  ModelConfig sizes;
  int64_t steps;
  int64_t batch; ///< sequences an update
};

const std::vector<Preset> &presets();
/// Throws Error, listing the names, where there is none of this name.
const Preset &findPreset(const std::string &name);

/// The paper's peak learning rate of a group: 8e-3 for Muon on the blocks, 4e-3
/// for AdamW on the embedding; for the head 4e-3 with AdamW and 3.2e-3 with
/// RowNorm at width 512, falling as 1/width. Nothing for any other group.
std::optional<double> paperRate(const Manifest &manifest,
                                const Manifest::Group &group, int64_t dim);

/// The peak learning rate of every group of the manifest, in its order: the
/// override, else (with `paper`) the paper's, else the spec's. Throws Error
/// where an override names no group or is not a finite number >= 0.
std::vector<double> peakRates(const Manifest &manifest, int64_t dim, bool paper,
                              const std::map<std::string, double> &overrides);

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_PRESETS_H
