//===- Arguments.cpp - options of the benchmarks --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bench/Arguments.h"

#include "tools/ToolMain.h"

#include <limits>

namespace steep::bench {

Arguments::Arguments(const char *program, const char *about)
    : app(std::make_unique<CLI::App>(about, program)) {}

Arguments::~Arguments() = default;

void Arguments::number(const char *name, int64_t &value, int64_t least,
                       const char *help) {
  app->add_option(name, value, help)
      ->check(CLI::Range(least, int64_t(std::numeric_limits<int32_t>::max())))
      ->capture_default_str();
}

void Arguments::text(const char *name, std::string &value, const char *help) {
  app->add_option(name, value, help)->capture_default_str();
}

void Arguments::choice(const char *name, std::string &value,
                       std::vector<std::string> among, const char *help) {
  app->add_option(name, value, help)
      ->check(CLI::IsMember(std::move(among)))
      ->capture_default_str();
}

void Arguments::flag(const char *name, bool &value, const char *help) {
  app->add_flag(name, value, help);
}

void Arguments::required(const char *name, std::string &value,
                         const char *help) {
  app->add_option(name, value, help)->required();
}

void Arguments::rest(const char *name, std::vector<std::string> &values,
                     const char *help) {
  app->add_option(name, values, help)->required();
}

int Arguments::run(int argc, char **argv, const std::function<int()> &body) {
  return toolMain(*app, argc, argv, body);
}

} // namespace steep::bench
