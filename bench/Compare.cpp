//===- Compare.cpp - two bodies in turn, their medians --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bench/Compare.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
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

int threads() {
  if (const char *text = std::getenv("STEEP_BENCH_THREADS"))
    return std::max(1, std::atoi(text));
  return int(std::max(1u, std::thread::hardware_concurrency()));
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

/// Since some time: elapsed, or what the threads of this process worked.
static double now() {
  timespec time;
  clock_gettime(
      usesProcessorTime() ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

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

int runComparisons(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::AddCustomContext("machine", machine());
  benchmark::AddCustomContext("isa", instructionSet());
  benchmark::AddCustomContext("threads", std::to_string(threads()));
  benchmark::AddCustomContext("clock",
                              usesProcessorTime() ? "processor" : "elapsed");
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

} // namespace steep::bench
