//===- MuonBench.cpp - a Muon step against one written with a BLAS --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Muon update of a transformer's blocks (four d x d, two 4d x d and one
// d x 4d matrix each), compiled, beside the same update as it is usually
// written: momentum, Nesterov, norm, and Newton-Schulz in standard form with
// one full product a call of OpenBLAS or oneDNN, whichever is faster, a matrix
// a thread. The two alternate; medians are compared, and so are the weights
// after the first step.
//
// What OpenBLAS may use is its own to be told, OPENBLAS_CORETYPE; with --target
// libraries are limited alike by themselves.
//
//===----------------------------------------------------------------------===//
#include "bench/Arguments.h"
#include "bench/Clock.h"
#include "bench/Libraries.h"
#include "bench/TemporaryFolder.h"
#include "runtime/Core/Artefact.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.h>
#include <thread>

using namespace steep;

static const char spec[] = R"(
optim.spec @bench { optim.group @all ["*"] uses @muon lr 8.0e-3 wd 0.1 }
optim.rule @muon(%w: tensor<?x?xf32>, %g: tensor<?x?xf32>, %h: !optim.scalars)
    state(%b "momentum_buffer": tensor<?x?xf32>) {
  %lr, %wd, %clip, %t = optim.scalars %h
  %gc = geo.scale %g, %clip
  %b1, %n = geo.momentum %b, %gc {beta = 0.95, nesterov}
  %r  = geo.shape_scale %lr, %w {kind = "original"}
  %s  = geo.spectral %n radius(%r)DOT {schedule = "jordan", steps = 5, eps = 1.0e-5, form = "auto"}
  %w1 = geo.apply %w, %s decay(%lr, %wd)
  optim.yield %w1, %b1
}
)";

struct Options {
  int64_t blocks = 32, dim = 512, threads = 2, rounds = 3;
  std::string dot = "f32", target = "native", clock = "elapsed", json;
};

using Shapes = std::vector<std::vector<int64_t>>;

static Shapes shapesOf(const Options &options) {
  Shapes shapes;
  const int64_t d = options.dim;
  for (int64_t i = 0; i < options.blocks; ++i) {
    shapes.insert(shapes.end(), 4, {d, d});
    shapes.insert(shapes.end(), 2, {4 * d, d});
    shapes.push_back({d, 4 * d});
  }
  return shapes;
}

static std::shared_ptr<Artefact> compile(const Options &options,
                                         const Shapes &shapes) {
  const bench::TemporaryFolder folder;
  CompileRequest request;
  request.spec = folder.path() + "/muon.mlir";
  std::string text = spec;
  text.replace(text.find("DOT"), 3,
               options.dot == "f32" ? "" : " dot(" + options.dot + ")");
  writeFile(request.spec, text);
  std::string list;
  for (size_t i = 0; i < shapes.size(); ++i)
    list += fmt::format(
        R"({}{{"name": "w{:04}", "shape": [{}, {}], "dtype": "F32"}})",
        i ? ", " : "", i, shapes[i][0], shapes[i][1]);
  request.parameters = R"({"tensors": [)" + list + "]}";
  request.compiler = STEEP_BENCH_COMPILER;
  request.target = options.target;
  return Artefact::load(compileArtefact(request));
}

//===----------------------------------------------------------------------===//
// The update with library products
//===----------------------------------------------------------------------===//

/// C = alpha op(A) op(B) + beta C, row-major; op(B) is k x n.
struct Library {
  std::string name;
  bench::Sgemm openblas = nullptr;

  void multiply(bool transposed, int64_t m, int64_t n, int64_t k, float alpha,
                const float *a, const float *b, float beta, float *c) const {
    const int ldb = int(transposed ? k : n);
    if (openblas)
      openblas(101, 111, transposed ? 112 : 111, int(m), int(n), int(k), alpha,
               a, int(k), b, ldb, beta, c, int(n));
    else
      dnnl_sgemm('N', transposed ? 'T' : 'N', m, n, k, alpha, a, k, b, ldb,
                 beta, c, n);
  }
};

static std::vector<Library> libraries(const bench::OpenBLAS &blas) {
  std::vector<Library> list{{"oneDNN"}};
  if (blas.sgemm)
    list.push_back({"OpenBLAS " + blas.core, blas.sgemm});
  return list;
}

/// One thread's buffers.
struct Scratch {
  std::vector<float> n, x, y, a, z;
};

static void muon(const Library &library, Scratch &s, int64_t rows,
                 int64_t columns, float *w, const float *g, float *b) {
  const int64_t count = rows * columns, m = std::min(rows, columns),
                k = std::max(rows, columns);
  for (auto *buffer : {&s.n, &s.x, &s.y})
    buffer->resize(count);
  s.a.resize(m * m);
  s.z.resize(m * m);
  float lanes[16] = {};
  for (int64_t i = 0; i < count; ++i) {
    b[i] = 0.95f * b[i] + g[i];
    s.n[i] = 0.95f * b[i] + g[i];
    lanes[i % 16] += s.n[i] * s.n[i];
  }
  double squares = 0;
  for (float lane : lanes)
    squares += lane;
  const float inverse = 1 / (float(std::sqrt(squares)) + 1e-5f);
  const bool tall = rows > columns;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < k; ++j)
      s.x[i * k + j] = inverse * (tall ? s.n[j * m + i] : s.n[i * k + j]);
  for (int step = 0; step < 5; ++step) {
    library.multiply(true, m, m, k, 1, s.x.data(), s.x.data(), 0, s.a.data());
    s.z = s.a;
    library.multiply(false, m, m, m, 2.0315f, s.a.data(), s.a.data(), -4.7750f,
                     s.z.data());
    s.y = s.x;
    library.multiply(false, m, k, m, 1, s.z.data(), s.x.data(), 3.4445f,
                     s.y.data());
    std::swap(s.x, s.y);
  }
  const float rate =
      8e-3f * std::sqrt(std::max(1.0f, float(rows) / float(columns)));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float value = s.x[tall ? j * k + i : i * k + j];
      w[i * columns + j] =
          w[i * columns + j] * (1 - 8e-3f * 0.1f) - rate * value;
    }
}

static void libraryStep(const Library &library, const Shapes &shapes,
                        std::vector<Scratch> &scratch,
                        std::vector<Tensor> &weights,
                        const std::vector<Tensor> &gradients,
                        std::vector<Tensor> &states) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (Scratch &own : scratch)
    threads.emplace_back([&] {
      bench::useOneThread();
      // The largest last in the list come first: threads end together.
      for (size_t i; (i = next++) < shapes.size();)
        muon(library, own, shapes[i][0], shapes[i][1], weights[i].f32(),
             gradients[i].f32(), states[i].f32());
    });
  for (std::thread &thread : threads)
    thread.join();
}

//===----------------------------------------------------------------------===//
// Contest
//===----------------------------------------------------------------------===//

static bool ofProcessors = false; // --clock cpu

template <typename Body> static double seconds(const Body &body) {
  const double begin = bench::now(ofProcessors);
  body();
  return bench::now(ofProcessors) - begin;
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

static double difference(const std::vector<Tensor> &ours,
                         const std::vector<Tensor> &theirs,
                         const Shapes &shapes) {
  double error = 0, size = 0;
  for (size_t i = 0; i < shapes.size(); ++i)
    for (int64_t j = 0; j < shapes[i][0] * shapes[i][1]; ++j) {
      double x = ours[i].f32()[j], y = theirs[i].f32()[j];
      error += (x - y) * (x - y);
      size += y * y;
    }
  return std::sqrt(error / size);
}

static void run(const Options &options) {
  ofProcessors = options.clock == "cpu";
  const std::string limit = bench::limitLibraries(options.target);
  const bench::OpenBLAS blas = bench::openOpenBLAS();
  const Shapes shapes = shapesOf(options);
  const std::shared_ptr<Artefact> artefact = compile(options, shapes);
  fmt::print("OpenBLAS core: {}\nTarget: {}, {}; {} time\n", blas.describe(),
             options.target, limit, ofProcessors ? "processor" : "elapsed");
  ThreadPool pool(int(options.threads));
  StepArguments arguments;
  std::vector<Tensor> weights, states;
  uint32_t seed = 1;
  for (const auto &shape : shapes) {
    for (auto *list : {&arguments.parameters, &arguments.gradients,
                       &arguments.states, &weights, &states}) {
      list->emplace_back(DType::F32, shape);
      std::fill_n(list->back().f32(), shape[0] * shape[1], 0.0f);
    }
    for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
      seed = seed * 1664525u + 1013904223u;
      arguments.gradients.back().f32()[i] =
          float(int32_t(seed >> 8) - 8388608) / 8388608;
    }
  }
  arguments.lr = {8e-3};
  arguments.wd = {0.1};
  std::vector<Scratch> scratch(options.threads);
  auto theirs = [&](const Library &library) {
    return seconds([&] {
      libraryStep(library, shapes, scratch, weights, arguments.gradients,
                  states);
    });
  };
  auto ours = [&] {
    return seconds([&] { artefact->step(arguments, &pool); });
  };
  ours();
  Library best;
  double fastest = 0, error = 0;
  for (const Library &library : libraries(blas)) {
    double time = theirs(library);
    if (fastest == 0) {
      error = difference(arguments.parameters, weights, shapes);
      fmt::print("difference of the weights after one step: {:.2g}\n", error);
    }
    fmt::print("{}: {:.3f} s\n", library.name, time);
    if (fastest == 0 || time < fastest) {
      fastest = time;
      best = library;
    }
  }
  std::vector<double> compiled, library;
  for (int round = 0; round < options.rounds; ++round) {
    compiled.push_back(ours());
    library.push_back(theirs(best));
  }
  fmt::print("{} blocks of d = {}, {} threads: compiled {:.3f} s, {} {:.3f} s, "
             "{:.2f} times as fast\n",
             options.blocks, options.dim, options.threads, median(compiled),
             best.name, median(library), median(library) / median(compiled));
  if (options.json.empty())
    return;
  const nlohmann::json figures = {{"blocks", options.blocks},
                                  {"dim", options.dim},
                                  {"threads", options.threads},
                                  {"dot", options.dot},
                                  {"target", options.target},
                                  {"libraries", limit},
                                  {"openblas", blas.describe()},
                                  {"clock", options.clock},
                                  {"compiled_seconds", median(compiled)},
                                  {"library", best.name},
                                  {"library_seconds", median(library)},
                                  {"difference", error}};
  writeFile(options.json, figures.dump(1) + "\n");
}

int main(int argc, char **argv) {
  Options options;
  bench::Arguments arguments(
      "MuonBench",
      "A Muon step of a transformer's blocks, compiled, beside the "
      "same update with products of oneDNN or OpenBLAS.");
  arguments.number("--blocks", options.blocks, 1,
                   "of four d x d matrices, two "
                   "4d x d and one d x 4d");
  arguments.number("--dim", options.dim, 1, "d");
  arguments.number("--threads", options.threads, 1, "of each contender");
  arguments.number("--rounds", options.rounds, 1, "steps of each contender");
  arguments.choice("--dot", options.dot, {"f32", "bf16"},
                   "operands of compiled products");
  arguments.text("--target", options.target,
                 "steepc's --target; libraries are limited to the same "
                 "instructions where it is x86-64 or one of its levels");
  arguments.choice("--clock", options.clock, {"elapsed", "cpu"},
                   "cpu: what threads worked, where others use the machine");
  arguments.text("--json", options.json, "file for the figures");
  return arguments.run(argc, argv, [&] {
    run(options);
    return 0;
  });
}
