//===- Metrics.h - metrics.jsonl --------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_METRICS_H
#define STEEP_RUNTIME_TRAIN_METRICS_H

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steep {

/// One line of metrics.jsonl, an object with these keys. A number that is not
/// finite is written as null.
struct StepMetrics {
  int64_t step = 0;      ///< batches done, this one included: 1, 2, ...
  int64_t tokens = 0;    ///< tokens seen, this batch included
  double loss = 0;       ///< mean over the batch, before the update
  double gradNorm = 0;   ///< `grad_norm`, before clipping
  double lrScale = 0;    ///< `lr_scale`, the schedule's factor
  double seconds = 0;    ///< forward, backward and update of this batch
  double tokensPerS = 0; ///< `tokens_per_s`, tokens of the batch / seconds
  bool skipped = false;  ///< the update was skipped: a non-finite gradient
  std::string nonfinite; ///< `nonfinite`: whose, where it was skipped
  std::optional<double> valLoss;      ///< `val_loss`, after the update
  std::optional<double> headDiameter; ///< `head_diameter`, D(S_t)
  std::optional<double> hilbertRms;   ///< `hilbert_rms`
  /// `head_decrease`: -<G, S_t>, what the head's step takes off this batch's
  /// loss, to first order.
  std::optional<double> headDecrease;
  /// `head_certificate`: what RowNorm reaches at least of the exact oracle, for
  /// the direction that the head's oracle was fed.
  std::optional<double> headCertificate;
  /// `head_gap`: what S_t lacks at most of the exact oracle at its D(S_t).
  std::optional<double> headGap;
  /// `measures`: {PARAMETER: {NAME: number}}, what the rules measured. Of a
  /// matrix that begins further down, the parameter is PARAMETER[ROW].
  std::map<std::string, std::map<std::string, double>> measures;

  std::string json() const;
  /// Throws Error; `origin` says where the line stands.
  static StepMetrics parse(const std::string &line, const std::string &origin);
};

/// The lines of a metrics file. A last line without its newline, left by a
/// crash, does not count.
std::vector<StepMetrics> readMetrics(const std::string &path);

/// Appends lines and flushes each.
class MetricsLog {
public:
  /// Keeps the lines up to step `keep` of an existing file and appends from
  /// there. What stands behind them is dropped unread: a run that was killed
  /// may have left half a line. What is kept must be whole: steps that follow
  /// one another, the last one `keep`; otherwise throws Error with the file and
  /// the line, and changes nothing. So does a file that is missing where `keep`
  /// is not 0; an empty one, which somebody must have made, is begun anew.
  MetricsLog(const std::string &path, int64_t keep);
  void append(const StepMetrics &metrics);
  /// Makes the lines last, as a checkpoint that counts on them does.
  void sync();

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path;
  std::unique_ptr<std::FILE, Close> file;
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_METRICS_H
