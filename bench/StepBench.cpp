//===- StepBench.cpp - whole steps of the paper's models ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of specs/paper.mlir for the paper's models (norm, Muon on every matrix
// of the blocks, AdamW on the embedding, RowNorm on the head) beside the same
// step as a C++ programmer writes it: Newton-Schulz in its standard form with
// one oneDNN product a call, loops for the rest. Blocks are alike, so a part of
// the 32 is enough; $STEEP_BENCH_BLOCKS says how many (0: all).
//
//===----------------------------------------------------------------------===//
#include "bench/Compare.h"
#include "bench/Libraries.h"
#include "bench/RowTwins.h"
#include "bench/Step.h"
#include "runtime/Core/Error.h"
#include "runtime/Model/Parallel.h"
#include "runtime/Model/Products.h"
#include "runtime/Model/WaitPolicy.h"
#include "runtime/Train/Presets.h"

#include <cmath>
#include <fmt/format.h>

using namespace steep;
using namespace steep::bench;

namespace {

NamedShapes shapesOf(const ModelConfig &sizes, int64_t blocks) {
  const int64_t d = sizes.dim;
  NamedShapes list = {{"embed.weight", {sizes.vocab, d}}};
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string prefix = fmt::format("blocks.{}.", i);
    for (const char *name : {"q", "k", "v", "out"})
      list.push_back({prefix + "attn." + name + ".weight", {d, d}});
    list.push_back({prefix + "mlp.gate.weight", {4 * d, d}});
    list.push_back({prefix + "mlp.up.weight", {4 * d, d}});
    list.push_back({prefix + "mlp.down.weight", {d, 4 * d}});
  }
  list.push_back({"lm_head.weight", {sizes.vocab, d}});
  return list;
}

/// The step in plain C++ on copies of a Step's weights and states.
class PlainStep {
public:
  explicit PlainStep(Step &step)
      : step(step), scope(threads()), twins(rowTwins(target().c_str())) {
    for (const Tensor &tensor : step.parameters)
      weights.push_back(tensor.clone());
    for (const Tensor &tensor : step.states)
      states.push_back(tensor.clone());
  }

  void run() {
    const float clip = float(std::min(1.0, 1.0 / (norm() + 1e-6)));
    size_t state = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const Manifest::Parameter &parameter = step.manifest().parameters[i];
      const Manifest::Group &group =
          step.manifest()
              .groups[size_t(step.manifest().groupIndex(parameter.group))];
      RowArrays x;
      x.g = step.gradients[i].f32();
      x.w = weights[i].f32();
      x.a = states[state].f32();
      if (parameter.states.size() > 1)
        x.b = states[state + 1].f32();
      x.rows = parameter.shape[0];
      x.columns = parameter.shape[1];
      x.clip = clip;
      x.lr = float(group.lr);
      x.wd = float(group.wd);
      state += parameter.states.size();
      if (parameter.rule == "muon")
        muon(x);
      else
        rows(x, parameter.rule == "adamw" ? twins.adamw : twins.rowNorm);
    }
  }

  std::vector<Tensor> weights, states;

private:
  void rows(const RowArrays &x,
            void (*body)(const RowArrays &, int64_t, int64_t)) {
    step.pool().run(x.rows,
                    [&](int64_t begin, int64_t end) { body(x, begin, end); });
  }

  double norm() {
    double total = 0;
    for (const Tensor &gradient : step.gradients) {
      RowArrays x;
      x.g = gradient.f32();
      x.rows = gradient.dim(0);
      x.columns = gradient.dim(1);
      std::vector<double> sums(size_t(x.rows));
      step.pool().run(x.rows, [&](int64_t begin, int64_t end) {
        twins.squares(x, sums.data(), begin, end);
      });
      for (double sum : sums)
        total += sum;
    }
    return std::sqrt(total);
  }

  /// Muon with X wide: on the transpose where the weight is tall.
  void muon(const RowArrays &x) {
    const int64_t count = x.rows * x.columns;
    const bool tall = x.rows > x.columns;
    const int64_t m = std::min(x.rows, x.columns), n = count / m;
    iterate.resize(size_t(count));
    next.resize(size_t(count));
    gram.resize(size_t(m * m));
    square.resize(size_t(m * m));
    double squares = 0;
    for (int64_t i = 0; i < count; ++i) {
      const float g = x.clip * x.g[i], a = 0.95f * x.a[i] + g;
      x.a[i] = a;
      next[size_t(i)] = g + 0.95f * a;
      squares += double(next[size_t(i)]) * next[size_t(i)];
    }
    const float scale = float(1 / (std::sqrt(squares) + 1e-5));
    for (int64_t i = 0; i < x.rows; ++i)
      for (int64_t j = 0; j < x.columns; ++j)
        iterate[size_t(tall ? j * n + i : i * n + j)] =
            scale * next[size_t(i * x.columns + j)];
    for (int round = 0; round < 5; ++round)
      newtonSchulz(m, n);
    const float rate =
        x.lr * float(std::sqrt(std::max(1.0, double(x.rows) / x.columns)));
    for (int64_t i = 0; i < x.rows; ++i)
      for (int64_t j = 0; j < x.columns; ++j) {
        float &w = x.w[i * x.columns + j];
        w = w * (1 - x.lr * x.wd) -
            rate * iterate[size_t(tall ? j * n + i : i * n + j)];
      }
  }

  void newtonSchulz(int64_t m, int64_t n) {
    using Result = Products::Result;
    engine.nt(Result::Write, m, m, n, iterate.data(), iterate.data(),
              gram.data());
    engine.nn(Result::Write, m, m, m, gram.data(), gram.data(), square.data());
    for (size_t i = 0; i < gram.size(); ++i)
      square[i] = -4.7750f * gram[i] + 2.0315f * square[i];
    engine.nn(Result::Write, m, n, m, square.data(), iterate.data(),
              next.data());
    for (size_t i = 0; i < iterate.size(); ++i)
      iterate[i] = 3.4445f * iterate[i] + next[i];
  }

  Step &step;
  ThreadScope scope;
  Products engine;
  const RowTwins &twins;
  std::vector<float> iterate, next, gram, square;
};

/// The first step of both, from the same numbers.
void check(Step &step, PlainStep &plain) {
  step.step();
  plain.run();
  for (size_t i = 0; i < plain.weights.size(); ++i) {
    double difference = 0, size = 0;
    for (int64_t j = 0; j < plain.weights[i].count(); ++j) {
      const double a = step.parameters[i].f32()[j],
                   b = plain.weights[i].f32()[j];
      difference += (a - b) * (a - b);
      size += b * b;
    }
    if (!(difference <= 1e-8 * size))
      fail("{}: compiled and plain weights differ by {:.2g}",
           step.manifest().parameters[i].name, std::sqrt(difference / size));
  }
}

/// Floating-point operations of Newton-Schulz in its standard form.
double standardFlops(const NamedShapes &list) {
  double flops = 0;
  for (const auto &[name, shape] : list) {
    if (name.rfind("blocks.", 0) != 0)
      continue;
    const double m = double(std::min(shape[0], shape[1])),
                 n = double(std::max(shape[0], shape[1]));
    flops += 5 * (4 * m * m * n + 2 * m * m * m);
  }
  return flops;
}

void addPreset(const std::string &name, int64_t blocks) {
  const ModelConfig &sizes = findPreset(name).sizes;
  blocks = numberFromEnvironment("STEEP_BENCH_BLOCKS", 0, blocks);
  if (blocks < 1 || blocks > sizes.layers)
    blocks = sizes.layers;
  const NamedShapes list = shapesOf(sizes, blocks);
  Comparison what;
  what.name =
      fmt::format("steps/{}/{}_of_{}_blocks", name, blocks, sizes.layers);
  what.other = "standard form, oneDNN products, plain loops";
  what.work = standardFlops(list);
  what.unit = "FLOP";
  what.rounds = 3;
  addComparison(what, [=] {
    auto step = std::make_shared<Step>(STEEP_BENCH_SPECS "/paper.mlir", list,
                                       threads());
    auto plain = std::make_shared<PlainStep>(*step);
    check(*step, *plain);
    return Pair{[=] { step->step(); }, [=] { plain->run(); }};
  });
}

void addAll() {
  addPreset(isTiny() ? "tiny" : "190m", isQuick() ? 1 : 4);
  if (!isQuick()) {
    addPreset("380m", 2);
    addPreset("640m", 1);
  }
}

} // namespace

int main(int argc, char **argv) {
  limitSpinning(argv);
  limitLibraries(target());
  return runComparisons(
      argc, argv,
      "StepBench: whole compiled steps of the paper's models beside plain C++ "
      "with oneDNN's\nproducts. STEEP_BENCH_BLOCKS: of a model's blocks so "
      "many "
      "(0: all).",
      addAll);
}
