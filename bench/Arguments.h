//===- Arguments.h - options of the benchmarks ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_BENCH_ARGUMENTS_H
#define STEEP_BENCH_ARGUMENTS_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace steep::bench {

/// What a program that is no tool for users needs of CLI11, which is compiled
/// once for all of them. Defaults are the values when an option is added, and
/// --help shows them; unknown options and what is no number are refused.
class Arguments {
public:
  Arguments(const char *program, const char *about);
  ~Arguments();

  /// A whole number from `least` on. A name without dashes is a place.
  void number(const char *name, int64_t &value, int64_t least,
              const char *help);
  void text(const char *name, std::string &value, const char *help);
  void choice(const char *name, std::string &value,
              std::vector<std::string> among, const char *help);
  void flag(const char *name, bool &value, const char *help);
  /// A place that must be given, and one for all further words, at least one.
  void required(const char *name, std::string &value, const char *help);
  void rest(const char *name, std::vector<std::string> &values,
            const char *help);

  /// Reads the arguments and calls the body; the program's exit status. What is
  /// thrown becomes one line on stderr and status 1.
  int run(int argc, char **argv, const std::function<int()> &body);

private:
  std::unique_ptr<CLI::App> app;
};

} // namespace steep::bench

#endif // STEEP_BENCH_ARGUMENTS_H
