//===- Update.h - one update of one parameter -------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_STEEP_RUN_UPDATE_H
#define STEEP_TOOLS_STEEP_RUN_UPDATE_H

#include "runtime/Devices/Device.h"

#include <cstdint>
#include <optional>
#include <string>

namespace steep {

struct UpdateOptions {
  std::string spec;     ///< .mlir, compiled by the steepc beside this program
  std::string artefact; ///< or what was compiled before
  std::string rule;
  std::string group; ///< which of several that use the rule; may be empty
  std::string in, out;
  std::optional<double> lr, wd; ///< instead of the group's
  double gradScale = 1;
  int64_t step = 1;
  std::string device = "host";
  SimtOptions simt;
  std::string target = "native";
  int threads = 1;
};

/// Reads `param`, `grad` and states, takes the step and writes `param`, the
/// states and `update`. Throws Error, and then has written nothing: also where
/// a tensor is not finite, before the step or after it.
void runUpdate(const UpdateOptions &options);

} // namespace steep

#endif // STEEP_TOOLS_STEEP_RUN_UPDATE_H
