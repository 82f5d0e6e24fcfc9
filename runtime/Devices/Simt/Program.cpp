//===- Program.cpp - a loaded module of the emulated GPU ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Program.h"

#include <cerrno>
#include <cstdlib>
#include <limits>

namespace steep::simt {

const Kernel *Program::findKernel(const std::string &name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

const Variable *Program::findVariable(const std::string &name) const {
  for (const Variable &variable : variables)
    if (variable.name == name)
      return &variable;
  return nullptr;
}

/// Leaves `value` as it is where the variable is not set.
template <typename T>
static bool readNumber(const char *variable, T &value, std::string &message) {
  const char *text = std::getenv(variable);
  if (!text || !*text)
    return true;
  char *end = nullptr;
  errno = 0;
  unsigned long long number = std::strtoull(text, &end, 10);
  if (errno || *end || *text == '-' || number > std::numeric_limits<T>::max()) {
    message = std::string("environment variable ") + variable +
              ": expected a number, got '" + text + "'";
    return false;
  }
  value = static_cast<T>(number);
  return true;
}

bool optionsFromEnvironment(Options &options, std::string &message) {
  unsigned check = options.check, optimize = options.optimize;
  if (!readNumber("STEEP_SIMT_CHECK", check, message) ||
      !readNumber("STEEP_SIMT_OPTIMIZE", optimize, message) ||
      !readNumber("STEEP_SIMT_SEED", options.seed, message) ||
      !readNumber("STEEP_SIMT_THREADS", options.threads, message) ||
      !readNumber("STEEP_SIMT_TIMEOUT_MS", options.timeoutMs, message))
    return false;
  options.check = check != 0;
  options.optimize = optimize != 0;
  return true;
}

} // namespace steep::simt
