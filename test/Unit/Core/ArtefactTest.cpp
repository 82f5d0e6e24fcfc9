//===- ArtefactTest.cpp - tests of runtime/Core/Artefact ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Artefact.h"

#include "runtime/Core/Files.h"
#include "test/Unit/Core/FakeArtefact.h"
#include "test/Unit/Core/TestSupport.h"

#include <fmt/format.h>
#include <limits>

using namespace steep;
using nlohmann::json;
using steep::test::fakeManifest;
using steep::test::makeFakeArtefact;
using steep::test::TemporaryFolder;
namespace fs = std::filesystem;

void steep::test::makeFakeArtefact(const std::string &folder,
                                   const std::string &macros,
                                   const json &manifest) {
  fs::create_directories(folder);
  std::string text = manifest.dump();
  writeQuickly(folder + "/fake.json", text);
  // A JSON string of the JSON is a C string literal of it.
  writeQuickly(folder + "/manifest.inc", json(text).dump() + "\n");
  std::string command = fmt::format(
      "'{}' -std=c99 -shared -fPIC {} -I'{}' -I'{}' '{}/FakeArtefact.c' -o "
      "'{}/libfake.so'",
      STEEP_TEST_CC, macros, folder, STEEP_TEST_INCLUDE, STEEP_TEST_DATA,
      folder);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  fs::remove(folder + "/manifest.inc");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static StepArguments argumentsFor(const Artefact &artefact) {
  StepArguments arguments;
  for (const Manifest::Parameter &parameter : artefact.manifest().parameters) {
    arguments.parameters.emplace_back(DType::F32, parameter.shape);
    arguments.gradients.emplace_back(DType::F32, parameter.shape);
    for (int64_t i = 0; i < arguments.parameters.back().count(); ++i) {
      arguments.parameters.back().f32()[i] = static_cast<float>(i);
      arguments.gradients.back().f32()[i] = 2;
    }
  }
  arguments.states = artefact.makeStates();
  arguments.lr = {0.5, 0.25};
  arguments.wd = {0.5, 0};
  return arguments;
}

TEST(Artefact, TakesSteps) {
  TemporaryFolder folder;
  makeFakeArtefact(folder / "out");
  ThreadPool two(2);
  for (ThreadPool *pool : {static_cast<ThreadPool *>(nullptr), &two}) {
    auto artefact = Artefact::load(folder / "out");
    EXPECT_EQ(artefact->manifest().name, "fake");
    StepArguments arguments = argumentsFor(*artefact);
    ASSERT_EQ(arguments.states.size(), 1u);
    arguments.updates = {Tensor(), Tensor(DType::F32, {1, 4})};
    arguments.gradScale = 0.5;
    arguments.step = 7;
    StepResult result = artefact->step(arguments, pool);
    EXPECT_FALSE(result.skipped);
    EXPECT_EQ(result.clipFactor, 0.5);
    EXPECT_EQ(result.nonfiniteParameter, -1);
    EXPECT_EQ(arguments.parameters[0].f32()[4], 4 * 0.75f - 0.5f);
    EXPECT_EQ(arguments.parameters[1].f32()[3], 3 - 0.25f);
    EXPECT_EQ(arguments.states[0].f32()[5], 7.0f);
    EXPECT_EQ(arguments.updates[1].f32()[0], -0.25f);
  }
}

TEST(Artefact, ReportsSkippedAndRefusedSteps) {
  TemporaryFolder folder;
  makeFakeArtefact(folder / "out");
  auto artefact = Artefact::load(folder / "out/fake.json");
  StepArguments arguments = argumentsFor(*artefact);
  arguments.gradients[1].f32()[0] = std::numeric_limits<float>::infinity();
  StepResult result = artefact->step(arguments);
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(result.nonfiniteParameter, 1);
  arguments.step = 99;
  EXPECT_ERROR(artefact->step(arguments),
               "artefact 'fake' refused a step: step 99 is refused");
}

TEST(Artefact, ChecksArgumentsBeforeAStep) {
  TemporaryFolder folder;
  makeFakeArtefact(folder / "out");
  auto artefact = Artefact::load(folder / "out");
  auto refuse = [&](auto &&change, const char *message) {
    StepArguments arguments = argumentsFor(*artefact);
    change(arguments);
    EXPECT_ERROR(artefact->step(arguments), message);
  };
  refuse([](auto &a) { a.parameters.pop_back(); },
         "given 1 parameters, but 2 are expected");
  refuse([](auto &a) { a.gradients.pop_back(); }, "given 1 gradients");
  refuse([](auto &a) { a.states.clear(); }, "given 0 states");
  refuse([](auto &a) { a.updates.resize(1); }, "given 1 updates");
  refuse([](auto &a) { a.lr.push_back(0); }, "given 3 learning rates");
  refuse([](auto &a) { a.wd.clear(); }, "given 0 weight decays");
  refuse([](auto &a) { a.step = 0; }, "steps count from 1");
  refuse(
      [](auto &a) {
        a.parameters[0] = Tensor(DType::F32, {3, 2});
      },
      "parameter 'a' is F32 of shape [3, 2], but F32 of shape [2, 3]");
  refuse([](auto &a) { a.gradients[1] = Tensor(); },
         "the gradient of 'b' is missing");
  refuse(
      [](auto &a) {
        a.states[0] = Tensor(DType::F64, {2, 3});
      },
      "state 'a.momentum_buffer' is F64 of shape [2, 3]");
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

namespace {
struct Mismatch {
  const char *name, *macros, *message;
};
class MismatchedArtefact : public ::testing::TestWithParam<Mismatch> {};
} // namespace

TEST_P(MismatchedArtefact, IsRefused) {
  TemporaryFolder folder;
  makeFakeArtefact(folder / "out", GetParam().macros);
  EXPECT_ERROR(Artefact::load(folder / "out"), GetParam().message);
}

static const Mismatch mismatches[] = {
    {"AbiMajor", "-DABI=0x20000u",
     "its ABI is 2.0, but this program needs 1.0"},
    {"AbiMinor", "-DABI=0x10003u", "its ABI is 1.3, but its manifest says 1.0"},
    {"Name", "-DNAME_A='\"c\"'",
     "parameter 0 ('a') differs from the manifest: it is called 'c'"},
    {"Shape", "-DCOLUMNS=4", "its shape is [2, 4] instead of [2, 3]"},
    {"Rule", "-DRULE='\"other\"'", "its rule differs"},
    {"State", "-DSTATE='\"exp_avg\"'", "its state 0 is not 'momentum_buffer'"},
    {"Workspace", "-DWORKSPACE=99",
     "its workspace is 99, but its manifest says 100"},
    {"Plan", "-DPLAN_CODE=-1", "its plan cannot be made (code -1)"},
    {"PlanCpu", "-DPLAN_CODE=-3", "it is compiled for 'x86-64', and"},
    {"Symbol", "-DNO_STEP", "it has no symbol steep_fake_step"},
};
INSTANTIATE_TEST_SUITE_P(, MismatchedArtefact, ::testing::ValuesIn(mismatches),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(Artefact, RefusesAManifestOfAnotherCompilation) {
  TemporaryFolder folder;
  makeFakeArtefact(folder / "out");
  json other = fakeManifest();
  other["spec_sha256"] = "1";
  test::writeQuickly(folder / "out/fake.json", other.dump());
  EXPECT_ERROR(Artefact::load(folder / "out"),
               "the two files are not of one compilation");
}

TEST(Artefact, RefusesACpuThatLacksFeatures) {
  TemporaryFolder folder;
  json manifest = fakeManifest();
  manifest["target"]["cpu"] = "znver9";
  manifest["target"]["features"] = {"sse2", "avx9", "amx_fp1"};
  makeFakeArtefact(folder / "out", "", manifest);
  EXPECT_ERROR(Artefact::load(folder / "out"),
               "it is compiled for 'znver9' and needs avx9, amx_fp1, which");
}

/// Wherever the library is cut off, loading is an Error and no bus error.
TEST(Artefact, RefusesALibraryThatIsCutOff) {
  TemporaryFolder folder;
  makeFakeArtefact(folder / "out");
  std::string library = readFile(folder / "out/libfake.so");
  for (std::size_t size = 0; size < library.size(); size += 997) {
    test::writeQuickly(folder / "out/libfake.so", library.substr(0, size));
    EXPECT_ERROR(Artefact::load(folder / "out"), "libfake.so': it is");
  }
  library[18] = 40; // e_machine: ARM
  test::writeQuickly(folder / "out/libfake.so", library);
  EXPECT_ERROR(Artefact::load(folder / "out"), "of another machine");
}

TEST(Artefact, SaysWhatAFolderLacks) {
  TemporaryFolder folder;
  EXPECT_ERROR(Artefact::load(folder / "none"), "not a folder of an artefact");
  EXPECT_ERROR(Artefact::load(folder.folder().string()),
               "it holds no artefact (NAME.json and libNAME.so)");
  test::writeQuickly(folder / "libfake.so", "not a library");
  EXPECT_ERROR(Artefact::load(folder.folder().string()),
               "the manifest of libfake.so is missing");
  test::writeQuickly(folder / "fake.json", fakeManifest().dump());
  EXPECT_ERROR(Artefact::load(folder.folder().string()),
               "libfake.so': it is not a shared library");
  test::writeQuickly(folder / "libother.so", "");
  test::writeQuickly(folder / "other.json", fakeManifest().dump());
  EXPECT_ERROR(Artefact::load(folder.folder().string()),
               "it holds several artefacts, so name one of");
  EXPECT_ERROR(Artefact::load(folder / "other.json"),
               "it is the manifest of 'fake'");
  EXPECT_ERROR(Artefact::load(folder / "none.json"), "No such file");
}
