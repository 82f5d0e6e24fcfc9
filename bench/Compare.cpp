//===- Compare.cpp - two bodies in turn, their medians --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bench/Compare.h"

#include "bench/Clock.h"
#include "runtime/Core/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <thread>

namespace steep::bench {

double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int64_t numberFromEnvironment(const char *variable, int64_t least,
                              int64_t otherwise) {
  const char *text = std::getenv(variable);
  if (!text)
    return otherwise;
  char *end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end || errno || value < least || value > INT32_MAX)
    fail("{} is '{}', expected a whole number, {} at least", variable, text,
         least);
  return value;
}

int threads() {
  return int(
      numberFromEnvironment("STEEP_BENCH_THREADS", 1,
                            std::max(1u, std::thread::hardware_concurrency())));
}

std::string target() {
  const char *text = std::getenv("STEEP_BENCH_TARGET");
  return text ? text : "native";
}

bool isTiny() { return std::getenv("STEEP_BENCH_TINY") != nullptr; }

bool isQuick() {
  return isTiny() || std::getenv("STEEP_BENCH_QUICK") != nullptr;
}

bool usesProcessorTime() {
  const char *text = std::getenv("STEEP_BENCH_CLOCK");
  return text && std::string(text) == "cpu";
}

static double now() { return now(usesProcessorTime()); }

static double seconds(const std::function<void()> &body) {
  const double begin = now();
  body();
  return now() - begin;
}

static void compare(benchmark::State &state, const Comparison &what,
                    const Pair &pair) {
  std::vector<double> ours, others, both;
  pair.ours(); // pages, caches, threads
  pair.other();
  for (auto _ : state) {
    // Who comes first alternates: what one leaves in the caches serves both.
    const bool first = ours.size() % 2 == 0;
    if (!first)
      others.push_back(seconds(pair.other));
    ours.push_back(seconds(pair.ours));
    if (first)
      others.push_back(seconds(pair.other));
    if (pair.both)
      both.push_back(seconds(pair.both));
    state.SetIterationTime(ours.back());
  }
  double our = median(ours), other = median(others);
  if (pair.both) {
    state.counters["whole_ratio"] = our / other;
    our -= median(both);
    other -= median(both);
  }
  state.counters["ours_ms"] = our * 1e3;
  state.counters["other_ms"] = other * 1e3;
  state.counters["ratio"] = our / other;
  if (what.bound > 0)
    state.counters["bound"] = what.bound;
  if (what.work > 0 && !usesProcessorTime())
    state.counters["rate_G" + what.unit] = what.work / our * 1e-9;
  state.SetLabel(what.other);
}

void addComparison(Comparison what, std::function<Pair()> make) {
  if (isQuick())
    what.rounds = std::min(what.rounds, isTiny() ? 1 : 5);
  benchmark::RegisterBenchmark(what.name.c_str(),
                               [what, make](benchmark::State &state) {
                                 try {
                                   compare(state, what, make());
                                 } catch (const std::exception &error) {
                                   state.SkipWithError(error.what());
                                 }
                               })
      ->Iterations(what.rounds)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

/// "model name" of the first processor.
static std::string machine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

static std::string instructionSet() {
  if (target() != "native")
    return target();
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") ? "AVX-512"
         : __builtin_cpu_supports("avx2")  ? "AVX2"
                                           : "baseline x86-64";
}

/// Of the running program, for --help.
static const char *aboutProgram = "";

static void printHelp() {
  std::printf(
      "%s\n\n"
      "Environment: STEEP_BENCH_THREADS (all of the machine), "
      "STEEP_BENCH_TARGET "
      "(native;\nsteepc's --target), STEEP_BENCH_CLOCK=cpu (the time that "
      "threads worked),\nSTEEP_BENCH_QUICK, STEEP_BENCH_TINY (fewer rounds, "
      "smaller sizes).\n\n",
      aboutProgram);
  benchmark::PrintDefaultHelp();
}

static void addContext() {
  benchmark::AddCustomContext("machine", machine());
  benchmark::AddCustomContext("isa", instructionSet());
  benchmark::AddCustomContext("threads", std::to_string(threads()));
  benchmark::AddCustomContext("clock",
                              usesProcessorTime() ? "processor" : "elapsed");
}

int runComparisons(int argc, char **argv, const char *about, void (*add)()) {
  aboutProgram = about;
  benchmark::Initialize(&argc, argv, printHelp);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  try {
    addContext();
    add();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: error: %s\n", argv[0], error.what());
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

} // namespace steep::bench
