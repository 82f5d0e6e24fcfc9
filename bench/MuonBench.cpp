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
//   MuonBench [--blocks N] [--dim D] [--threads T] [--rounds R] [--dot bf16]
//                                                       (32 512 2 3)
//
// What OpenBLAS may use is its own to be told: OPENBLAS_CORETYPE.
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Artefact.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
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
  int64_t blocks = 32, dim = 512;
  int threads = 2, rounds = 3;
  std::string dot;
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
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "steep-muon-bench";
  std::filesystem::create_directories(folder);
  CompileRequest request;
  request.spec = (folder / "muon.mlir").string();
  std::string text = spec;
  text.replace(text.find("DOT"), 3,
               options.dot.empty() ? "" : " dot(" + options.dot + ")");
  writeFile(request.spec, text);
  std::string list;
  for (size_t i = 0; i < shapes.size(); ++i)
    list += fmt::format(
        R"({}{{"name": "w{:04}", "shape": [{}, {}], "dtype": "F32"}})",
        i ? ", " : "", i, shapes[i][0], shapes[i][1]);
  request.parameters = R"({"tensors": [)" + list + "]}";
  request.compiler = STEEP_BENCH_COMPILER;
  request.cache = (folder / "cache").string();
  return Artefact::load(compileArtefact(request));
}

//===----------------------------------------------------------------------===//
// The update with library products
//===----------------------------------------------------------------------===//

/// C = alpha op(A) op(B) + beta C, row-major; op(B) is k x n.
struct Library {
  std::string name;
  void (*openblas)(int, int, int, int, int, int, float, const float *, int,
                   const float *, int, float, float *, int) = nullptr;

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

static std::vector<Library> libraries() {
  std::vector<Library> list{{"oneDNN"}};
  if (void *opened = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL)) {
    Library blas;
    *reinterpret_cast<void **>(&blas.openblas) = dlsym(opened, "cblas_sgemm");
    if (auto threads = reinterpret_cast<void (*)(int)>(
            dlsym(opened, "openblas_set_num_threads")))
      threads(1);
    auto core =
        reinterpret_cast<char *(*)()>(dlsym(opened, "openblas_get_corename"));
    blas.name = std::string("OpenBLAS ") + (core ? core() : "");
    if (blas.openblas)
      list.push_back(blas);
  }
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

template <typename Body> static double seconds(const Body &body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
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
  const Shapes shapes = shapesOf(options);
  const std::shared_ptr<Artefact> artefact = compile(options, shapes);
  ThreadPool pool(options.threads);
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
  double fastest = 0;
  for (const Library &library : libraries()) {
    double time = theirs(library);
    if (fastest == 0) {
      fmt::print("difference of the weights after one step: {:.2g}\n",
                 difference(arguments.parameters, weights, shapes));
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
}

int main(int argc, char **argv) {
  try {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
      const std::string name = argv[i], value = argv[i + 1];
      if (name == "--blocks")
        options.blocks = std::stoll(value);
      else if (name == "--dim")
        options.dim = std::stoll(value);
      else if (name == "--threads")
        options.threads = std::stoi(value);
      else if (name == "--rounds")
        options.rounds = std::stoi(value);
      else if (name == "--dot")
        options.dot = value;
      else
        throw std::runtime_error("unknown option " + name);
    }
    run(options);
    return 0;
  } catch (const std::exception &error) {
    fmt::print(stderr, "MuonBench: {}\n", error.what());
    return 1;
  }
}
