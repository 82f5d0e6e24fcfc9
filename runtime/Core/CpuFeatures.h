//===- CpuFeatures.h - what this CPU offers ---------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_CPUFEATURES_H
#define STEEP_RUNTIME_CORE_CPUFEATURES_H

#include <string>
#include <vector>

namespace steep {

/// "Intel(R) Xeon(R) Processor", or "this CPU" where the system does not say.
std::string cpuModel();

/// Those of the names (as in the flags of /proc/cpuinfo) that this CPU lacks.
/// Where /proc/cpuinfo cannot be read, none: the artefact checks again itself.
std::vector<std::string>
missingCpuFeatures(const std::vector<std::string> &features);

/// All flags and the model: what code for `native` depends on.
std::string cpuSignature();

} // namespace steep

#endif // STEEP_RUNTIME_CORE_CPUFEATURES_H
