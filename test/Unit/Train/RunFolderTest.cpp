//===- RunFolderTest.cpp - the folder of a run, held by one ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Files.h"
#include "runtime/Train/RunFolder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <optional>

using namespace steep;
using namespace steep::test;

namespace fs = std::filesystem;

TEST(RunFolder, OneHoldsIt) {
  TemporaryFolder folder;
  const std::string out = folder.path("run");
  std::optional<RunFolder> first(out);
  EXPECT_EQ(failure([&] { RunFolder second(out); }),
            "--out " + out + ": another steep-train is running there");
  EXPECT_TRUE(fs::exists(out)); // the refused one took nothing away
  first.reset();
  RunFolder third(out);
  EXPECT_NE(failure([&] { RunFolder fourth(out); }), "");
}

TEST(RunFolder, LeavesNothingButWhatWasWritten) {
  TemporaryFolder folder;
  { RunFolder held(folder.path("a/b")); }
  EXPECT_FALSE(fs::exists(folder.path("a")));
  fs::create_directories(folder.path("mine"));
  { RunFolder held(folder.path("mine")); }
  EXPECT_TRUE(fs::is_empty(folder.path("mine")));
  {
    RunFolder held(folder.path("c/d"));
    writeFile(folder.path("c/d/config.json"), "{}");
  }
  EXPECT_TRUE(fs::exists(folder.path("c/d/config.json")));
  EXPECT_FALSE(fs::exists(folder.path("c/d/.lock")));
  EXPECT_EQ(failure([&] { RunFolder held(folder.path("c/d/config.json")); }),
            "--out " + folder.path("c/d/config.json") + ": is not a folder");
}

TEST(RunFolder, RemovesWhatAKilledRunLeft) {
  TemporaryFolder folder;
  fs::create_directories(folder.path(".removed-checkpoint-00000003/x"));
  fs::create_directories(folder.path("checkpoint-00000004"));
  RunFolder held(folder.path(""));
  EXPECT_FALSE(fs::exists(folder.path(".removed-checkpoint-00000003")));
  EXPECT_TRUE(fs::exists(folder.path("checkpoint-00000004")));
}

TEST(RunFolder, StartsOverOnlyWhereNoCheckpointIs) {
  TemporaryFolder folder;
  const std::string out = folder.path("run");
  RunFolder held(out);
  EXPECT_FALSE(held.checkFresh());
  writeFile(out + "/config.json", "{}");
  EXPECT_TRUE(held.checkFresh());
  writeFile(out + "/metrics.jsonl", "");
  EXPECT_TRUE(held.checkFresh());
  fs::create_directories(out + "/checkpoint-00000001");
  const std::string there =
      "--out " + out +
      ": a run is there already; continue it with --resume, or take another "
      "folder";
  EXPECT_EQ(failure([&] { held.checkFresh(); }), there);
  fs::remove_all(out + "/checkpoint-00000001");
  fs::remove(out + "/config.json"); // metrics of somebody else
  EXPECT_EQ(failure([&] { held.checkFresh(); }), there);
}
