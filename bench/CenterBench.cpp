//===- CenterBench.cpp - centring a head against plain loops --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step whose increment is the gradient without its mean row, compiled, over
// one thread of plain loops that do the same: the norm of the gradient, the
// mean row in FP64, and the weight less it. The two alternate; the ratio is
// that of the medians, below 1 where the compiled step is faster.
//
//===----------------------------------------------------------------------===//
#include "bench/Arguments.h"
#include "bench/TemporaryFolder.h"
#include "runtime/Core/Artefact.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

using namespace steep;

static const char spec[] = R"(
optim.spec @bench { optim.group @all ["*"] uses @center lr 1.0 }
optim.rule @center(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %s  = geo.center %gc
  %w1 = geo.apply %w, %s
  optim.yield %w1
}
)";

static std::shared_ptr<Artefact> compile(int64_t rows, int64_t columns) {
  const bench::TemporaryFolder folder;
  CompileRequest request;
  request.spec = folder.path() + "/center.mlir";
  writeFile(request.spec, spec);
  request.parameters = fmt::format(
      R"({{"tensors": [{{"name": "w", "shape": [{}, {}], "dtype": "F32"}}]}})",
      rows, columns);
  request.compiler = STEEP_BENCH_COMPILER;
  return Artefact::load(compileArtefact(request));
}

/// Returns the norm, so that it is computed.
static double plainStep(float *w, const float *g, int64_t rows,
                        int64_t columns) {
  double squares = 0;
  for (int64_t i = 0; i < rows * columns; ++i)
    squares += double(g[i]) * g[i];
  std::vector<double> sums(columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      sums[j] += g[i * columns + j];
  std::vector<float> mean(columns);
  for (int64_t j = 0; j < columns; ++j)
    mean[j] = float(sums[j] / double(rows));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      w[i * columns + j] += g[i * columns + j] - mean[j];
  return std::sqrt(squares);
}

template <typename Body> static double seconds(const Body &body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

static void run(int threads, int64_t rows, int64_t columns) {
  const std::shared_ptr<Artefact> artefact = compile(rows, columns);
  ThreadPool pool(threads);
  StepArguments arguments;
  arguments.parameters.emplace_back(DType::F32,
                                    std::vector<int64_t>{rows, columns});
  arguments.gradients.emplace_back(DType::F32,
                                   std::vector<int64_t>{rows, columns});
  arguments.lr = arguments.wd = {0};
  Tensor plain(DType::F32, {rows, columns});
  float *g = arguments.gradients[0].f32();
  for (int64_t i = 0; i < rows * columns; ++i)
    g[i] = float(1 + i % 1009) / 1009;
  std::vector<double> ours, theirs;
  double norm = 0, difference = 0;
  for (int round = 0; round < 7; ++round) {
    ours.push_back(seconds([&] { artefact->step(arguments, &pool); }));
    theirs.push_back(
        seconds([&] { norm = plainStep(plain.f32(), g, rows, columns); }));
  }
  for (int64_t i = 0; i < rows * columns; ++i)
    difference = std::max<double>(
        difference,
        std::fabs(plain.f32()[i] - arguments.parameters[0].f32()[i]));
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  fmt::print("{} x {}, {} threads: compiled {:.1f} ms, plain loops {:.1f} ms, "
             "ratio {:.2f}; norm {:.6g}, largest difference {:.2g}\n",
             rows, columns, threads, ours[3] * 1e3, theirs[3] * 1e3,
             ours[3] / theirs[3], norm, difference);
}

int main(int argc, char **argv) {
  int64_t threads = 1, rows = 50257, columns = 512;
  bench::Arguments arguments(
      "CenterBench",
      "A compiled step that centres a gradient, over plain loops that do.");
  arguments.number("THREADS", threads, 1, "of the compiled step");
  arguments.number("ROWS", rows, 1, "of the gradient");
  arguments.number("COLUMNS", columns, 1, "of the gradient");
  return arguments.run(argc, argv, [&] {
    run(static_cast<int>(threads), rows, columns);
    return 0;
  });
}
