//===- Manifest.h - what an artefact says of itself -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_MANIFEST_H
#define STEEP_RUNTIME_CORE_MANIFEST_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steep {

/// The artefact's JSON manifest, NAME.json, which steepc writes; the keys are
/// documented in docs/manifest.md.
struct Manifest {
  struct State {
    std::string name;
    std::vector<int64_t> shape;
    /// "sum" (B = beta B + G), "ema" (B = beta B + (1 - beta) G), "mean" or
    /// empty.
    std::string convention;
    /// The mean row of the state whose name it has, and "_mean" behind it.
    /// Steps compute it where it is all zeros, so a checkpoint may lack it.
    bool isMean() const { return convention == "mean"; }
  };
  struct Parameter {
    std::string name;
    std::vector<int64_t> shape;
    std::string group;
    std::string rule;
    std::vector<State> states;
    /// What its relaxed geometry reaches at least of the one that was asked
    /// for; absent where nothing is relaxed.
    std::optional<double> guarantee;
  };
  struct Group {
    std::string name;
    std::string rule;
    double lr = 0; ///< default peak learning rate
    double wd = 0; ///< default weight decay
    /// Does the rule use a weight decay? Assumed where the manifest is older.
    bool decays = true;
  };
  /// A number that a rule measures of a matrix, as steps list them.
  struct Measure {
    std::string name;
    std::string parameter;
    int64_t row = 0, column = 0; ///< where the matrix begins in its parameter
    /// PARAMETER, PARAMETER[ROW] or PARAMETER[ROW,COLUMN].
    std::string matrix() const;
  };
  /// Warm-up and cosine decay of geometry.md 5; absent: constant.
  struct Schedule {
    double warmup = 0; ///< fraction of the updates
    double floor = 1;  ///< smallest scale
  };

  std::string text; ///< the JSON as it stands in the file
  std::string name;
  int abiMajor = 0, abiMinor = 0;
  std::string compiler;
  std::string targetCpu;
  std::vector<std::string> targetFeatures;
  uint64_t workspaceBytes = 0, workspaceAlignment = 64;
  std::optional<Schedule> schedule;
  std::optional<double> clipNorm;
  std::vector<Group> groups;
  std::vector<Parameter> parameters;
  std::vector<Measure> measures;

  /// Reads and checks a manifest; every error names the file and the key.
  static Manifest load(const std::string &path);
  static Manifest parse(const std::string &json, const std::string &origin);
  int64_t groupIndex(const std::string &name) const; ///< -1 where absent
};

} // namespace steep

#endif // STEEP_RUNTIME_CORE_MANIFEST_H
