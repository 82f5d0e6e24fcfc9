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
#include <iostream>
#include <new>

namespace steep {

/// What a tool that ends with `status` returns: where its standard output could
/// not be written, one line on stderr says so, and all is not well.
inline int outputStatus(const char *tool, int status) {
  std::cout.flush();
  const bool lost =
      std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout.good();
  if (status != 0 || !lost)
    return status;
  std::fprintf(stderr, "%s: error: cannot write to standard output\n", tool);
  return 1;
}

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
    return outputStatus(app.get_name().c_str(), body());
  } catch (const CLI::Success &help) {
    return outputStatus(app.get_name().c_str(), app.exit(help));
  } catch (const std::bad_alloc &) {
    return failed("there is not enough memory");
  } catch (const std::exception &error) {
    return failed(error.what());
  }
}

} // namespace steep

#endif // STEEP_TOOLS_TOOLMAIN_H
