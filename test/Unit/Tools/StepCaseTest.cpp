//===- StepCaseTest.cpp - recorded updates, through steep-run -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case holds a weight w0 and, for t = 1, 2, 3, a gradient and what PyTorch
// in float64 made of it. steep-run takes the three steps, each from the files
// that the one before wrote. More cases of the same form, in a folder that
// $STEEP_CASES names, are tried as well; all of them on the emulated GPU too.
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/ChildProcess.h"
#include "runtime/Core/Safetensors.h"
#include "test/Unit/Core/TestSupport.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace steep;
using steep::test::TemporaryFolder;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Running steep-run
//===----------------------------------------------------------------------===//

/// Compiled specs of this program: in a cache of its own, removed at its end.
static TemporaryFolder &scratch() {
  static TemporaryFolder folder;
  return folder;
}

static void steepRun(std::vector<std::string> arguments) {
  ::setenv("XDG_CACHE_HOME", (scratch() / "cache").c_str(), 1);
  ::setenv("STEEP_SIMT_OPTIMIZE", "0", 1); // each kernel runs once
  ChildResult result = runChild(STEEP_TEST_RUN, arguments);
  if (result.exitStatus != 0 || result.signal != 0)
    fail("steep-run failed: {}", result.errors);
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// a - factor b.
static Tensor difference(const Tensor &a, const Tensor &b, double factor = 1) {
  Tensor result = a.toF64(), other = b.toF64();
  for (int64_t i = 0; i < result.count(); ++i)
    result.f64()[i] -= factor * other.f64()[i];
  return result;
}

static double frobenius(const Tensor &tensor) {
  Tensor wide = tensor.toF64();
  double sum = 0;
  for (int64_t i = 0; i < wide.count(); ++i)
    sum += wide.f64()[i] * wide.f64()[i];
  return std::sqrt(sum);
}

/// ||actual - expected|| / ||expected||, Frobenius.
static double relative(const Tensor &actual, const Tensor &expected) {
  EXPECT_EQ(actual.shape(), expected.shape());
  double norm = frobenius(difference(actual, expected));
  return norm == 0 ? 0 : norm / std::max(frobenius(expected), 1e-30);
}

static bool sameBits(const Tensor &a, const Tensor &b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

//===----------------------------------------------------------------------===//
// Steps of the recipe
//===----------------------------------------------------------------------===//

static std::vector<std::string> caseFiles() {
  std::vector<std::string> folders = {STEEP_TEST_CASES, STEEP_TEST_DATA}, found;
  if (const char *more = std::getenv("STEEP_CASES"))
    folders.push_back(more);
  for (const std::string &folder : folders)
    for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
      std::string name = entry.path().filename().string();
      for (const char *rule : {"muon_", "adamw_", "rownorm_"})
        if (name.rfind(rule, 0) == 0)
          found.push_back(entry.path().string());
    }
  std::sort(found.begin(), found.end());
  return found;
}

namespace {
/// A record, and the device that is to give its numbers.
struct DeviceCase {
  std::string file, device;
};
} // namespace

static std::vector<DeviceCase> deviceCases() {
  std::vector<DeviceCase> cases;
  std::error_code error;
  const bool hasSimt = fs::exists(fs::path(STEEP_TEST_RUN).parent_path() /
                                      "../lib/libsteep-simt.so",
                                  error);
  for (const std::string &file : caseFiles()) {
    cases.push_back({file, "host"});
    if (hasSimt)
      cases.push_back({file, "simt"});
  }
  return cases;
}

/// What a case calls a state; what steep-run does.
static const std::vector<std::pair<std::string, std::string>> stateNames = {
    {"momentum", "momentum_buffer"},
    {"exp_avg", "exp_avg"},
    {"exp_avg_sq", "exp_avg_sq"}};

namespace {
class StepCase : public ::testing::TestWithParam<DeviceCase> {
protected:
  StepCase() : file(SafetensorsFile::open(GetParam().file)) {}

  void step(int t, const NamedTensors &inputs, double lr, double decay) {
    std::string in = folder / "in", out = folder / "out";
    writeSafetensors(in, inputs);
    std::vector<std::string> arguments = {STEEP_TEST_SPECS "/paper.mlir",
                                          "--rule",
                                          file.metadataAt("update"),
                                          "--in",
                                          in,
                                          "--lr",
                                          fmt::format("{}", lr),
                                          "--wd",
                                          fmt::format("{}", decay),
                                          "--step",
                                          std::to_string(t)};
    auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), arguments.begin(), arguments.end());
      return more;
    };
    if (GetParam().device == "simt") {
      steepRun(with({"--out", out, "--device", "simt"}));
      steepRun(with(
          {"--out", out + "2", "--device", "simt", "--simt-route", "ptx"}));
      return;
    }
    steepRun(with({"--out", out, "--threads", "1"}));
    steepRun(with({"--out", out + "2", "--threads", "2"}));
  }

  SafetensorsFile file;
  TemporaryFolder folder;
};
} // namespace

TEST_P(StepCase, EqualsTheRecord) {
  auto rates = nlohmann::json::parse(file.metadataAt("lr"));
  double decay = std::stod(file.metadataAt("weight_decay"));
  NamedTensors carried = {{"param", file.load("w0")}};
  for (int t = 1; t <= 3; ++t) {
    std::string suffix = std::to_string(t);
    double lr = rates.at(static_cast<std::size_t>(t) - 1);
    NamedTensors inputs = carried;
    inputs.emplace_back("grad", file.load("g" + suffix));
    step(t, inputs, lr, decay);

    SafetensorsFile out = SafetensorsFile::open(folder / "out");
    SafetensorsFile out2 = SafetensorsFile::open(folder / "out2");
    carried = {{"param", out.load("param")}};
    EXPECT_LT(relative(out.load("param"), file.load("w" + suffix)), 1e-6);
    std::size_t states = 0;
    for (const auto &[theirs, ours] : stateNames) {
      if (!file.contains(theirs + suffix))
        continue;
      ++states;
      carried.emplace_back(ours, out.load(ours));
      EXPECT_LT(relative(out.load(ours), file.load(theirs + suffix)), 1e-6)
          << ours << " " << t;
    }
    EXPECT_EQ(out.entries().size(), states + 2);
    Tensor increment =
        difference(file.load("w" + suffix),
                   file.load("w" + std::to_string(t - 1)), 1 - lr * decay);
    EXPECT_LT(relative(out.load("update"), increment), 5e-5) << t;
    for (const auto &[name, entry] : out.entries())
      EXPECT_TRUE(sameBits(out.load(name), out2.load(name)))
          << name << " differs between two threads and one, or between PTX "
          << "and IR, step " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(, StepCase, ::testing::ValuesIn(deviceCases()),
                         [](const auto &info) {
                           return fs::path(info.param.file).stem().string() +
                                  fmt::format("_{}_{}", info.param.device,
                                              info.index);
                         });

//===----------------------------------------------------------------------===//
// Newton-Schulz tables
//===----------------------------------------------------------------------===//

namespace {
class NewtonSchulz : public ::testing::TestWithParam<const char *> {};
} // namespace

TEST_P(NewtonSchulz, EqualsTheTable) {
  SafetensorsFile table =
      SafetensorsFile::open(STEEP_TEST_CASES "/newton_schulz.safetensors");
  TemporaryFolder folder;
  for (const char *shape : {"24x24", "16x50", "50x16"}) {
    std::string name = fmt::format("{}_{}", GetParam(), shape);
    Tensor g = table.load(name + "_g");
    writeSafetensors(folder / "in",
                     {{"param", Tensor(DType::F32, g.shape())}, {"grad", g}});
    steepRun({STEEP_TEST_DATA "/newton_schulz.mlir", "--rule", GetParam(),
              "--in", folder / "in", "--out", folder / "out", "--threads",
              "1"});
    SafetensorsFile out = SafetensorsFile::open(folder / "out");
    Tensor expected = table.load(name + "_o");
    // The update is -O, and so is the new weight, which was zero.
    for (int64_t i = 0; i < expected.count(); ++i)
      expected.f64()[i] = -expected.f64()[i];
    EXPECT_LT(relative(out.load("update"), expected), 1e-4) << name;
    EXPECT_LT(relative(out.load("param"), expected), 1e-4) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(, NewtonSchulz,
                         ::testing::Values("jordan", "you", "polar_express",
                                           "cubic"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });
