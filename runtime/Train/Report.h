//===- Report.h - plots, summaries and comparisons --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_REPORT_H
#define STEEP_RUNTIME_TRAIN_REPORT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace steep {

/// What summary.json says beside the last values of the metrics.
struct RunSummary {
  std::string status; ///< complete, stopped, interrupted or nonfinite
  int64_t parameters = 0;
  int64_t steps = 0; ///< of the whole run
  int64_t updates = 0;
  int64_t skipped = 0;
  int64_t threads = 0;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> lr; ///< peaks by group
};

/// Writes summary.json, loss.svg, head_diameter.svg and hilbert_rms.svg into a
/// run's folder from its metrics.jsonl.
void writeRunReport(const std::string &out, const RunSummary &summary);

/// Compares runs: a table of their last values and the ratios to the first
/// run, which is returned; overlay plots, comparison.txt and comparison.json go
/// into `out`. Says where the runs differ in steps, sizes, batch, seed or data.
/// Throws Error where a folder holds no run, or `out` holds one, before
/// anything is written.
std::string compareRuns(const std::vector<std::string> &runs,
                        const std::string &out);

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_REPORT_H
