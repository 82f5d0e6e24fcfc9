//===- Compare.h - what Steep makes beside what others make -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Machines differ and neighbours make noise, so a result is a ratio: two bodies
// that do the same work alternate in one process, and their medians are
// compared. Google Benchmark times, filters and writes the JSON that
// tools/bench.sh turns into a table. The counters of a benchmark:
//
//   ours_ms, other_ms   the medians
//   ratio               ours / other, in time: below 1 where ours is faster
//   bound               what the ratio is expected not to exceed, where stated
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_BENCH_COMPARE_H
#define STEEP_BENCH_COMPARE_H

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace steep::bench {

/// Middle of the sorted values; of an even number the upper one.
double median(std::vector<double> values);

/// Two ways to do the same work, one call each.
struct Pair {
  std::function<void()> ours, other;
  /// NULL, or what both do beside that: its time is taken off both, and the
  /// counter whole_ratio has the ratio with it.
  std::function<void()> both = nullptr;
};

/// How a comparison is made and what stands beside its figures.
struct Comparison {
  std::string name;  ///< "rows/rownorm/50257x512"
  std::string other; ///< what ours is compared with, "plain C++ loop"
  double bound = 0;  ///< of the ratio; 0: none
  double work = 0;   ///< bytes or operations of one call, for the rate
  std::string unit;  ///< of that work: "B", "FLOP"
  int rounds = 15;   ///< calls of each, after one that is not counted
};

/// Registers a benchmark. `make` allocates and runs when the benchmark does, so
/// that only one benchmark's tensors exist at a time; what it returns is called
/// in turn and dropped afterwards.
void addComparison(Comparison what, std::function<Pair()> make);

/// A whole number that an environment variable holds. Throws Error where it is
/// none, or below `least`.
int64_t numberFromEnvironment(const char *variable, int64_t least,
                              int64_t otherwise);
/// Threads that comparisons use: $STEEP_BENCH_THREADS or all of the machine.
int threads();
/// What artefacts are compiled for: $STEEP_BENCH_TARGET or "native". What they
/// are compared with is limited to the same instructions.
std::string target();
/// True where $STEEP_BENCH_CLOCK is "cpu": what threads worked is compared, not
/// what elapsed. On a machine that others use at the same time a ratio of
/// elapsed times says little; what waits for memory they share is slower still.
bool usesProcessorTime();
/// True where $STEEP_BENCH_QUICK is set: fewer rounds, smaller sizes.
bool isQuick();
/// True where $STEEP_BENCH_TINY is set: one round of the smallest sizes, which
/// shows that benchmarks run, and nothing else.
bool isTiny();

/// Puts machine, instruction set and threads into the output's context, lets
/// `add` register comparisons and runs them. `about` is what --help says of the
/// program. Returns the exit status.
int runComparisons(int argc, char **argv, const char *about, void (*add)());

} // namespace steep::bench

#endif // STEEP_BENCH_COMPARE_H
