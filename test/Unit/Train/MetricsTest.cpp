//===- MetricsTest.cpp - metrics.jsonl and progress -----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Files.h"
#include "runtime/Train/Metrics.h"
#include "runtime/Train/Progress.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

using namespace steep;
using namespace steep::test;

static StepMetrics sample(int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.tokens = step * 100;
  metrics.loss = 0.1 + step;
  metrics.gradNorm = 1.0 / 3.0;
  metrics.seconds = 0.5;
  metrics.tokensPerS = 200;
  return metrics;
}

TEST(Metrics, RoundTrip) {
  StepMetrics metrics = sample(7);
  metrics.valLoss = 2.5;
  metrics.headDiameter = 1e-3;
  metrics.hilbertRms = 1e-2;
  metrics.headDecrease = 0.125;
  metrics.headCertificate = 0.75;
  metrics.headGap = 0.25;
  EXPECT_EQ(metrics.json(),
            R"({"step":7,"tokens":700,"loss":7.1,"grad_norm":)"
            R"(0.3333333333333333,"lr_scale":0.0,"seconds":0.5,)"
            R"("tokens_per_s":200.0,"skipped":false,"val_loss":2.5,)"
            R"("head_diameter":0.001,"hilbert_rms":0.01,)"
            R"("head_decrease":0.125,"head_certificate":0.75,)"
            R"("head_gap":0.25})");
  EXPECT_EQ(StepMetrics::parse(metrics.json(), "here").json(), metrics.json());
  metrics.gradNorm = std::numeric_limits<double>::infinity();
  metrics.skipped = true;
  metrics.nonfinite = "embed.weight";
  const StepMetrics again = StepMetrics::parse(metrics.json(), "here");
  EXPECT_TRUE(std::isnan(again.gradNorm)); // null in the file
  EXPECT_EQ(again.nonfinite, "embed.weight");
}

TEST(Metrics, AppendsAndTruncates) {
  TemporaryFolder folder;
  const std::string path = folder.path("metrics.jsonl");
  {
    MetricsLog log(path, 0);
    for (int64_t step : {1, 2, 3, 4})
      log.append(sample(step));
    // Each line is there at once.
    EXPECT_EQ(readMetrics(path).size(), 4u);
  }
  MetricsLog log(path, 2);
  ASSERT_EQ(readMetrics(path).size(), 2u);
  log.append(sample(3));
  const std::vector<StepMetrics> lines = readMetrics(path);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2].json(), sample(3).json());
}

TEST(Metrics, ALineWithoutItsEndDoesNotCount) {
  TemporaryFolder folder;
  const std::string path = folder.path("metrics.jsonl");
  writeFile(path, sample(1).json() + "\n" + sample(2).json().substr(0, 20));
  EXPECT_EQ(readMetrics(path).size(), 1u);
  MetricsLog(path, 1).append(sample(2));
  EXPECT_EQ(readMetrics(path).size(), 2u);
}

TEST(Metrics, WhatFollowsTheCheckpointIsDroppedUnread) {
  TemporaryFolder folder;
  const std::string path = folder.path("metrics.jsonl");
  const std::string whole = sample(1).json() + "\n" + sample(2).json() + "\n";
  for (const std::string &rest :
       {std::string("{\"step\":3,"), std::string("garbage\n{}\n"),
        std::string(100, '\0'), std::string("\n\n"),
        sample(3).json() + "\n" + sample(4).json().substr(0, 9)}) {
    writeFile(path, whole + rest);
    MetricsLog(path, 2).append(sample(3));
    EXPECT_EQ(readFile(path), whole + sample(3).json() + "\n");
  }
  // Begun anew where somebody emptied the damaged file, but not where it is
  // missing.
  std::filesystem::remove(path);
  EXPECT_EQ(failure([&] { MetricsLog(path, 6); }),
            "'" + path +
                "': it is missing, but the lines up to step 6 are expected, "
                "where the checkpoint was made; an empty file in its place "
                "begins it anew");
  EXPECT_FALSE(std::filesystem::exists(path));
  writeFile(path, "");
  MetricsLog(path, 6).append(sample(7));
  MetricsLog(path, 7).append(sample(8));
  MetricsLog(path, 6).append(sample(7));
  EXPECT_EQ(readFile(path), sample(7).json() + "\n");
  // A fresh run keeps nothing.
  writeFile(path, "garbage");
  MetricsLog(path, 0).append(sample(1));
  EXPECT_EQ(readFile(path), sample(1).json() + "\n");
}

TEST(Metrics, DamageBeforeTheCheckpointIsAnError) {
  TemporaryFolder folder;
  const std::string path = folder.path("metrics.jsonl");
  auto message = [&](const std::string &text, int64_t keep) {
    writeFile(path, text);
    const std::string said = failure([&] { MetricsLog(path, keep); });
    EXPECT_EQ(readFile(path), text); // nothing was changed
    EXPECT_EQ(said.rfind("'" + path, 0), 0u) << said;
    return said.substr(std::min(said.size(), path.size() + 1));
  };
  const std::string one = sample(1).json() + "\n",
                    two = sample(2).json() + "\n";
  const std::string wanted = ", but the lines up to step 3 are expected, where "
                             "the checkpoint was made";
  EXPECT_EQ(message(one + "garbage\n" + two, 3),
            ":2': it is not valid JSON at byte 1");
  EXPECT_EQ(message(one + sample(3).json() + "\n", 3),
            ":2': step is 3, but 2 is expected");
  EXPECT_EQ(message(one + two, 3), ":3': the file ends here" + wanted);
  EXPECT_EQ(message(one + two.substr(0, 30), 3),
            ":2': the line is cut off" + wanted);
  EXPECT_EQ(message(one.substr(0, 30), 3), ":1': the line is cut off" + wanted);
}

TEST(Metrics, BadLinesAreNamed) {
  TemporaryFolder folder;
  const std::string path = folder.path("metrics.jsonl");
  auto message = [&](const std::string &line) {
    writeFile(path, sample(1).json() + "\n" + line + "\n");
    const std::string text = failure([&] { readMetrics(path); });
    EXPECT_EQ(text.rfind("'" + path + ":2': ", 0), 0u) << text;
    return text.substr(std::min(text.size(), path.size() + 6));
  };
  EXPECT_EQ(message("{"), "it is not valid JSON at byte 2");
  EXPECT_EQ(message("[1]"), "its value is [1], but an object is expected");
  EXPECT_EQ(message("{}"), "it has no step");
  EXPECT_EQ(message(R"({"step": 1.5})"),
            "step is 1.5, but an integer is expected");
  EXPECT_EQ(message(R"({"step": 1, "tokens": 2, "loss": "x"})"),
            "loss is \"x\", but a number is expected");
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

static std::string printed(ProgressMode mode) {
  std::FILE *file = std::tmpfile();
  {
    Progress progress(mode, file);
    progress.begin(0, 120);
    StepMetrics metrics = sample(60);
    progress.step(metrics, 0.5);
    metrics.step = 61;
    metrics.valLoss = 3.25;
    progress.step(metrics, 0.5);
    progress.note("said", false);
    progress.note("warned", true);
  }
  std::string text(std::ftell(file), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(Progress, PlainLines) {
  const std::string text = printed(ProgressMode::Plain);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "step 60/120 | loss 60.1000 | grad norm 0.333 | lr x 0.000 | 500 "
            "ms | 200 tok/s | 0:30 left");
  EXPECT_NE(text.find("| val loss 3.2500\nsaid\nwarned\n"), std::string::npos);
  EXPECT_EQ(printed(ProgressMode::None), "warned\n");
}

TEST(Progress, OneLineOnATerminal) {
  const std::string text = printed(ProgressMode::Line);
  EXPECT_EQ(text.substr(0, 9), "\rstep 60/");
  EXPECT_NE(text.find("\r\x1b[Kstep 61/120"), std::string::npos);
  EXPECT_NE(text.find("\nsaid\n"), std::string::npos);
}

TEST(Progress, Modes) {
  std::FILE *file = std::tmpfile();
  EXPECT_EQ(progressMode("auto", file), ProgressMode::Plain);
  EXPECT_EQ(progressMode("plain", file), ProgressMode::Plain);
  EXPECT_EQ(progressMode("none", file), ProgressMode::None);
  EXPECT_EQ(failure([&] { progressMode("bar", file); }),
            "--progress bar: expected auto, plain or none");
  std::fclose(file);
  EXPECT_EQ(durationText(41.4), "0:41");
  EXPECT_EQ(durationText(725), "12:05");
  EXPECT_EQ(durationText(11220), "3:07:00");
  EXPECT_EQ(durationText(NAN), "?");
}
