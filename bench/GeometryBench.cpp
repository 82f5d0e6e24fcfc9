//===- GeometryBench.cpp - diameter search and oracle ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exact diameter of projected RowNorm's answer to a language-model gradient
// (20000 x 128, 4096 tokens of Zipf's law, a random softmax model), over one
// sweep of the same matrix product through all pairs; and the exact
// row-diameter oracle on 512 x 64. Times are of the processor, not of the
// clock, one thread; the two searches alternate, and the ratio is that of the
// least times.
//
// Exit status 1 where an oracle does not
// converge, the two searches differ, or, of 20000 rows or more (few rows leave
// nothing to rule out), the ratio is above 1/6.
//
//===----------------------------------------------------------------------===//
#include "bench/Arguments.h"
#include "runtime/Geometry/Cloud.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Geometry/Oracle.h"
#include "test/Unit/Geometry/Clouds.h"

#include <ctime>
#include <fmt/format.h>

using namespace steep;
using namespace steep::geometry;

namespace {

struct Options {
  int64_t rows = 20000, columns = 128, tokens = 4096, rounds = 3;
  int64_t oracleRows = 512, oracleColumns = 64;
  bool all = false;
};

double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * now.tv_nsec;
}

/// P RN(P G), in FP32.
Tensor projectedRowNorm(const Tensor &gradient) {
  const MatrixView g(gradient, "the gradient g");
  const std::vector<double> mean = g.meanRow();
  Tensor wide(DType::F64, gradient.shape());
  for (int64_t i = 0; i < g.rows; ++i) {
    double square = 0;
    for (int64_t k = 0; k < g.columns; ++k)
      square += (g(i, k) - mean[k]) * (g(i, k) - mean[k]);
    for (int64_t k = 0; k < g.columns; ++k)
      wide.f64()[i * g.columns + k] =
          square > 0 ? (g(i, k) - mean[k]) / std::sqrt(square) : 0;
  }
  const MatrixView rows(wide, "rows");
  const std::vector<double> middle = rows.meanRow();
  Tensor s(DType::F32, gradient.shape());
  for (int64_t i = 0; i < g.rows; ++i)
    for (int64_t k = 0; k < g.columns; ++k)
      s.f32()[i * g.columns + k] = static_cast<float>(rows(i, k) - middle[k]);
  return s;
}

/// The largest squared distance that the product alone sees, of all pairs.
double fullSweep(const Cloud<float> &cloud) {
  constexpr int64_t width = panelRows<float>;
  alignas(64) float values[tileRows * width];
  float most = 0;
  for (int64_t p = 0; p < cloud.points.panels(); ++p)
    for (int64_t q = p; q < cloud.points.panels(); ++q)
      for (int64_t first = 0; first < width; first += tileRows) {
        cloud.distances(p, first, q, values);
        for (float value : values)
          most = value > most ? value : most;
      }
  return most;
}

bool benchDiameter(const Options &options) {
  const Tensor s = projectedRowNorm(clouds::languageModel(
      options.rows, options.columns, options.tokens, /*seed=*/1));
  const MatrixView view(s, "s");
  const std::vector<double> mean = view.meanRow();
  double search = HUGE_VAL, sweep = HUGE_VAL, found = 0, swept = 0;
  for (int64_t round = 0; round < options.rounds; ++round) {
    double start = seconds();
    found = rowDiameter(s);
    search = std::min(search, seconds() - start);
    start = seconds();
    const Cloud<float> cloud(view, mean, 1, -HUGE_VALF, nullptr);
    swept = std::sqrt(fullSweep(cloud));
    sweep = std::min(sweep, seconds() - start);
  }
  const double ratio = search / sweep;
  const bool judged = options.rows >= 20000;
  fmt::print("diameter {}x{}: {:.9f} in {:.3f} s, exact; full sweep {:.6f} in "
             "{:.3f} s; ratio {:.4f} ({})\n",
             options.rows, options.columns, found, search, swept, sweep, ratio,
             judged ? "at most 0.1667" : "not judged below 20000 rows");
  return (!judged || ratio <= 1.0 / 6) &&
         std::fabs(found - swept) <= 1e-4 * found;
}

bool benchOracle(const char *kind, int64_t rows, int64_t columns) {
  const Tensor g = clouds::make(kind, rows, columns, 1);
  const double start = seconds();
  const oracle::Report report = solveRowDiameter(g).report;
  fmt::print("oracle {} {}x{}: T in [{:.9g}, {:.9g}], gap {:.1e}, RowNorm "
             "{:.4f} of it, {} steps, {} products, {} pairs, {:.2f} s\n",
             kind, rows, columns, report.lower, report.upper, report.gap,
             report.rowNorm / report.upper, report.steps, report.products,
             report.edges, seconds() - start);
  return report.status == oracle::Status::Converged;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  bench::Arguments arguments(
      "GeometryBench",
      "The exact diameter of projected RowNorm's answer over one sweep through "
      "all pairs, and the exact row-diameter oracle. Exit status 1 where an "
      "oracle does not converge, the two searches differ or the ratio is above "
      "1/6 of 20000 rows or more.");
  arguments.number("--rows", options.rows, 1, "of the diameter's matrix");
  arguments.number("--columns", options.columns, 1, "of the diameter's matrix");
  arguments.number("--tokens", options.tokens, 1, "that make its gradient");
  arguments.number("--rounds", options.rounds, 1, "searches of each kind");
  arguments.number("--oracle-rows", options.oracleRows, 1, "of its matrix");
  arguments.number("--oracle-columns", options.oracleColumns, 1,
                   "of its matrix");
  arguments.flag("--all", options.all, "the oracle on 2048 x 64 too");
  return arguments.run(argc, argv, [&] {
    bool good = true;
    for (const char *kind : {"gauss", "lm"})
      good &= benchOracle(kind, options.oracleRows, options.oracleColumns);
    if (options.all)
      good &= benchOracle("gauss", 2048, 64);
    good &= benchDiameter(options);
    return good ? 0 : 1;
  });
}
