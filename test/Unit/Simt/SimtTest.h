//===- SimtTest.h - loading and running small kernels -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_SIMT_SIMTTEST_H
#define STEEP_TEST_UNIT_SIMT_SIMTTEST_H

#include "runtime/Devices/Simt/Launch.h"
#include "runtime/Devices/Simt/Memory.h"
#include "runtime/Devices/Simt/Program.h"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace steep::simt::test {

/// Memory of the device, which the host can read as it is.
template <typename T> class Buffer {
public:
  explicit Buffer(std::vector<T> values)
      : count(values.size()),
        memory(static_cast<T *>(
            GlobalMemory::instance().allocate(values.size() * sizeof(T)))) {
    std::memcpy(memory, values.data(), count * sizeof(T));
  }
  explicit Buffer(std::size_t count) : Buffer(std::vector<T>(count)) {}
  ~Buffer() { GlobalMemory::instance().release(memory); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  T &operator[](std::size_t i) { return memory[i]; }
  T *data() { return memory; }
  std::size_t size() const { return count; }
  std::vector<T> values() const { return {memory, memory + count}; }

private:
  std::size_t count;
  T *memory;
};

/// A program, or why there is none.
struct Loaded {
  std::unique_ptr<Program> program;
  std::string message;
};
Loaded tryLoad(const std::string &ir, const Options &options = Options());
/// Fails the test where the module cannot be loaded.
std::unique_ptr<Program> load(const std::string &ir,
                              const Options &options = Options());

struct Outcome {
  bool ok = false;
  /// The message of the launch, or its reports.
  std::string text;
  LaunchStats stats;
};
struct Sizes {
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
  std::uint32_t shared = 0;
};
Sizes sizes(std::uint32_t grid, std::uint32_t block, std::uint32_t shared = 0);

Outcome launchPointers(const Program &program, const std::string &kernel,
                       const Sizes &sizes, std::vector<void *> parameters);

/// Launches with arguments of the kernel's types, by value.
template <typename... Arguments>
Outcome launch(const Program &program, const std::string &kernel,
               const Sizes &sizes, Arguments... arguments) {
  return launchPointers(program, kernel, sizes, {&arguments...});
}

/// A module with one kernel `k`, that loads %x (i32) from in[tid], runs
/// `body` and stores its %r (i32) to out[tid].
std::string perThread(const std::string &declarations, const std::string &body);

/// Runs such a kernel in one block of as many threads as there are inputs.
std::vector<std::uint32_t> runPerThread(const std::string &ir,
                                        std::vector<std::uint32_t> inputs,
                                        const Options &options = Options());

/// Reads a file of this folder's Inputs, or of the corpus.
std::string readInput(const std::string &path);

} // namespace steep::simt::test

#endif // STEEP_TEST_UNIT_SIMT_SIMTTEST_H
