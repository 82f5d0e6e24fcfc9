//===- Plot.h - line plots as SVG -------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_PLOT_H
#define STEEP_RUNTIME_TRAIN_PLOT_H

#include <string>
#include <utility>
#include <vector>

namespace steep {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool dashed = false;
  int color = 0; ///< series of one run share a colour
};

struct Plot {
  std::string title;
  std::string xLabel;
  std::string yLabel;
  bool logarithmic = false; ///< the y axis
  std::vector<Series> series;
};

/// Round values that cover [low, high] in steps of 1, 2 or 5 times a power of
/// ten, about `count` of them; low < high, both finite.
std::vector<double> linearTicks(double low, double high, int count);
/// Powers of ten in [low, high], with 2 and 5 times them where those are few;
/// 0 < low < high.
std::vector<double> logarithmicTicks(double low, double high);

/// A whole SVG document. Points that are not finite (or not positive, on a
/// logarithmic axis) interrupt the line.
std::string renderSvg(const Plot &plot);

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_PLOT_H
