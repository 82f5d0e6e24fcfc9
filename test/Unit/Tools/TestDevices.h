//===- TestDevices.h - the devices that tests run on ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_TOOLS_TESTDEVICES_H
#define STEEP_TEST_UNIT_TOOLS_TESTDEVICES_H

#include "runtime/Devices/Device.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace steep::test {

/// The GPU that tests run on: $STEEP_TEST_DEVICE (cuda), or the emulated one
/// where it was built; else none.
inline std::string findGpu() {
  // The emulated one takes PTX and LLVM's IR; assembling would be for nothing.
  if (!std::getenv("STEEP_TEST_DEVICE"))
    ::setenv("STEEP_CUDA", "none", /*overwrite=*/0);
  if (const char *name = std::getenv("STEEP_TEST_DEVICE"))
    return name;
  return std::filesystem::exists(STEEP_TEST_SIMT) ? "simt" : "";
}

/// This machine, and the GPU.
inline std::vector<std::string> listDevices() {
  std::vector<std::string> devices = {"host"};
  if (std::string gpu = findGpu(); !gpu.empty())
    devices.push_back(gpu);
  return devices;
}

/// A device, with checks where it has any, in an order of threads of its own.
inline std::unique_ptr<Device> openChecked(const std::string &name,
                                           uint64_t seed = 5) {
  return openDevice(name, /*threads=*/1, SimtOptions{false, true, seed});
}

/// The emulated GPU without checks, of LLVM's IR or of PTX.
inline std::unique_ptr<Device> openUnchecked(bool ptx) {
  // Checks that another device asked for would be this one's too.
  ::unsetenv("STEEP_SIMT_CHECK");
  ::unsetenv("STEEP_SIMT_SEED");
  return openDevice("simt", /*threads=*/1,
                    SimtOptions{ptx, false, 0, /*optimize=*/false});
}

} // namespace steep::test

#endif // STEEP_TEST_UNIT_TOOLS_TESTDEVICES_H
