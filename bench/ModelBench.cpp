//===- ModelBench.cpp - the transformer against one matrix product --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward and backward of a model with d = 512, 4 blocks and 50257 ids on 2
// sequences of 512 tokens, in floating-point operations a second, over the
// rate of oneDNN's plain-layout FP32 product 1024 x 2048 x 512 on the same
// threads. The two alternate, so that a busy machine slows both; the ratio is
// that of the medians. Work of the model: trainingFlopsPerToken of Config.h.
//
// Exit status 1 where the ratio is below 0.5.
//
//===----------------------------------------------------------------------===//
#include "bench/Arguments.h"
#include "runtime/Core/Error.h"
#include "runtime/Model/Model.h"
#include "runtime/Model/Parallel.h"
#include "runtime/Model/Products.h"
#include "runtime/Model/WaitPolicy.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <functional>

using namespace steep;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  int64_t threads = 0, rounds = 7, dim = 512, layers = 4, vocab = 50257;
  int64_t batch = 2, length = 512;
};

/// Rates of a number of runs, in operations a second: of the clock, and of the
/// processors' time (which other programs do not disturb; meaningful where idle
/// threads sleep, OMP_WAIT_POLICY=passive).
struct Rates {
  std::vector<double> wall, processor;

  void add(double work, const std::function<void()> &body) {
    const auto start = Clock::now();
    const std::clock_t used = std::clock();
    body();
    const double cpu = double(std::clock() - used) / CLOCKS_PER_SEC;
    processor.push_back(work / std::max(cpu, 1e-9));
    wall.push_back(work /
                   std::chrono::duration<double>(Clock::now() - start).count());
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(const char *what, const std::vector<double> &rates) {
  fmt::print("{:8} median {:7.1f}  best {:7.1f} GFLOP/s\n", what,
             median(rates) * 1e-9,
             *std::max_element(rates.begin(), rates.end()) * 1e-9);
}

int run(const Options &options) {
  const ModelConfig config{options.dim,   options.layers, options.dim / 64,
                           options.vocab, options.length, 64};
  Model model(config, int(options.threads));
  model.initialise(1);
  const ThreadScope scope(model.threads());
  const int64_t count = options.batch * options.length;
  std::vector<int32_t> tokens(count), targets(count);
  for (int64_t i = 0; i < count; ++i) {
    tokens[i] = int32_t(i * 7919 % options.vocab);
    targets[i] = int32_t((i + 1) * 7919 % options.vocab);
  }
  auto step = [&] {
    model.forwardBackward(tokens.data(), targets.data(), options.batch,
                          options.length);
  };

  const int64_t m = 1024, n = 2048, k = 512;
  const double productFlops = 2.0 * m * n * k;
  Products engine;
  const Tensor a(DType::F32, {m, k}), b(DType::F32, {k, n});
  const Tensor c(DType::F32, {m, n});
  std::fill_n(a.f32(), a.count(), 0.5f);
  std::fill_n(b.f32(), b.count(), 0.25f);
  auto product = [&] {
    engine.nn(Products::Result::Write, m, n, k, a.f32(), b.f32(), c.f32());
  };

  const double stepFlops =
      trainingFlopsPerToken(config, options.length) * double(count);
  const int64_t repeats = 40; // within one round, to see as much noise
  step();
  product();
  Rates steps, products;
  for (int64_t round = 0; round < options.rounds; ++round) {
    for (int64_t i = 0; i < repeats / 2; ++i)
      products.add(productFlops, product);
    steps.add(stepFlops, step);
    for (int64_t i = 0; i < repeats / 2; ++i)
      products.add(productFlops, product);
  }
  fmt::print("threads {}, {} tokens, {:.1f} GFLOP a step\n", model.threads(),
             count, stepFlops * 1e-9);
  report("model", steps.wall);
  report("product", products.wall);
  const double ratio = median(steps.wall) / median(products.wall);
  fmt::print("ratio {:.3f}  ({:.0f} tokens/s)\n", ratio,
             median(steps.wall) / stepFlops * double(count));
  fmt::print("ratio by processor time {:.3f}\n",
             median(steps.processor) / median(products.processor));
  return ratio < 0.5;
}

} // namespace

int main(int argc, char **argv) {
  limitSpinning(argv);
  Options options;
  bench::Arguments arguments(
      "ModelBench", "Forward and backward of a transformer in floating-point "
                    "operations a second, over the rate of one of oneDNN's "
                    "products. Exit status 1 where the ratio is below 0.5.");
  arguments.number("--threads", options.threads, 0, "0: all of the machine");
  arguments.number("--rounds", options.rounds, 1, "runs of each");
  arguments.number("--dim", options.dim, 1, "width, a multiple of 64");
  arguments.number("--layers", options.layers, 1, "blocks");
  arguments.number("--vocab", options.vocab, 1, "ids");
  arguments.number("--batch", options.batch, 1, "sequences");
  arguments.number("--length", options.length, 1, "tokens of a sequence");
  return arguments.run(argc, argv, [&] { return run(options); });
}
