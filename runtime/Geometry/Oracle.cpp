//===- Oracle.cpp - the row-diameter oracle -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle.h"

#include "runtime/Core/Error.h"
#include "runtime/Geometry/Panels.h"

#include <cmath>
#include <cstdlib>
#include <memory>

using namespace steep;
using namespace steep::oracle;
using geometry::MatrixView;

/// The widest code that this CPU runs.
static Report solveHere(const Problem &problem) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool fma = __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("x86-64-v4"))
    return avx512::solve(problem);
  if (fma && __builtin_cpu_supports("x86-64-v3"))
    return avx2::solve(problem);
#endif
  return baseline::solve(problem);
}

static void checkOptions(const OracleOptions &options) {
  if (!(options.eta >= 0) || !std::isfinite(options.eta))
    fail("eta = {} bounds no row diameter: a finite number of at least 0 is "
         "expected",
         options.eta);
  if (!(options.tolerance >= 0))
    fail("a tolerance of {} is no relative gap: a number of at least 0 is "
         "expected",
         options.tolerance);
  if (options.maxSteps < 0)
    fail("at most {} steps cannot be taken: a number of at least 0 is expected",
         options.maxSteps);
}

[[noreturn]] static void refuseSize(const MatrixView &g, Form form) {
  if (form == Form::Repair)
    fail("the repaired row-diameter oracle serves at most {} rows and {} "
         "columns, got {} x {}; the common ball (form = relax) has no limit",
         maxRepairRows, maxRepairColumns, g.rows, g.columns);
  fail("the exact row-diameter oracle serves at most {} rows and {} columns, "
       "got {} x {}; alternatives are form = repair, which is feasible and "
       "takes a few sweeps over all pairs, and form = relax, the common ball "
       "with its guarantee",
       maxExactRows, maxExactColumns, g.rows, g.columns);
}

namespace {

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};

void relay(const Report &report, void *context) {
  static_cast<const OracleOptions *>(context)->observer(report);
}

} // namespace

OracleAnswer steep::solveRowDiameter(const Tensor &gradient,
                                     const OracleOptions &options) {
  const MatrixView g(gradient, "the gradient g");
  checkOptions(options);
  const int64_t bytes = baseline::arenaBytes(options.form, g.rows, g.columns);
  if (bytes < 0)
    refuseSize(g, options.form);
  std::unique_ptr<void, Free> arena(std::aligned_alloc(64, bytes));
  if (!arena)
    fail("the row-diameter oracle needs {} bytes for a gradient of {} x {}, "
         "which is more than there is",
         bytes, g.rows, g.columns);
  OracleAnswer answer{Tensor(DType::F32, {g.rows, g.columns}), {}};
  Problem problem;
  problem.rows = g.rows;
  problem.columns = g.columns;
  if (g.isDouble())
    problem.wide = gradient.f64();
  else
    problem.single = gradient.f32();
  problem.update = answer.update.f32();
  problem.eta = options.eta;
  problem.options.form = options.form;
  problem.options.tolerance = options.tolerance;
  problem.options.maxSteps = options.maxSteps;
  problem.arena = arena.get();
  problem.arenaBytes = bytes;
  if (options.observer) {
    problem.observer = relay;
    problem.context = const_cast<OracleOptions *>(&options);
  }
  answer.report = solveHere(problem);
  if (answer.report.status == Status::NonFinite)
    fail("the gradient g has entries that are not finite; the oracle has no "
         "answer for them");
  return answer;
}
