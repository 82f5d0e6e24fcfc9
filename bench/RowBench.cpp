//===- RowBench.cpp - compiled row updates beside plain loops -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kind of row update at the size of a head (GPT-2's vocabulary), compiled
// by steepc, beside the same update written as a loop in C++ and run by the
// same pool. Updates are timed without the norm of the gradient, which
// "rows/squares" has. Widths that are no power of two show what tails cost.
//
//===----------------------------------------------------------------------===//
#include "bench/Compare.h"
#include "bench/RowTwins.h"
#include "bench/Step.h"
#include "bench/TemporaryFolder.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"

#include <cmath>
#include <fmt/format.h>
#include <mutex>

using namespace steep;
using namespace steep::bench;

namespace {

/// GPT-2's, or rows of some groups of column sums.
const int64_t vocabulary = isTiny() ? 515 : 50257;

/// A rule of Inputs/rows.mlir for one matrix, and arrays for its twin.
struct Work {
  Work(const std::string &rule, const std::string &facts, int64_t columns,
       bool clips = false)
      : step(writeSpec(folder, rule, facts, clips),
             {{"w", {vocabulary, columns}}}, threads()),
        twins(rowTwins(target().c_str())) {
    const Manifest::Group &group = step.manifest().groups.front();
    weight = step.parameters[0].clone();
    for (const Tensor &state : step.states)
      states.push_back(state.clone());
    x.g = step.gradients[0].f32();
    x.w = weight.f32();
    if (!states.empty())
      x.a = states[0].f32();
    if (states.size() > 1)
      x.b = states[1].f32();
    x.rows = vocabulary;
    x.columns = columns;
    x.lr = float(group.lr);
    x.wd = float(group.wd);
    sums.resize(size_t(columns));
    mean.resize(sums.size());
    meanOfRows.resize(sums.size());
    squares.resize(vocabulary);
  }

  static std::string writeSpec(const TemporaryFolder &folder,
                               const std::string &rule,
                               const std::string &facts, bool clips) {
    const std::string path = folder.path() + "/rows.mlir";
    std::string text = "optim.spec @rows ";
    if (clips)
      text += "clip(#optim.global_norm<1.0>) ";
    text += "{ optim.group @all [\"*\"] uses @" + rule + " lr 1.0e-3 ";
    if (rule != "momentum" && rule != "center")
      text += "wd 0.1 ";
    if (!facts.empty())
      text += "facts(" + facts + ") ";
    writeFile(path, text + "}\n" + readFile(STEEP_BENCH_INPUTS "/rows.mlir"));
    return path;
  }

  /// A loop over all rows.
  void run(void (*body)(const RowArrays &, int64_t, int64_t)) {
    step.pool().run(x.rows,
                    [&](int64_t begin, int64_t end) { body(x, begin, end); });
  }
  /// A loop over all rows that adds to sums of columns, of each thread's own
  /// part first.
  template <typename Body> void sum(const Body &body, std::vector<float> &to) {
    std::fill(sums.begin(), sums.end(), 0.0);
    std::mutex lock;
    step.pool().run(x.rows, [&](int64_t begin, int64_t end) {
      std::vector<double> part(sums.size());
      body(part.data(), begin, end);
      const std::lock_guard<std::mutex> guard(lock);
      for (size_t j = 0; j < part.size(); ++j)
        sums[j] += part[j];
    });
    for (size_t j = 0; j < sums.size(); ++j)
      to[j] = float(sums[j] / double(x.rows));
  }

  void projected() {
    sum([&](double *part, int64_t b,
            int64_t e) { twins.projectedFirst(x, part, b, e); },
        mean);
    sum([&](double *part, int64_t b,
            int64_t e) { twins.projectedSecond(x, mean.data(), part, b, e); },
        meanOfRows);
    step.pool().run(x.rows, [&](int64_t b, int64_t e) {
      twins.projectedThird(x, mean.data(), meanOfRows.data(), b, e);
    });
  }
  void center() {
    sum([&](double *part, int64_t b,
            int64_t e) { twins.columnSums(x, part, b, e); },
        mean);
    step.pool().run(x.rows, [&](int64_t b, int64_t e) {
      twins.center(x, mean.data(), b, e);
    });
  }
  void sumSquares() {
    step.pool().run(x.rows, [&](int64_t b, int64_t e) {
      twins.squares(x, squares.data(), b, e);
    });
    double sum = 0;
    for (double row : squares)
      sum += row;
    benchmark::DoNotOptimize(sum);
  }

  /// Both must do the same: one update of each, from the same numbers.
  void check(const std::function<void()> &twin) {
    step.apply();
    twin();
    double difference = 0, size = 0;
    for (int64_t i = 0; i < weight.count(); ++i) {
      const double a = step.parameters[0].f32()[i], b = weight.f32()[i];
      difference += (a - b) * (a - b);
      size += b * b;
    }
    if (!(difference <= 1e-10 * size))
      fail("compiled and plain weights differ by {:.2g}",
           std::sqrt(difference / size));
  }

  TemporaryFolder folder; // of the spec
  Step step;
  const RowTwins &twins;
  Tensor weight;
  std::vector<Tensor> states;
  RowArrays x;
  std::vector<double> sums, squares;
  std::vector<float> mean, meanOfRows;
};

using Update = void (*)(Work &);

/// `passes`: reads and writes of a whole matrix that the update cannot avoid.
void addRule(const std::string &rule, const std::string &facts, int64_t columns,
             double passes, double bound, Update twin) {
  Comparison what;
  what.name = fmt::format("rows/{}/{}x{}", rule, vocabulary, columns);
  what.other = "plain C++ loop";
  what.bound = bound;
  what.work = passes * 4 * double(vocabulary * columns);
  what.unit = "B";
  addComparison(what, [=] {
    auto work = std::make_shared<Work>(rule, facts, columns);
    work->check([=] { twin(*work); });
    return Pair{[=] { work->step.apply(); }, [=] { twin(*work); }};
  });
}

/// Whole steps of a rule that projects: the norm's pass over the gradient works
/// for the projection, too.
void addStep(const std::string &rule, double passes, Update twin,
             const std::string &shown) {
  Comparison what;
  what.name = fmt::format("rows/{}/{}x512", shown, vocabulary);
  what.other = "plain C++ loops, with the norm";
  what.work = passes * 4 * double(vocabulary) * 512;
  what.unit = "B";
  addComparison(what, [=] {
    auto work = std::make_shared<Work>(rule, "", 512);
    work->check([=] { twin(*work); });
    return Pair{[=] { work->step.step(); },
                [=] {
                  work->sumSquares();
                  twin(*work);
                }};
  });
}

constexpr const char *bothFacts = "#geo.zero_column_sum, #geo.shift_invariant";

/// What the projections cost: the compiled update beside the compiled one
/// without them. Of whole steps, since the norm's pass over the gradient may
/// work for the update; what plain RowNorm's norm takes is taken off both.
void addProjection(const std::string &shown, const std::string &facts,
                   bool clips, double bound) {
  Comparison what;
  what.name = fmt::format("rows/{}{}/{}x512", shown, clips ? "_clipped" : "",
                          vocabulary);
  what.other = "compiled plain RowNorm";
  what.bound = bound;
  what.work = 6 * 4 * double(vocabulary) * 512;
  what.unit = "B";
  addComparison(what, [=] {
    auto ours = std::make_shared<Work>("rownorm", facts, 512, clips);
    auto plain = std::make_shared<Work>("rownorm", bothFacts, 512, clips);
    return Pair{[=] { ours->step.step(); }, [=] { plain->step.step(); },
                [=] { plain->step.prepare(); }};
  });
}

void addSquares() {
  Comparison what;
  what.name = fmt::format("rows/squares/{}x512", vocabulary);
  what.other = "plain C++ loop";
  what.work = 4 * double(vocabulary) * 512;
  what.unit = "B";
  addComparison(what, [] {
    auto work = std::make_shared<Work>("rownorm", bothFacts, 512);
    return Pair{[=] { work->step.prepare(); }, [=] { work->sumSquares(); }};
  });
}

void addAll() {
  const Update rowNorm = [](Work &w) { w.run(w.twins.rowNorm); };
  addRule("rownorm", bothFacts, 512, 5, 1.05, rowNorm);
  addRule("adamw", "", 512, 7, 1.05, [](Work &w) { w.run(w.twins.adamw); });
  addRule("lion", "", 512, 5, 0, [](Work &w) { w.run(w.twins.lion); });
  addRule("momentum", "", 512, 5, 0, [](Work &w) { w.run(w.twins.momentum); });
  addStep(
      "center", 4, [](Work &w) { w.center(); }, "center");
  addSquares();
  addStep(
      "rownorm", 7, [](Work &w) { w.projected(); }, "projected");
  for (bool clips : {false, true}) {
    addProjection("projected_over_plain", "", clips, 1.35);
    addProjection("inner_over_plain", "#geo.shift_invariant", clips, 1.35);
    addProjection("outer_over_plain", "#geo.zero_column_sum", clips, 1.35);
  }
  for (int64_t columns : {500, 513, 768, 1000})
    addRule("rownorm", bothFacts, columns, 5, 0, rowNorm);
}

} // namespace

int main(int argc, char **argv) {
  return runComparisons(argc, argv,
                        "RowBench: compiled row updates of a head beside plain "
                        "loops in C++.",
                        addAll);
}
