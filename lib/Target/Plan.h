//===- Plan.h - the optimizer as the host code sees it ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module at the block level says everything in IR: step functions list their
// kernels and the views of the workspace, `optim` ops say which parameters run
// them. The plan is that, as plain data: from it come the constant tables, the
// manifest, the header and `--explain`.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_PLAN_H
#define STEEP_LIB_TARGET_PLAN_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steepc {

/// Where a kernel argument comes from; values as in Host/Tables.h.
enum class SlotKind : int64_t {
  Weight = 0,
  Gradient = 1,
  State = 2,
  Update = 3,
  Squares = 4,
  Workspace = 5,
  LR = 6,
  WD = 7,
  Clip = 8,
  Step = 9,
  Constant = 10,
  Measure = 11,
  GradientMean = 12
};

/// Of everything in the workspace, in bytes.
inline constexpr int64_t workspaceAlignment = 64;

struct Slot {
  SlotKind kind;
  /// State, measure: which one. Workspace: byte offset. Constant: its bits.
  int64_t value = 0;
  /// Of the memory that the kernel may reach there; 0 for a scalar.
  int64_t bytes = 0;
};

struct Kernel {
  std::string symbol;
  std::string config; ///< #block.config, as text; empty where there is none
  int64_t grid = 0;   ///< blocks for one matrix
  std::vector<Slot> slots;
  /// For one matrix: memory that is read and written, and arithmetic.
  double bytes = 0, flops = 0;
  double leastBytes = 0; ///< of the bytes, those not in the workspace
  bool isHost = false;   ///< the symbol is a function that steepc links in
};

struct StepFunction {
  std::string symbol;
  std::vector<Kernel> kernels;
  int64_t workspaceBytes = 0; ///< for one matrix; a multiple of 64
  int64_t squaresCount = 0;   ///< FP64 results of a squares function
  /// What a relaxed geometry reaches at least of the one that was asked for.
  std::optional<double> guarantee;
  double bytes() const;
  double flops() const;
  /// Whether a kernel has an argument of that kind.
  bool reads(SlotKind kind) const;
};

struct State {
  std::string name;
  std::string convention;     ///< "sum", "ema", "adam", "mean" or empty
  std::optional<double> beta; ///< of what was averaged before
  std::vector<int64_t> shape;
  int64_t columns = 0; ///< elements of a row of it, seen as one matrix
  int64_t elements() const;
  /// The mean row of another state, which steps compute where it is all zeros.
  bool isMean() const { return convention == "mean"; }
};

struct Parameter {
  std::string name;
  std::vector<int64_t> shape;
  int64_t columns = 0; ///< elements of a row of it, seen as one matrix
  /// Where the blocks of columns begin that are matrices to the rule: {0} where
  /// these are whole rows.
  std::vector<int64_t> columnBlocks;
  /// Where the blocks of rows begin: {0} where these are whole columns.
  std::vector<int64_t> rowBlocks;
  int64_t group = 0;
  int64_t batch = -1; ///< of its first matrix
  std::vector<State> states;
  int64_t elements() const;
};

struct Group {
  std::string name, rule;
  double lr = 0, wd = 0;
  bool decays = false; ///< its rule uses the weight decay
  bool counts = false; ///< its rule uses the number of the update
};

/// Matrices of one shape and rule; functions are indices into the plan's.
struct Batch {
  std::string name;
  std::string rule;
  int64_t plain = 0, withUpdate = 0, squares = 0;
  /// The same as the first two where the rule measures nothing.
  int64_t measured = 0, measuredWithUpdate = 0;
  std::optional<int64_t> refresh; ///< computes states that are mean rows
  /// Where mean rows of the matrices' gradients lie in the workspace from the
  /// norm to the update; 0: there are none.
  int64_t meansOffset = 0;
  std::vector<std::string> measureNames;
  std::vector<int64_t> parameters; ///< of each matrix
  std::vector<int64_t> rows;       ///< first row of each in its parameter
  std::vector<int64_t> columns;    ///< first column of each
  /// How many blocks of columns stand before it; where its parameter has a
  /// number a row, a column of these belongs to each.
  std::vector<int64_t> columnBlocks;
  /// How many blocks of rows stand above it, likewise for a row of means.
  std::vector<int64_t> rowBlocks;
  std::vector<int64_t> measures; ///< its first one among the plan's
  int64_t matrixRows = 0;        ///< rows of each
  int64_t matrixColumns = 0;     ///< columns of each
  int64_t wave = 1, squaresWave = 1;

  /// The functions that run on `wave` matrices at once.
  std::vector<int64_t> stepFunctions() const {
    return {plain, withUpdate, measured, measuredWithUpdate,
            refresh.value_or(plain)};
  }
  /// Columns of each matrix's part of a parameter's state.
  int64_t columnsOf(const Parameter &parameter, const State &state) const {
    return state.columns == parameter.columns ? matrixColumns : 1;
  }
  /// Rows of it.
  int64_t rowsOf(const State &state) const {
    return state.isMean() ? 1 : matrixRows;
  }
};

/// A number that a rule measures of one matrix.
struct Measure {
  std::string name;
  int64_t parameter = 0;
  int64_t row = 0, column = 0; ///< where the matrix begins in its parameter
};

struct Schedule {
  double warmup = 0, floor = 1;
};

struct Plan {
  std::string name;
  std::optional<Schedule> schedule;
  std::optional<double> clipNorm;
  bool nonfiniteIsError = false;
  std::vector<Group> groups;
  std::vector<Parameter> parameters;
  std::vector<StepFunction> functions;
  std::vector<Batch> batches;
  /// In the order of parameters, then of their rows, then as the rule yields.
  std::vector<Measure> measures;
  int64_t sumsBytes = 0;      ///< one double a parameter, rounded up
  int64_t meansBytes = 0;     ///< for mean rows of gradients, behind the sums
  int64_t waveBytes = 0;      ///< what the largest wave works in
  int64_t copyBytes = 0;      ///< for copies of blocks of columns
  int64_t workspaceBytes = 0; ///< of the whole step on the CPU

  int64_t wavesOffset() const { return sumsBytes + meansBytes; }
  int64_t copiesOffset() const { return workspaceBytes - copyBytes; }
  int64_t stateCount() const;
  bool hasHostKernels() const;
  /// Leaves a step that only the host code of a GPU takes.
  void dropKernels();
  /// The least guarantee of the matrices of a parameter, where one is relaxed.
  std::optional<double> guaranteeOf(int64_t parameter) const;
  /// PARAMETER.NAME; PARAMETER[ROW].NAME where the matrix begins further down,
  /// PARAMETER[ROW,COLUMN].NAME where it begins further to the right.
  std::string fullName(const Measure &measure) const;
};

/// Sets `columns` and the blocks of every parameter and batch from the matrices
/// that batches hold. Part of reading a plan.
void findBlocks(Plan &plan);

/// Every element of a parameter belongs to one matrix of one batch. Reports
/// what does not on `spec`.
mlir::LogicalResult checkCover(const Plan &plan, mlir::Operation *spec);

/// What a step needs for copies of blocks of columns (Host/Stage.c).
int64_t sizeCopies(const Plan &plan);

/// Sets how many matrices of a batch go through the kernels together, and what
/// a step works in. Part of reading a plan; reports sizes beyond 64 bits on
/// `spec`.
mlir::LogicalResult sizeWorkspace(Plan &plan, mlir::Operation *spec);

/// Reads a module at the block level. Reports what is not as it should be on
/// the op in question.
mlir::FailureOr<Plan> extractPlan(mlir::ModuleOp module);

} // namespace steepc

#endif // STEEP_LIB_TARGET_PLAN_H
