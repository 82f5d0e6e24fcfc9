//===- Kernel.h - one launch on the emulated GPU ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_STEEP_SIMT_KERNEL_H
#define STEEP_TOOLS_STEEP_SIMT_KERNEL_H

#include <cstdint>
#include <string>
#include <vector>

namespace steep {

struct KernelOptions {
  std::string file, entry, grid = "1", block = "1";
  std::vector<std::string> arguments;
  std::uint32_t shared = 0; ///< bytes of dynamic shared memory
  std::uint64_t seed = 0;
  unsigned threads = 1, timeout = 600; ///< seconds
  bool check = false, list = false;
};

/// Loads the file, launches the kernel and writes its outputs; or prints the
/// kernels. Returns the exit status: 0, or 2 where the emulator has reports,
/// which go to stderr, a line each; nothing is written then. Throws Error.
int runKernel(const KernelOptions &options);

} // namespace steep

#endif // STEEP_TOOLS_STEEP_SIMT_KERNEL_H
