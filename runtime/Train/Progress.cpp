//===- Progress.cpp - what a run says while it runs -----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Progress.h"

#include "runtime/Core/Error.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace steep;

ProgressMode steep::progressMode(const std::string &word, std::FILE *stream) {
  if (word == "none")
    return ProgressMode::None;
  if (word == "plain")
    return ProgressMode::Plain;
  if (word != "auto")
    fail("--progress {}: expected auto, plain or none", word);
  const char *terminal = std::getenv("TERM");
  const bool dumb = terminal && std::string(terminal) == "dumb";
  return isatty(fileno(stream)) && !dumb ? ProgressMode::Line
                                         : ProgressMode::Plain;
}

std::string steep::durationText(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return "?";
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60,
                       whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

static std::string rateText(double tokens) {
  return tokens >= 1e5 ? fmt::format("{:.0f}k tok/s", tokens / 1e3)
                       : fmt::format("{:.0f} tok/s", tokens);
}

void Progress::begin(int64_t, int64_t steps) {
  total = steps;
  averageWall = averageRate = 0;
}

/// The sign of a NaN says nothing.
static double unsignedNan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

/// What rules measured: ` | lm_head.weight: certificate 0.7148, rows 46.8`.
static std::string measuresText(const StepMetrics &metrics) {
  constexpr std::size_t most = 2; // matrices; metrics.jsonl has them all
  std::string text;
  std::size_t shown = 0;
  for (const auto &[parameter, numbers] : metrics.measures) {
    if (shown++ == most)
      return text +
             fmt::format(" | and {} more", metrics.measures.size() - most);
    text += " | " + parameter;
    const char *separator = ": ";
    for (const auto &[name, number] : numbers) {
      text += fmt::format("{}{} {:.4g}", separator, name, unsignedNan(number));
      separator = ", ";
    }
  }
  return text;
}

void Progress::step(const StepMetrics &metrics, double wall) {
  // Averages over about ten steps, but true ones over the first few.
  const double weight = averageWall == 0 ? 1.0 : 0.1;
  averageWall += weight * (wall - averageWall);
  averageRate += weight * (metrics.tokensPerS - averageRate);
  if (mode == ProgressMode::None)
    return;
  std::string text = fmt::format(
      "step {}/{} | loss {:.4f} | grad norm {:.3g} | lr x {:.3f} | {:.0f} ms | "
      "{} | {} left",
      metrics.step, total, unsignedNan(metrics.loss),
      unsignedNan(metrics.gradNorm), metrics.lrScale, metrics.seconds * 1e3,
      rateText(averageRate),
      durationText(averageWall * static_cast<double>(total - metrics.step)));
  if (metrics.valLoss)
    text += fmt::format(" | val loss {:.4f}", *metrics.valLoss);
  if (metrics.headDiameter)
    text += fmt::format(" | D {:.3e}", *metrics.headDiameter);
  if (metrics.hilbertRms)
    text += fmt::format(" | Hilbert RMS {:.3e}", *metrics.hilbertRms);
  if (metrics.headCertificate)
    text += fmt::format(" | certificate {:.4f}", *metrics.headCertificate);
  if (metrics.headGap)
    text += fmt::format(" | gap {:.1e}", *metrics.headGap);
  text += measuresText(metrics);
  if (mode == ProgressMode::Plain) {
    std::fprintf(stream, "%s\n", text.c_str());
    std::fflush(stream);
    return;
  }
  // A validated step stays on the screen.
  if (metrics.valLoss)
    note(text);
  else
    rewrite(text);
}

void Progress::status(const std::string &text) {
  if (mode == ProgressMode::Line)
    rewrite(text);
}

void Progress::note(const std::string &text, bool always) {
  if (mode == ProgressMode::None && !always)
    return;
  if (!line.empty())
    std::fprintf(stream, "\r\x1b[K");
  line.clear();
  std::fprintf(stream, "%s\n", text.c_str());
  std::fflush(stream);
}

void Progress::end() {
  if (line.empty())
    return;
  line.clear();
  std::fprintf(stream, "\n");
  std::fflush(stream);
}

void Progress::rewrite(const std::string &text) {
  // Cut to the window: a wrapped line could not be rewritten.
  std::size_t columns = 80;
  struct winsize window = {};
  if (ioctl(fileno(stream), TIOCGWINSZ, &window) == 0 && window.ws_col > 1)
    columns = window.ws_col;
  line = text.substr(0, columns - 1);
  std::fprintf(stream, "\r%s\x1b[K", line.c_str());
  std::fflush(stream);
}
