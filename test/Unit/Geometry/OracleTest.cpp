//===- OracleTest.cpp - the row-diameter oracle ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is claimed is checked with plain loops: that S is feasible as stored,
// that its decrease is what the report says, and that both bounds are bounds.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle.h"
#include "lib/Reference/Oracle.h"
#include "lib/Schedules/RowDiameter.h"
#include "runtime/Core/Error.h"
#include "test/Unit/Geometry/Clouds.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace steep;
using oracle::Form;
using oracle::Report;
using oracle::Status;

namespace {

double value(const Tensor &x, int64_t i, int64_t k) {
  const int64_t at = i * x.dim(1) + k;
  return x.dtype() == DType::F32 ? x.f32()[at] : x.f64()[at];
}

double plainDiameter(const Tensor &s) {
  double most = 0;
  for (int64_t i = 0; i < s.dim(0); ++i)
    for (int64_t j = 0; j < i; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < s.dim(1); ++k)
        sum += std::pow(value(s, i, k) - value(s, j, k), 2);
      most = std::max(most, sum);
    }
  return std::sqrt(most);
}

/// -<P G, S>, and the largest column sum of S.
void plainDecrease(const Tensor &g, const Tensor &s, double &decrease,
                   double &columnSum) {
  decrease = columnSum = 0;
  for (int64_t k = 0; k < g.dim(1); ++k) {
    double mean = 0, sum = 0;
    for (int64_t i = 0; i < g.dim(0); ++i)
      mean += value(g, i, k) / static_cast<double>(g.dim(0));
    for (int64_t i = 0; i < g.dim(0); ++i) {
      decrease -= (value(g, i, k) - mean) * value(s, i, k);
      sum += value(s, i, k);
    }
    columnSum = std::max(columnSum, std::fabs(sum));
  }
}

/// All that holds for any answer.
void expectSound(const Tensor &g, const OracleAnswer &answer, double eta) {
  const Report &report = answer.report;
  const double diameter = plainDiameter(answer.update);
  EXPECT_LE(diameter, eta);
  EXPECT_LE(diameter, report.diameter * (1 + 1e-15));
  EXPECT_LE(report.diameter, eta * (1 + 1e-15));
  double decrease, columnSum;
  plainDecrease(g, answer.update, decrease, columnSum);
  const double rows = static_cast<double>(g.dim(0));
  EXPECT_LE(columnSum, 1e-6 * rows * eta);
  EXPECT_NEAR(decrease, report.decrease * eta,
              1e-9 * report.rowNorm * eta + 1e-300);
  EXPECT_LE(report.lower, report.upper);
  // S is the X of the lower bound, rounded.
  EXPECT_GE(report.decrease, report.lower * (1 - 1e-6));
  EXPECT_LE(report.decrease, report.upper * (1 + 1e-12));
  EXPECT_GE(report.lower, report.rowNorm * (1 - 1e-12));
}

Tensor matrixOf(const nlohmann::json &rows) {
  Tensor x(DType::F64, {static_cast<int64_t>(rows.size()),
                        static_cast<int64_t>(rows[0].size())});
  for (int64_t i = 0; i < x.dim(0); ++i)
    for (int64_t k = 0; k < x.dim(1); ++k)
      x.f64()[i * x.dim(1) + k] = rows[i][k];
  return x;
}

std::string failure(const Tensor &g, const OracleOptions &options) {
  try {
    solveRowDiameter(g, options);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(Oracle, RecordedCases) {
  int seen = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(STEEP_TEST_DATA "/row_diameter")) {
    SCOPED_TRACE(entry.path().filename().string());
    const auto recorded = nlohmann::json::parse(std::ifstream(entry.path()));
    const Tensor g = matrixOf(recorded["G"]);
    OracleOptions options;
    options.eta = recorded["eta"];
    options.tolerance = 1e-9;
    const OracleAnswer answer = solveRowDiameter(g, options);
    const Report &report = answer.report;
    const double tension = recorded["T"];
    EXPECT_EQ(report.status, Status::Converged);
    EXPECT_LE(report.gap, 1e-9);
    // The recorded bounds are as narrow: the two intervals must meet.
    EXPECT_GE(report.upper, static_cast<double>(recorded["T_lower"]));
    EXPECT_LE(report.lower, tension * (1 + 1e-14));
    EXPECT_NEAR(report.upper, tension, 1e-8 * tension);
    EXPECT_NEAR(report.rowNorm / report.upper, recorded["ratio"], 1e-8);
    expectSound(g, answer, options.eta);
    ++seen;
  }
  EXPECT_EQ(seen, 15);
}

TEST(Oracle, AgreesWithASecondSolver) {
  for (const std::string &kind : clouds::kinds())
    for (auto [rows, columns] :
         {std::pair<int64_t, int64_t>{5, 3}, {9, 2}, {11, 6}, {7, 12}}) {
      SCOPED_TRACE(kind + " " + std::to_string(rows));
      const Tensor g = clouds::make(kind, rows, columns, 7 * rows + columns);
      const OracleAnswer answer = solveRowDiameter(g);
      expectSound(g, answer, 1);
      EXPECT_LE(answer.report.gap, 1e-6);
      const auto [lower, upper] =
          reference::tension({static_cast<std::size_t>(rows),
                              static_cast<std::size_t>(columns), g.f64()},
                             1e-5, 20000);
      EXPECT_LE(upper - lower, 2e-3 * upper);
      // Any two certified intervals of one number overlap.
      EXPECT_LE(lower, answer.report.upper * (1 + 1e-11));
      EXPECT_GE(upper, answer.report.lower * (1 - 1e-11));
    }
}

TEST(Oracle, ConvergesOnManyClouds) {
  for (const std::string &kind : clouds::kinds())
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 4},
                                 {2, 1},
                                 {3, 7},
                                 {24, 5},
                                 {25, 5},
                                 {60, 16},
                                 {130, 24}}) {
      SCOPED_TRACE(kind + " " + std::to_string(rows) + "x" +
                   std::to_string(columns));
      for (bool single : {false, true}) {
        Tensor g = clouds::make(kind, rows, columns, rows + columns);
        if (single)
          g = clouds::rounded(g);
        OracleOptions options;
        options.eta = 2.5e-3;
        const OracleAnswer answer = solveRowDiameter(g, options);
        EXPECT_EQ(answer.report.status, Status::Converged);
        EXPECT_LE(answer.report.gap, options.tolerance);
        expectSound(g, answer, options.eta);
      }
    }
}

/// Sizes that take a second or less: in how many steps and products with the
/// Laplacian's inverse, which do not depend on the machine.
TEST(Oracle, ServesSomeHundredRows) {
  for (const char *kind : {"gauss", "lm"}) {
    SCOPED_TRACE(kind);
    const Tensor g = clouds::make(kind, 512, 64, 1);
    const OracleAnswer answer = solveRowDiameter(g);
    EXPECT_EQ(answer.report.status, Status::Converged);
    EXPECT_LE(answer.report.gap, 1e-6);
    EXPECT_LE(answer.report.steps, 100);
    EXPECT_LE(answer.report.products, 3000); // 2160 of "lm"
    expectSound(g, answer, 1);
  }
}

TEST(Oracle, EveryStepIsCertified) {
  const Tensor g = clouds::make("zipf", 100, 12, 3);
  const double known = solveRowDiameter(g).report.upper;
  OracleOptions options;
  int steps = 0;
  double lower = 0, upper = HUGE_VAL;
  options.observer = [&](const Report &soFar) {
    EXPECT_LE(soFar.lower, known);
    EXPECT_GE(soFar.upper, known * (1 - 1e-6));
    EXPECT_GE(soFar.lower, lower);
    EXPECT_LE(soFar.upper, upper);
    lower = soFar.lower;
    upper = soFar.upper;
    ++steps;
  };
  EXPECT_EQ(solveRowDiameter(g, options).report.steps, steps);
  EXPECT_GT(steps, 3);
}

TEST(Oracle, AStepLimitKeepsTheCertificate) {
  const Tensor g = clouds::make("gauss", 80, 10, 4);
  for (int64_t most : {0, 1, 5}) {
    OracleOptions options;
    options.maxSteps = most;
    const OracleAnswer answer = solveRowDiameter(g, options);
    EXPECT_EQ(answer.report.status, Status::StepLimit);
    EXPECT_EQ(answer.report.steps, most);
    EXPECT_GT(answer.report.gap, 1e-6);
    expectSound(g, answer, 1);
  }
}

TEST(Oracle, KnownValues) {
  // Simplex: sqrt(k/(k+1)) / sqrt(2) of the sum of norms; more zero rows change
  // nothing.
  for (int64_t k : {2, 3, 7, 40}) {
    const Report report =
        solveRowDiameter(clouds::make("simplex", k + 1, k, 0)).report;
    const double n = static_cast<double>(k);
    EXPECT_NEAR(report.rowNorm / report.upper, std::sqrt((n + 1) / (2 * n)),
                1e-6);
  }
  // One dimension: half of the sum of sizes.
  const Report line = solveRowDiameter(clouds::make("gauss", 50, 1, 1)).report;
  EXPECT_NEAR(line.upper, line.rowNorm, 1e-12 * line.upper);
  // Antipodal rows: RowNorm is exact.
  const Report pairs =
      solveRowDiameter(clouds::make("antipodal", 60, 9, 2)).report;
  EXPECT_NEAR(pairs.upper, pairs.rowNorm, 1e-6 * pairs.upper);
}

TEST(Oracle, ScaleAndOffsetChangeNothing) {
  const Tensor g = clouds::make("gauss", 40, 8, 5);
  const OracleAnswer answer = solveRowDiameter(g);
  for (double factor : {0x1p-200, 0x1p-20, 0x1p20, 0x1p200}) {
    Tensor scaled(DType::F64, g.shape());
    for (int64_t i = 0; i < g.count(); ++i)
      scaled.f64()[i] = g.f64()[i] * factor;
    const OracleAnswer other = solveRowDiameter(scaled);
    EXPECT_EQ(other.report.upper, answer.report.upper * factor);
    for (int64_t i = 0; i < g.count(); ++i)
      ASSERT_EQ(other.update.f32()[i], answer.update.f32()[i]);
  }
  Tensor moved(DType::F64, g.shape());
  for (int64_t i = 0; i < g.count(); ++i)
    moved.f64()[i] = g.f64()[i] + 1e4;
  EXPECT_NEAR(solveRowDiameter(moved).report.upper, answer.report.upper,
              3e-6 * answer.report.upper);
}

TEST(Oracle, ZeroGradientsAndZeroRadius) {
  const OracleAnswer still = solveRowDiameter(Tensor(DType::F32, {7, 3}));
  EXPECT_EQ(still.report.status, Status::Converged);
  EXPECT_EQ(still.report.upper, 0);
  EXPECT_EQ(still.report.gap, 0);
  OracleOptions options;
  options.eta = 0; // what a warm-up starts with
  const Tensor g = clouds::make("gauss", 30, 4, 6);
  const OracleAnswer none = solveRowDiameter(g, options);
  for (int64_t i = 0; i < g.count(); ++i)
    ASSERT_EQ(none.update.f32()[i], 0);
  EXPECT_LE(none.report.gap, 1e-6);
  EXPECT_EQ(none.report.decrease, 0);
}

TEST(Oracle, RepairIsFeasibleAndBeatsRowNorm) {
  for (const std::string &kind : clouds::kinds()) {
    SCOPED_TRACE(kind);
    const Tensor g = clouds::make(kind, 96, 12, 9);
    OracleOptions options;
    options.form = Form::Repair;
    options.maxSteps = 3;
    options.eta = 0.02;
    const OracleAnswer answer = solveRowDiameter(g, options);
    const double exact = solveRowDiameter(g).report.upper;
    EXPECT_LE(plainDiameter(answer.update), options.eta);
    EXPECT_LE(answer.report.lower, exact);
    EXPECT_GE(answer.report.upper, exact * (1 - 1e-6));
    if (kind == "gauss" || kind == "lm" || kind == "zipf") {
      EXPECT_GE(answer.report.lower, answer.report.rowNorm * 1.03);
    }
  }
}

TEST(Oracle, RefusesWhatItCannotServe) {
  EXPECT_EQ(failure(Tensor(DType::F32, {4097, 2}), {}),
            "the exact row-diameter oracle serves at most 4096 rows and 4096 "
            "columns, got 4097 x 2; alternatives are form = repair, which is "
            "feasible and takes a few sweeps over all pairs, and form = relax, "
            "the common ball with its guarantee");
  EXPECT_EQ(failure(Tensor(DType::F32, {2, 3, 4}), {}),
            "the gradient g must be a matrix with at least one row and one "
            "column, got shape [2, 3, 4]");
  Tensor g(DType::F32, {3, 2});
  g.f32()[4] = NAN;
  EXPECT_EQ(failure(g, {}), "the gradient g has entries that are not finite; "
                            "the oracle has no answer for them");
  OracleOptions options;
  options.eta = -1;
  EXPECT_EQ(failure(Tensor(DType::F32, {3, 2}), options),
            "eta = -1 bounds no row diameter: a finite number of at least 0 is "
            "expected");
}

TEST(Oracle, MemoryIsQuadraticInRows) {
  const double half = oracle::baseline::arenaBytes(Form::Exact, 2048, 64);
  const double full = oracle::baseline::arenaBytes(Form::Exact, 4096, 64);
  EXPECT_LT(full, 4.1 * half);
  EXPECT_LT(full, 5e8);
  // Repairs are linear in the matrix.
  EXPECT_LT(oracle::baseline::arenaBytes(Form::Repair, 50257, 512),
            60.0 * 50257 * 512);
}

TEST(Oracle, AllInstructionSetsAgree) {
  const Tensor g = clouds::make("lm", 150, 20, 8);
  const double known = solveRowDiameter(g).report.upper;
  Tensor s(DType::F32, g.shape());
  oracle::Problem problem;
  problem.rows = g.dim(0);
  problem.columns = g.dim(1);
  problem.wide = g.f64();
  problem.update = s.f32();
  problem.arenaBytes =
      oracle::baseline::arenaBytes(Form::Exact, g.dim(0), g.dim(1));
  Tensor arena(DType::F64, {problem.arenaBytes / 8});
  problem.arena = arena.data();
  EXPECT_NEAR(oracle::baseline::solve(problem).upper, known, 1e-6 * known);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v3")) {
    EXPECT_NEAR(oracle::avx2::solve(problem).upper, known, 1e-6 * known);
  }
#endif
  problem.arenaBytes -= 64;
  EXPECT_EQ(oracle::baseline::solve(problem).status, Status::ArenaSmall);
}

TEST(Oracle, TheCompilerKnowsItsMemory) {
  using steep::schedules::RowDiameterForm;
  for (int64_t rows : {1, 2, 3, 40, 64, 65, 256, 300, 769, 1000, 4096})
    for (int64_t columns : {1, 31, 64, 100, 512, 4096})
      for (Form form : {Form::Exact, Form::Repair})
        EXPECT_EQ(schedules::rowDiameterBytes(
                      static_cast<RowDiameterForm>(form), rows, columns),
                  oracle::baseline::arenaBytes(form, rows, columns))
            << rows << "x" << columns;
  for (RowDiameterForm form :
       {RowDiameterForm::Exact, RowDiameterForm::Repair}) {
    const auto limits = schedules::rowDiameterLimits(form);
    const Form same = static_cast<Form>(form);
    EXPECT_GT(oracle::baseline::arenaBytes(same, limits.rows, limits.columns),
              0);
    EXPECT_EQ(oracle::baseline::arenaBytes(same, limits.rows + 1, 1), -1);
    EXPECT_EQ(oracle::baseline::arenaBytes(same, 1, limits.columns + 1), -1);
    EXPECT_EQ(schedules::rowDiameterBytes(form, limits.rows + 1, 1), -1);
    EXPECT_EQ(schedules::rowDiameterBytes(form, 1, limits.columns + 1), -1);
  }
}
