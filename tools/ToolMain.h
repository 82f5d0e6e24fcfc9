//===- ToolMain.h - what every main() of the runtime does -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_TOOLMAIN_H
#define STEEP_TOOLS_TOOLMAIN_H

#include <cstdio>
#include <exception>
#include <new>

namespace steep {

/// Runs a tool and returns its exit status. An error is one line on stderr,
/// "TOOL: error: MESSAGE", and status 1; so is output that cannot be written.
template <typename Body> int toolMain(const char *tool, Body &&body) {
  try {
    int status = body();
    if (std::fflush(stdout) == 0 && !std::ferror(stdout))
      return status;
    std::fprintf(stderr, "%s: error: cannot write the output\n", tool);
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "%s: error: there is not enough memory\n", tool);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: error: %s\n", tool, error.what());
  }
  return 1;
}

} // namespace steep

#endif // STEEP_TOOLS_TOOLMAIN_H
