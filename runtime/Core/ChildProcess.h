//===- ChildProcess.h - running another program -----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_CHILDPROCESS_H
#define STEEP_RUNTIME_CORE_CHILDPROCESS_H

#include <string>
#include <vector>

namespace steep {

struct ChildResult {
  int exitStatus = 0; ///< meaningful where signal is 0
  int signal = 0;     ///< that ended it, or 0
  std::string errors; ///< what it wrote to stderr, at most 1 MiB of it
};

/// Runs a program (a path, no search) to its end, with stdin and stdout closed
/// off. Throws Error where it cannot be started.
ChildResult runChild(const std::string &program,
                     const std::vector<std::string> &arguments);

/// The path of a program in the folder of the running one.
std::string programBeside(const std::string &name);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_CHILDPROCESS_H
