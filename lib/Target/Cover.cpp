//===- Cover.cpp - which part of a parameter each matrix is ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Plan.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;

namespace steepc {

static void sortUnique(std::vector<int64_t> &blocks) {
  llvm::sort(blocks);
  blocks.erase(llvm::unique(blocks), blocks.end());
}

static int64_t countBefore(ArrayRef<int64_t> blocks, int64_t begin) {
  return llvm::lower_bound(blocks, begin) - blocks.begin();
}

void findBlocks(Plan &plan) {
  for (const Batch &batch : plan.batches)
    for (auto [index, row, column] :
         llvm::zip_equal(batch.parameters, batch.rows, batch.columns)) {
      Parameter &parameter = plan.parameters[index];
      parameter.columns =
          std::max(parameter.columns, column + batch.matrixColumns);
      parameter.columnBlocks.push_back(column);
      parameter.rowBlocks.push_back(row);
    }
  for (Parameter &parameter : plan.parameters) {
    sortUnique(parameter.columnBlocks);
    sortUnique(parameter.rowBlocks);
  }
  for (Batch &batch : plan.batches)
    for (auto [index, row, column] :
         llvm::zip_equal(batch.parameters, batch.rows, batch.columns)) {
      const Parameter &parameter = plan.parameters[index];
      batch.columnBlocks.push_back(countBefore(parameter.columnBlocks, column));
      batch.rowBlocks.push_back(countBefore(parameter.rowBlocks, row));
    }
}

/// Begin and end of runs that should follow one another, from 0 to `size`.
using Runs = std::map<int64_t, int64_t>;

static LogicalResult checkRuns(const Runs &runs, int64_t size, StringRef unit,
                               const Parameter &parameter, Operation *spec) {
  int64_t at = 0;
  for (auto [begin, end] : runs) {
    if (begin != at)
      return spec->emitOpError("expected the matrices of the parameter \"")
             << parameter.name << "\" to follow one another, but " << unit
             << " " << at << " and " << begin << " differ";
    at = end;
  }
  if (at != size)
    return spec->emitOpError("expected matrices of ")
           << size << " " << unit << " in all for the parameter \""
           << parameter.name << "\", but got " << at;
  return success();
}

LogicalResult checkCover(const Plan &plan, Operation *spec) {
  // Of each parameter, the runs of columns, and of rows in each of them.
  std::vector<Runs> columns(plan.parameters.size());
  std::vector<std::map<int64_t, Runs>> rows(plan.parameters.size());
  for (const Batch &batch : plan.batches)
    for (auto [parameter, row, column] :
         llvm::zip_equal(batch.parameters, batch.rows, batch.columns)) {
      columns[parameter][column] = column + batch.matrixColumns;
      rows[parameter][column][row] = row + batch.matrixRows;
    }
  for (auto [parameter, across, down] :
       llvm::zip_equal(plan.parameters, columns, rows)) {
    if (across.empty())
      return spec->emitOpError("has no batch for the parameter \"")
             << parameter.name << "\"";
    if (parameter.elements() % parameter.columns != 0)
      return spec->emitOpError("has matrices of ")
             << parameter.columns << " columns in all for the parameter \""
             << parameter.name << "\", which has " << parameter.elements()
             << " elements";
    if (failed(
            checkRuns(across, parameter.columns, "columns", parameter, spec)))
      return failure();
    for (const auto &[column, runs] : down)
      if (failed(checkRuns(runs, parameter.elements() / parameter.columns,
                           "rows", parameter, spec)))
        return failure();
  }
  return success();
}

/// Bytes that a copy of so many rows and columns takes.
static int64_t copyBytes(int64_t rows, int64_t columns) {
  return llvm::alignTo(uint64_t(rows) * uint64_t(columns) * 4, 64);
}

/// What Stage.c takes for a wave of these copies.
static int64_t waveOfCopies(int64_t bytes, int64_t wave) {
  constexpr int64_t mostBytes = int64_t(64) << 20;
  return bytes * std::min(wave, std::max<int64_t>(1, mostBytes / bytes));
}

int64_t sizeCopies(const Plan &plan) {
  int64_t most = 0;
  for (const Batch &batch : plan.batches) {
    auto isCut = [&](int64_t index) {
      return plan.parameters[index].columns != batch.matrixColumns;
    };
    if (llvm::none_of(batch.parameters, isCut))
      continue;
    const Parameter &parameter = plan.parameters[batch.parameters.front()];
    int64_t one = copyBytes(batch.matrixRows, batch.matrixColumns);
    int64_t states = 0;
    for (const State &state : parameter.states)
      states +=
          copyBytes(batch.rowsOf(state), batch.columnsOf(parameter, state));
    // Gradients for the norm; a step without and with the increment.
    most = std::max({most, waveOfCopies(one, batch.squaresWave),
                     waveOfCopies(2 * one + states, batch.wave),
                     waveOfCopies(3 * one + states, batch.wave)});
  }
  return most;
}

} // namespace steepc
