//===- Solve.cpp - from a gradient to a feasible step ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Newton.h"
#include "runtime/Geometry/Oracle/Repair.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

namespace {

/// All memory of a call.
struct Memory {
  Reduced gradient;
  Newton newton;
  Repair repair;
  Cloud<float> cloud;
  double *x = nullptr;      ///< the answer, rows x stride, centred
  double *best = nullptr;   ///< the same of the reduced problem
  double *stored = nullptr; ///< S / eta as it was stored; may be `best`

  Memory(Arena &arena, Form form, int64_t rows, int64_t columns) {
    const int64_t stride = roundUp(columns, columnPadding);
    gradient.lay(arena, rows, columns, form == Form::Repair);
    x = arena.take<double>(roundUp(rows, blockSize) * stride);
    stored = arena.take<double>(roundUp(rows, blockSize) * stride);
    if (form == Form::Repair) {
      repair.lay(arena, rows, stride);
    } else {
      best = stored;
      newton.lay(arena, rows, stride);
    }
    cloud.lay(arena, rows, stride);
  }
};

/// (1/2) sum ||g_i|| and the flow of RowNorm: bounds from nothing but norms,
/// for any centred rows of these norms with total norm 1.
struct NormBounds {
  double lower = 0, upper = 0;
  NormBounds(const double *masses, int64_t count, int64_t rank) {
    double squares = 0;
    for (int64_t i = 0; i < count; ++i)
      squares += masses[i] * masses[i];
    const double slack = static_cast<double>(count + 8) * 0x1p-52;
    lower = 0.5 * (1 - slack);
    // y_ij = n_i n_j (u_i - u_j) and Cauchy-Schwarz; or Jung.
    const double flow = __builtin_sqrt((1 - squares) / 2);
    const double jung = jungRadius(rank);
    upper = (flow < jung ? flow : jung) * (1 + slack);
  }
};

/// Writes -eta X / D(X), rounded, so that the stored rows are feasible.
class Writer {
public:
  Writer(const Problem &problem, Memory &memory, Report &report)
      : problem(problem), memory(memory), report(report) {}

  /// `factor` is 1 / D(X), rounded down.
  void write(double factor) {
    // Rounding to FP32 may lengthen a pair: then a little less is taken, and
    // nothing is always feasible.
    constexpr int attempts = 8;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      store(problem.eta > 0 ? factor : 0);
      memory.cloud.load(memory.stored, memory.gradient.rows,
                        memory.gradient.stride, 1);
      const double diameter =
          __builtin_sqrt(diameterSquared(memory.cloud, memory.stored));
      report.diameter = problem.eta * diameter;
      if (diameter <= 1)
        break;
      factor *= (1 - 0x1p-24 * (attempt + 1)) / diameter;
      if (attempt + 2 == attempts)
        factor = 0;
    }
    const Reduced &g = memory.gradient;
    double inner = 0;
    for (int64_t i = 0; i < g.rows; ++i)
      inner -= dotRows(g.full + i * g.stride, memory.stored + i * g.stride,
                       g.stride);
    report.decrease = inner / g.scale;
  }

private:
  /// Writes S, and S / eta as it was stored.
  void store(double factor) {
    const Reduced &g = memory.gradient;
    for (int64_t i = 0; i < g.rows; ++i) {
      double *row = memory.stored + i * g.stride;
      for (int64_t k = 0; k < g.columns; ++k) {
        const int64_t at = i * g.columns + k;
        double s = -problem.eta * (factor * memory.x[i * g.stride + k]);
        if (problem.wideUpdate)
          problem.wideUpdate[at] = s;
        if (problem.update) {
          problem.update[at] = static_cast<float>(s);
          s = static_cast<double>(problem.update[at]);
        }
        row[k] = problem.eta > 0 ? s / problem.eta : 0;
      }
      for (int64_t k = g.columns; k < g.stride; ++k)
        row[k] = 0;
    }
  }

  const Problem &problem;
  Memory &memory;
  Report &report;
};

/// Bounds of the reduced gradient, while it is solved, in units of G.
struct Relay {
  Observer observer;
  void *context;
  double unit;
  static void call(const Report &report, void *self) {
    const Relay &relay = *static_cast<Relay *>(self);
    Report scaled = report;
    scaled.lower *= relay.unit;
    scaled.upper *= relay.unit;
    relay.observer(scaled, relay.context);
  }
};

} // namespace

/// Solves the reduced problem; `memory.best` is feasible and report.upper
/// holds for it. All in units of the total norm.
static void solveReduced(const Problem &problem, Memory &memory,
                         Report &report) {
  const Reduced &g = memory.gradient;
  const int64_t length = g.reducedStride;
  const NormBounds bounds(g.masses, g.count, g.rank);
  report.lower = bounds.lower;
  report.upper = bounds.upper;
  for (int64_t i = 0; i < g.count; ++i)
    for (int64_t k = 0; k < length; ++k)
      memory.best[i * length + k] =
          0.5 / g.masses[i] * g.gradient[i * length + k];
  report.status = Status::Converged;
  if (g.rank == 1) {
    // Two rows that face each other: RowNorm is exact.
    report.upper = 0.5 + 0x1p-50;
    return;
  }
  Relay relay{problem.observer, problem.context, g.total / g.scale};
  report.status =
      memory.newton.run(g, problem.options, memory.best, report,
                        problem.observer ? Relay::call : nullptr, &relay);
}

/// The certificate of the whole: X as it was expanded, and the flow with the
/// price of what the presolve left out.
static void certify(Memory &memory, double upper, Report &report,
                    double &factor) {
  Reduced &g = memory.gradient;
  center(memory.x, g.rows, g.stride, g.scratch);
  memory.cloud.load(memory.x, g.rows, g.stride, 1);
  const double squared = diameterSquared(memory.cloud, memory.x);
  factor = squared > 0 ? 1 / __builtin_sqrt(squared) : 0;
  double inner = 0, sizes = 0;
  for (int64_t i = 0; i < g.rows; ++i) {
    const double *row = memory.x + i * g.stride;
    inner += dotRows(g.full + i * g.stride, row, g.stride);
    sizes += g.norms[i] * __builtin_sqrt(dotRows(row, row, g.stride));
  }
  const double terms = static_cast<double>(g.stride + g.rows + 8) * 0x1p-53;
  const double lower = (inner - terms * sizes) * factor;
  report.lower = (lower > 0 ? lower : 0) / g.scale;
  report.upper = upper / g.scale;
  report.gap =
      report.upper > 0 ? (report.upper - report.lower) / report.upper : 0;
}

int64_t arenaBytes(Form form, int64_t rows, int64_t columns) {
  const bool exact = form == Form::Exact;
  if (rows < 1 || columns < 1 ||
      rows > (exact ? maxExactRows : maxRepairRows) ||
      columns > (exact ? maxExactColumns : maxRepairColumns))
    return -1;
  Arena counter;
  Memory(counter, form, rows, columns);
  return counter.bytes();
}

static Status check(const Problem &p) {
  const int64_t needed = arenaBytes(p.options.form, p.rows, p.columns);
  if (needed < 0)
    return Status::TooLarge;
  if (p.arenaBytes < needed || !p.arena)
    return Status::ArenaSmall;
  const bool radius = p.eta >= 0 && p.eta <= 1e300;
  if (!radius || !(p.options.tolerance >= 0) || p.options.maxSteps < 0 ||
      (!p.single && !p.wide) || (!p.update && !p.wideUpdate))
    return Status::BadOption;
  return Status::Converged;
}

Report solve(const Problem &problem) {
  Report report;
  report.status = check(problem);
  if (report.status != Status::Converged)
    return report;
  Arena arena(problem.arena);
  Memory memory(arena, problem.options.form, problem.rows, problem.columns);
  Reduced &g = memory.gradient;
  if (!loadGradient(problem, g)) {
    report.status = Status::NonFinite;
    return report;
  }
  const int64_t rank =
      problem.columns < problem.rows - 1 ? problem.columns : problem.rows - 1;
  const double rowNorm = 0.5 * g.total;
  report.rowNorm = rowNorm / g.scale;
  double upper = 0, factor = 0;
  if (!(g.total > 0)) {
    memset(memory.x, 0, g.rows * g.stride * sizeof(double));
  } else if (problem.options.form == Form::Repair) {
    memory.repair.run(g, problem.options.maxSteps, memory.x, report);
    for (int64_t i = 0; i < g.rows; ++i)
      memory.stored[i] = g.norms[i] / g.total;
    upper = NormBounds(memory.stored, g.rows, rank).upper * g.total;
    report.rows = g.rows;
    report.columns = g.columns;
  } else {
    presolve(g);
    report.rows = g.count;
    report.columns = g.rank;
    solveReduced(problem, memory, report);
    // Shares of a merged row sum to 1 up to rounding.
    const double left =
        g.residual + g.total * 0x1p-52 * static_cast<double>(g.rows + g.stride);
    upper = report.upper * g.total + 2 * jungRadius(rank) * left;
    expand(g, memory.best, memory.x);
  }
  certify(memory, upper, report, factor);
  Writer(problem, memory, report).write(factor);
  return report;
}

} // namespace steep::oracle::STEEP_ORACLE_ISA
