//===- steep-simt.cpp - a kernel on the emulated GPU ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Error.h"
#include "tools/ToolMain.h"
#include "tools/steep-simt/Kernel.h"
#include "tools/steep-simt/Watchdog.h"

#include <CLI/CLI.hpp>

using namespace steep;

static void addOptions(CLI::App &app, KernelOptions &options) {
  app.add_option("FILE", options.file,
                 "the kernel: PTX text (.ptx), LLVM IR for NVPTX (.ll, .bc)")
      ->required();
  app.add_option("--entry", options.entry,
                 "name of the kernel, where FILE has several");
  app.add_option("--grid", options.grid, "blocks: X,Y,Z")
      ->capture_default_str();
  app.add_option("--block", options.block, "threads of a block: X,Y,Z")
      ->capture_default_str();
  app.add_option("--arg", options.arguments,
                 "a parameter, in order: in:FILE:TENSOR, "
                 "inout:FILE:TENSOR:OUT, out:OUT:TENSOR:DTYPE:SHAPE, "
                 "zeros:OUT:TENSOR:DTYPE:SHAPE, scratch:BYTES, null, or "
                 "TYPE:NUMBER with i8 to u64, f32 or f64")
      ->allow_extra_args(false);
  app.add_option("--shared", options.shared, "bytes of dynamic shared memory")
      ->capture_default_str();
  app.add_flag("--check", options.check,
               "report accesses out of bounds, races, missing waits and the "
               "like; slower");
  app.add_option("--seed", options.seed,
                 "run warps and lanes in the random order of this number; 0 "
                 "is in order")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads that run blocks")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--timeout", options.timeout,
                 "seconds after which the kernel is ended")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_flag("--list", options.list, "print the kernels of FILE instead");
}

/// What the child process does; its errors look as those of the parent.
static int runGuarded(const KernelOptions &options) {
  try {
    return runKernel(options);
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "steep-simt: error: there is not enough memory\n");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "steep-simt: error: %s\n", error.what());
  }
  return 1;
}

int main(int argc, char **argv) {
  CLI::App app("Runs one kernel on the emulated GPU", "steep-simt");
  KernelOptions options;
  addOptions(app, options);
  return toolMain(app, argc, argv, [&] {
    return runWatched([&] { return runGuarded(options); }, options.timeout);
  });
}
