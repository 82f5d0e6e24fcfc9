//===- ToolMain.h - what every main() of the runtime does -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_TOOLMAIN_H
#define STEEP_TOOLS_TOOLMAIN_H

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>

namespace steep {

/// CLI11 takes an empty value of some options for none at all: `--out "$DIR"`
/// with DIR unset must not mean the default. Throws, naming the option.
inline void refuseEmptyValues(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], before = argv[i - 1];
    const std::string::size_type last = word.size() - 1;
    if (word.rfind("--", 0) == 0 && word.find('=') == last)
      throw std::runtime_error(word.substr(0, last) + ": the value is empty");
    if (word.empty() && i > 1 && before.rfind("-", 0) == 0)
      throw std::runtime_error(before + ": the value is empty");
    if (word.empty())
      throw std::runtime_error("argument " + std::to_string(i) + " is empty");
  }
}

/// What a tool that ends with `status` returns: where its standard output could
/// not be written, one line on stderr says so, and all is not well.
inline int outputStatus(const char *tool, int status) {
  errno = 0;
  std::cout.flush();
  const bool lost =
      std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout.good();
  if (status != 0 || !lost)
    return status;
  // Where the loss was earlier than this flush, its reason is gone.
  const std::string reason =
      errno ? ": " + std::string(std::strerror(errno)) : "";
  std::fprintf(stderr, "%s: error: cannot write to standard output%s\n", tool,
               reason.c_str());
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
    refuseEmptyValues(argc, argv);
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
