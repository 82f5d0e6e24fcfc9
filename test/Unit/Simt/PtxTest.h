//===- PtxTest.h - running small PTX texts ----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_SIMT_PTXTEST_H
#define STEEP_TEST_UNIT_SIMT_PTXTEST_H

#include <cstdint>
#include <string>
#include <vector>

namespace steep::simt::test {

/// A text with one kernel `k`: parameters `in` and `out` are pointers in %in
/// and %out; %t is the thread. Registers: %p, %h (16 bits), %r, %f, %rd, %d
/// and %q (128 bits) from 0 on. `globals` stands before the kernel.
std::string kernelText(const std::string &body,
                       const std::string &globals = "");

struct PtxRun {
  std::vector<std::uint64_t> values; ///< of out
  std::string error;                 ///< of the loader, or the reports
};

/// Runs such a kernel in one block.
PtxRun runText(const std::string &text, std::vector<std::uint64_t> in,
               std::size_t outs, unsigned threads = 1, unsigned shared = 0,
               bool check = true);

/// What the reader says to a text that it refuses.
std::string refusal(const std::string &text);

} // namespace steep::simt::test

#endif // STEEP_TEST_UNIT_SIMT_PTXTEST_H
