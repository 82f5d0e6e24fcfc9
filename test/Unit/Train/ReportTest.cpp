//===- ReportTest.cpp - plots and comparisons -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Files.h"
#include "runtime/Train/Metrics.h"
#include "runtime/Train/Plot.h"
#include "runtime/Train/Report.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

namespace fs = std::filesystem;

static std::size_t countOf(const std::string &text, const std::string &part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Plot, Ticks) {
  using Ticks = std::vector<double>;
  EXPECT_EQ(linearTicks(0, 10, 5), (Ticks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(linearTicks(-0.1, 0.1, 4), (Ticks{-0.1, -0.05, 0, 0.05, 0.1}));
  EXPECT_EQ(logarithmicTicks(0.9e-3, 1.1), (Ticks{1e-3, 1e-2, 1e-1, 1}));
  EXPECT_EQ(logarithmicTicks(0.9, 11), (Ticks{1, 2, 5, 10}));
  EXPECT_GE(logarithmicTicks(2.1, 2.4).size(), 2u);
}

TEST(Plot, OneDocument) {
  Plot plot{"a < b & c", "x", "y", false, {}};
  plot.series.push_back(
      {"one", {{1, 2}, {2, 3}, {3, NAN}, {4, 1}, {5, 2}}, false, 0});
  plot.series.push_back({"two", {{1, 1}, {5, 4}}, true, 1});
  const std::string svg = renderSvg(plot);
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(countOf(svg, "</svg>"), 1u);
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  // The value that is missing interrupts the line.
  EXPECT_EQ(countOf(svg, "<polyline"), 3u);
  EXPECT_EQ(countOf(svg, "<circle"), 6u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, DegenerateRanges) {
  for (bool logarithmic : {false, true})
    for (const auto &points :
         std::vector<std::vector<std::pair<double, double>>>{
             {},
             {{1, 5}},
             {{1, 0}, {2, 0}},
             {{1, 0}, {2, 1e-3}, {3, 1e-3}},
             {{1, NAN}},
             {{1, -3}, {2, -4}},
             {{1, 1e-300}, {2, 1e300}}}) {
      const std::string svg =
          renderSvg({"t", "x", "y", logarithmic, {{"s", points, false, 0}}});
      EXPECT_EQ(svg.find("nan"), std::string::npos);
      EXPECT_EQ(svg.find("inf"), std::string::npos);
      EXPECT_LT(svg.size(), 20000u);
    }
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static void writeRun(const std::string &folder, double diameter, double val) {
  fs::create_directories(folder);
  std::string text;
  for (int64_t step = 1; step <= 3; ++step) {
    StepMetrics metrics;
    metrics.step = step;
    metrics.loss = 5 - 0.5 * step;
    if (step == 2)
      metrics.hilbertRms = diameter * 3;
    if (step == 3) {
      metrics.headDiameter = diameter;
      metrics.valLoss = val;
    }
    text += metrics.json() + "\n";
  }
  writeFile(folder + "/metrics.jsonl", text);
}

TEST(Report, Comparison) {
  TemporaryFolder folder;
  writeRun(folder.path("rownorm"), 1e-3, 4.0);
  writeRun(folder.path("adamw"), 2e-2, 3.96);
  const std::string text =
      compareRuns({folder.path("rownorm/"), folder.path("adamw")},
                  folder.path("comparison"));
  EXPECT_EQ(text,
            "run             steps         loss     val loss       D(S_t)  "
            "Hilbert RMS\n"
            "rownorm             3       3.5000       4.0000   1.0000e-03   "
            "3.0000e-03\n"
            "adamw               3       3.5000       3.9600   2.0000e-02   "
            "6.0000e-02\n"
            "ratio                          x 1       x 0.99         x 20      "
            "   x 20\n"
            "\n"
            "The final D(S_t) of rownorm is 20.0 times smaller than that of "
            "adamw.\n"
            "The final Hilbert RMS of rownorm is 20.0 times smaller than that "
            "of adamw.\n"
            "Their validation losses differ by 0.0400 (1.01 %).\n");
  EXPECT_EQ(readFile(folder.path("comparison/comparison.txt")), text);
  for (const char *name :
       {"loss.svg", "head_diameter.svg", "hilbert_rms.svg"}) {
    const std::string svg = readFile(folder.path("comparison/") + name);
    EXPECT_NE(svg.find("rownorm"), std::string::npos);
    EXPECT_NE(svg.find("adamw"), std::string::npos);
  }
  EXPECT_TRUE(fs::exists(folder.path("comparison/comparison.json")));
}

TEST(Report, ComparisonSaysThatLengthsDiffer) {
  TemporaryFolder folder;
  writeRun(folder.path("a"), 1, 1);
  writeRun(folder.path("b"), 1, 1);
  const std::string lines = readFile(folder.path("b/metrics.jsonl"));
  writeFile(folder.path("b/metrics.jsonl"),
            lines.substr(0, lines.find('\n') + 1));
  const std::string text = compareRuns({folder.path("a"), folder.path("b")},
                                       folder.path("comparison"));
  EXPECT_NE(text.find("The runs differ in their number of steps (a 3, b 1): "
                      "their last values do not compare like with like.\n"),
            std::string::npos)
      << text;
}

TEST(Report, ComparisonOfNothing) {
  TemporaryFolder folder;
  writeRun(folder.path("a"), 1, 1);
  fs::create_directories(folder.path("empty"));
  const std::string out = folder.path("comparison");
  EXPECT_EQ(failure([&] { compareRuns({folder.path("a")}, out); }),
            "--compare expects at least two runs' folders, got 1");
  EXPECT_EQ(failure([&] {
              compareRuns({folder.path("a"), folder.path("empty")}, out);
            }),
            "--compare " + folder.path("empty") +
                ": no run is there (metrics.jsonl is missing)");
  EXPECT_FALSE(fs::exists(out));
}
