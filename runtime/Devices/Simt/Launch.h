//===- Launch.h - a grid on the emulated GPU --------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_LAUNCH_H
#define STEEP_RUNTIME_DEVICES_SIMT_LAUNCH_H

#include "runtime/Devices/Simt/Program.h"
#include "runtime/Devices/Simt/Reports.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace steep::simt {

class GlobalShadow;

struct Launch {
  const Program *program = nullptr;
  const Kernel *kernel = nullptr;
  KernelEntry entry = nullptr;
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint32_t dynamicShared = 0;
  std::uint64_t number = 0; ///< among those of the program
  void **parameters = nullptr;
  Reports *reports = nullptr;
  std::chrono::steady_clock::time_point deadline;
  /// Races between blocks; null unless the program is checked.
  GlobalShadow *global = nullptr;
};

struct LaunchStats {
  std::uint64_t blocks = 0, threads = 0, switches = 0, collectives = 0,
                accesses = 0;
};

/// Runs the grid to its end. False if there are reports, or if the launch
/// itself is wrong (sizes); then `message` says so.
bool run(const Program &program, const Kernel &kernel,
         const std::uint32_t (&grid)[3], const std::uint32_t (&block)[3],
         std::uint32_t dynamicShared, void **parameters, Reports &reports,
         std::string &message, LaunchStats *stats = nullptr);

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_LAUNCH_H
