//===- Options.h - the command line of steep-train --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_STEEP_TRAIN_OPTIONS_H
#define STEEP_TOOLS_STEEP_TRAIN_OPTIONS_H

#include "runtime/Train/RunConfig.h"
#include "runtime/Train/RunFolder.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steep {

/// What the command line says.
struct Options {
  /// Not resolved. With --resume, the saved configuration with what was given
  /// in its place.
  RunConfig config;
  bool resume = false;
  std::string start;      ///< a folder to begin at, or empty
  std::string checkpoint; ///< with --resume: the one to continue from
  /// Held to the end of a run; with --resume from the first look into it.
  std::unique_ptr<RunFolder> folder;
  bool dryRun = false;
  std::string progress = "auto";
  std::string replay;
  std::optional<double> tolerance;
  std::vector<std::string> compare;
};

/// Parses, or prints help or version and returns the exit status. Throws Error
/// on a bad command line.
std::optional<int> parseOptions(int argc, char **argv, Options &options);

} // namespace steep

#endif // STEEP_TOOLS_STEEP_TRAIN_OPTIONS_H
