//===- ToolMain.h - what every main() of the runtime does -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_TOOLMAIN_H
#define STEEP_TOOLS_TOOLMAIN_H

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>

namespace steep {

/// Reads a tool's arguments, runs it and returns its exit status. An error is
/// one line on stderr, "TOOL: error: MESSAGE", and status 1; so is output that
/// cannot be written.
template <typename Body>
int toolMain(CLI::App &app, int argc, char **argv, Body &&body) {
  auto failed = [&](const char *message) {
    std::fprintf(stderr, "%s: error: %s\n", app.get_name().c_str(), message);
    return 1;
  };
  try {
    app.parse(argc, argv);
    int status = body();
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      return failed("cannot write the output");
    return status;
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const std::bad_alloc &) {
    return failed("there is not enough memory");
  } catch (const std::exception &error) {
    return failed(error.what());
  }
}

} // namespace steep

#endif // STEEP_TOOLS_TOOLMAIN_H
