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
#include "runtime/Train/RunConfig.h"

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

TEST(Report, ComparisonSaysWhatElseDiffers) {
  TemporaryFolder folder;
  const std::string a = folder.path("a"), b = folder.path("b");
  writeRun(a, 1, 1);
  writeRun(b, 1, 1);
  RunConfig config = smallRun(a);
  writeFile(a + "/config.json", config.json());
  const std::string out = folder.path("comparison");
  config.threads = 2; // no difference
  writeFile(b + "/config.json", config.json());
  EXPECT_EQ(compareRuns({a, b}, out).find("differ in more"), std::string::npos);
  config.sizes.dim = 64;
  config.seed = 7;
  config.data = "/other";
  writeFile(b + "/config.json", config.json());
  const std::string lines = readFile(b + "/metrics.jsonl");
  writeFile(b + "/metrics.jsonl", lines.substr(lines.find('\n') + 1));
  const std::string text = compareRuns({a, b}, out);
  EXPECT_NE(text.find("The runs differ in more than the optimizer: dim (32, "
                      "64), seed (1, 7), data (\"\", \"/other\").\nThe "
                      "metrics of b begin at step 2.\n"),
            std::string::npos)
      << text;
}

TEST(Report, ComparisonOfEqualRunsAndOfNoNumber) {
  TemporaryFolder folder;
  const std::string a = folder.path("a"), b = folder.path("b");
  writeRun(a, 1, 1);
  writeRun(b, 1, std::nan(""));
  const std::string text = compareRuns({a, b}, folder.path("comparison"));
  EXPECT_NE(text.find("The final D(S_t) of a and b are equal.\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("times smaller"), std::string::npos) << text;
  EXPECT_EQ(text.find("x nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("differ by nan"), std::string::npos) << text;
}

TEST(Report, ComparisonOverwritesNoRun) {
  TemporaryFolder folder;
  for (const char *name : {"a", "b", "c"})
    writeRun(folder.path(name), 1, 1);
  writeFile(folder.path("a/loss.svg"), "own");
  const std::vector<std::string> runs = {folder.path("a"), folder.path("b")};
  EXPECT_EQ(failure([&] { compareRuns(runs, folder.path("b/../a/")); }),
            "--out " + folder.path("b/../a/") +
                ": it is one of the runs, whose own plots would be "
                "overwritten");
  EXPECT_EQ(failure([&] { compareRuns(runs, folder.path("c")); }),
            "--out " + folder.path("c") +
                ": a run is there, whose own plots would be overwritten");
  EXPECT_EQ(readFile(folder.path("a/loss.svg")), "own");
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
