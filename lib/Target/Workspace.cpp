//===- Workspace.cpp - how much memory a step works in --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Plan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace steepc {

/// A wave keeps this many threads busy even where one matrix is one block, and
/// takes no more than this much workspace where matrices are large.
static constexpr int64_t leastWave = 8, waveBytes = int64_t(64) << 20;

/// A GPU's launch has no more matrices: the grid's second dimension.
static constexpr int64_t mostWave = 65535;

/// As many matrices as may go through the kernels together.
static int64_t waveOf(int64_t count, int64_t bytes) {
  int64_t fitting = bytes > 0 ? waveBytes / bytes : count;
  return std::min({count, mostWave, std::max(leastWave, fitting)});
}

/// The workspace of one matrix, as Step.c lays it out.
static int64_t matrixBytes(const StepFunction &function) {
  return llvm::alignTo(uint64_t(function.squaresCount) * 8,
                       workspaceAlignment) +
         function.workspaceBytes;
}

static void chooseWaves(const Plan &plan, Batch &batch) {
  int64_t count = batch.parameters.size();
  int64_t largest = 0;
  for (int64_t function : batch.stepFunctions())
    largest = std::max(largest, matrixBytes(plan.functions[function]));
  batch.wave = waveOf(count, largest);
  batch.squaresWave = waveOf(count, matrixBytes(plan.functions[batch.squares]));
}

LogicalResult sizeWorkspace(Plan &plan, Operation *spec) {
  for (Batch &batch : plan.batches)
    chooseWaves(plan, batch);
  int64_t count = plan.parameters.size();
  plan.sumsBytes = llvm::alignTo(uint64_t(count) * 8, workspaceAlignment);
  for (Batch &batch : plan.batches)
    if (plan.functions[batch.squares].reads(SlotKind::GradientMean)) {
      batch.meansOffset = plan.wavesOffset();
      plan.meansBytes +=
          int64_t(batch.parameters.size()) *
          llvm::alignTo(uint64_t(batch.matrixColumns) * 4, workspaceAlignment);
    }
  // Overlap.c sorts one range of 32 bytes a tensor there, before any kernel.
  int64_t largest = (1 + 4 * count + plan.stateCount()) * 32;
  for (const Batch &batch : plan.batches) {
    auto reach = [&](int64_t function, int64_t wave) {
      int64_t bytes;
      if (llvm::MulOverflow(matrixBytes(plan.functions[function]), wave,
                            bytes) ||
          bytes > INT64_MAX / 2)
        return false;
      plan.waveBytes = std::max(plan.waveBytes, bytes);
      return true;
    };
    if (!reach(batch.squares, batch.squaresWave) ||
        !llvm::all_of(batch.stepFunctions(), [&](int64_t function) {
          return reach(function, batch.wave);
        }))
      return spec->emitOpError("needs a workspace beyond 64-bit sizes for '")
             << batch.name << "'";
  }
  largest = std::max(largest, plan.wavesOffset() + plan.waveBytes);
  plan.copyBytes = sizeCopies(plan);
  plan.workspaceBytes =
      llvm::alignTo(uint64_t(largest), workspaceAlignment) + plan.copyBytes;
  return success();
}

} // namespace steepc
