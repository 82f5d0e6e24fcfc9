//===- ManifestTest.cpp - tests of runtime/Core/{Json,Manifest} -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Manifest.h"

#include "runtime/Core/Json.h"
#include "test/Unit/Core/FakeArtefact.h"
#include "test/Unit/Core/TestSupport.h"

using namespace steep;
using nlohmann::json;
using steep::test::fakeManifest;

TEST(Manifest, ReadsEveryKey) {
  Manifest manifest = Manifest::parse(fakeManifest().dump(), "fake.json");
  EXPECT_EQ(manifest.name, "fake");
  EXPECT_EQ(manifest.text, fakeManifest().dump());
  EXPECT_EQ(manifest.abiMajor, 1);
  EXPECT_EQ(manifest.compiler, "0.1.0");
  EXPECT_EQ(manifest.targetCpu, "x86-64");
  EXPECT_EQ(manifest.targetFeatures, (std::vector<std::string>{"fpu", "sse2"}));
  EXPECT_EQ(manifest.workspaceBytes, 100u);
  EXPECT_EQ(manifest.workspaceAlignment, 64u);
  ASSERT_TRUE(manifest.schedule);
  EXPECT_EQ(manifest.schedule->warmup, 0.25);
  EXPECT_EQ(manifest.schedule->floor, 0.5);
  EXPECT_EQ(manifest.clipNorm, 2.0);
  ASSERT_EQ(manifest.groups.size(), 2u);
  EXPECT_EQ(manifest.groups[1].name, "second");
  EXPECT_EQ(manifest.groups[1].lr, 0.001);
  EXPECT_EQ(manifest.groupIndex("second"), 1);
  EXPECT_EQ(manifest.groupIndex("third"), -1);
  ASSERT_EQ(manifest.parameters.size(), 2u);
  EXPECT_EQ(manifest.parameters[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(manifest.parameters[0].states[0].name, "momentum_buffer");
  EXPECT_EQ(manifest.parameters[0].states[0].convention, "sum");
  EXPECT_TRUE(manifest.parameters[1].states.empty());
}

TEST(Manifest, PoliciesMayBeMissing) {
  json text = fakeManifest();
  text["schedule"] = nullptr;
  text.erase("clip");
  text["later"] = {"unknown keys are for later versions"};
  Manifest manifest = Manifest::parse(text.dump(), "fake.json");
  EXPECT_FALSE(manifest.schedule);
  EXPECT_FALSE(manifest.clipNorm);
}

namespace {
struct Bad {
  const char *pointer; ///< where to put the value (JSON pointer)
  const char *value;   ///< JSON; null: remove the key
  const char *message;
};
} // namespace

TEST(Manifest, NamesTheKeyThatIsWrong) {
  const char *const removed = nullptr;
  const Bad cases[] = {
      {"/name", removed, "'fake.json': it has no name"},
      {"/name", R"("a b")", "name is \"a b\", but a C identifier is expected"},
      {"/name", R"("../x")", "but a C identifier is expected"},
      {"/name", R"("1x")", "but a C identifier is expected"},
      {"/steep", removed, "it has no steep"},
      {"/steep/abi", "[1]", "steep.abi is [1], but [major, minor] is expected"},
      {"/steep/abi/0", "70000", "steep.abi[0] is 70000, but an integer from 0"},
      {"/steep/version", "1", "steep.version is 1, but a string is expected"},
      {"/target", "[]", "target is [], but an object is expected"},
      {"/target/cpu", removed, "it has no target.cpu"},
      {"/target/features", R"("avx")",
       "target.features is \"avx\", but an array"},
      {"/target/features/0", "3", "target.features[0] is 3, but a string"},
      {"/workspace/bytes", "-1",
       "workspace.bytes is -1, but an integer of at least 0"},
      {"/workspace/bytes", "18446744073709551615",
       "workspace.bytes is 1844674407370955161"},
      {"/workspace/bytes", "1.5", "workspace.bytes is 1.5"},
      {"/workspace/alignment", "48", "but a power of two is expected"},
      {"/schedule/kind", R"("linear")", "but \"warmup_cosine\" is expected"},
      {"/schedule/warmup", "1.5", "but a number from 0 to 1 is expected"},
      {"/clip/kind", R"("value")", "but \"global_norm\" is expected"},
      {"/clip/max", "0", "clip.max is 0, but a number above 0 is expected"},
      {"/groups", removed, "it has no groups"},
      {"/groups/1/name", R"("first")",
       "groups[1].name is \"first\", but a name that"},
      {"/groups/0/lr", R"("x")",
       "groups[0].lr is \"x\", but a number is expected"},
      {"/groups/0/wd", "-1", "groups[0].wd is -1, but a number of at least 0"},
      {"/parameters/0/shape", "[2, -3]",
       "parameters[0].shape[1] is -3, but an integer of at least 0"},
      {"/parameters/0/shape", "[9223372036854775807, 2]", "fits in 63 bits"},
      {"/parameters/0/dtype", R"("BF16")",
       "parameters[0].dtype is \"BF16\", but \"F32\" is expected"},
      {"/parameters/1/group", R"("third")",
       "but the name of one of its groups is expected"},
      {"/parameters/1/rule", R"("other")",
       "but the rule of its group is expected"},
      {"/parameters/1/name", R"("a")",
       "but a name that no other parameter has"},
      {"/parameters/0/states", removed, "it has no parameters[0].states"},
      {"/parameters/0/states/0/name", removed,
       "it has no parameters[0].states[0].name"},
      {"/parameters/0/states/0/shape", R"("2x3")",
       "states[0].shape is \"2x3\""},
  };
  for (const Bad &bad : cases) {
    json text = fakeManifest();
    json::json_pointer pointer(bad.pointer);
    if (!bad.value)
      text[pointer.parent_pointer()].erase(pointer.back());
    else
      text[pointer] = json::parse(bad.value);
    EXPECT_ERROR(Manifest::parse(text.dump(), "fake.json"), bad.message)
        << bad.pointer;
  }
}

TEST(Manifest, RefusesTextThatIsNoManifest) {
  EXPECT_ERROR(Manifest::parse("", "m"), "'m': it is not valid JSON at byte");
  EXPECT_ERROR(Manifest::parse("[]", "m"), "its value is [], but an object");
  EXPECT_ERROR(Manifest::parse("{\"a\":1,\"a\":2}", "m"),
               "key 'a' stands twice");
  EXPECT_ERROR(Manifest::parse("{\"a\":1e999}", "m"), "is not valid JSON");
  EXPECT_ERROR(Manifest::parse(std::string(100000, '['), "m"),
               "nests deeper than 64 levels");
  EXPECT_ERROR(Manifest::load("/nonexistent/m.json"), "No such file");
}

TEST(Json, CutsLongValuesInMessages) {
  json value = std::string(1000, 'x');
  std::string message =
      test::messageOf([&] { JsonValue(value, "f").integer(); });
  EXPECT_LT(message.size(), 120u);
  EXPECT_NE(message.find("an integer is expected"), std::string::npos);
}
