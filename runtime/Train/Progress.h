//===- Progress.h - what a run says while it runs ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_PROGRESS_H
#define STEEP_RUNTIME_TRAIN_PROGRESS_H

#include "runtime/Train/Metrics.h"

#include <cstdint>
#include <cstdio>
#include <string>

namespace steep {

enum class ProgressMode {
  Line,  ///< one line, rewritten in place: for a terminal
  Plain, ///< a line a step
  None
};

/// The mode of --progress=auto|plain|none for this stream: `auto` takes one
/// rewritten line on a terminal and plain lines elsewhere. Throws Error on
/// another word.
ProgressMode progressMode(const std::string &word, std::FILE *stream);

/// "0:41", "12:05", "3:07:00".
std::string durationText(double seconds);

/// Prints steps, with tokens a second and the time left as running averages.
class Progress {
public:
  Progress(ProgressMode mode, std::FILE *stream) : mode(mode), stream(stream) {}
  ~Progress() { end(); }

  /// Steps go from `done` to `total`.
  void begin(int64_t done, int64_t total);
  /// `wall` is what the step took with all that belongs to it.
  void step(const StepMetrics &metrics, double wall);
  /// What is going on between steps: "validating"; only on a terminal.
  void status(const std::string &text);
  /// A whole line of its own (with --progress=none too where `always`).
  void note(const std::string &text, bool always = false);
  /// Ends the rewritten line.
  void end();

private:
  void rewrite(const std::string &text);

  ProgressMode mode;
  std::FILE *stream;
  int64_t total = 0;
  double averageWall = 0, averageRate = 0;
  std::string line; ///< on the terminal now
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_PROGRESS_H
