//===- RunFolderTest.cpp - the folder of a run, held by one ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "runtime/Core/Files.h"
#include "runtime/Train/RunFolder.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

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
  // A process that has ended, and one that lives.
  const pid_t child = fork();
  if (child == 0)
    std::_Exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const std::string gone = "-" + std::to_string(child) + "-0";
  const std::string lives = "-" + std::to_string(getppid()) + "-0";
  const std::string own = "-" + std::to_string(getpid()) + "-3";
  fs::create_directories(folder.path(".checkpoint-00000005.tmp" + gone + "/x"));
  fs::create_directories(folder.path(".checkpoint-00000006.tmp" + own));
  writeFile(folder.path(".summary.json.tmp" + gone), "half");
  // Not of this scheme, or not to be touched.
  const std::vector<std::string> stay = {
      ".checkpoint-00000007.tmp" + lives, "checkpoint-00000008.tmp" + gone,
      ".tmp" + gone, ".checkpoint-00000009.tmp-x-0", ".notes.tmp"};
  for (const std::string &name : stay)
    writeFile(folder.path(name), "stays");
  RunFolder held(folder.path(""));
  EXPECT_FALSE(fs::exists(folder.path(".checkpoint-00000005.tmp" + gone)));
  EXPECT_FALSE(fs::exists(folder.path(".checkpoint-00000006.tmp" + own)));
  EXPECT_FALSE(fs::exists(folder.path(".summary.json.tmp" + gone)));
  for (const std::string &name : stay)
    EXPECT_TRUE(fs::exists(folder.path(name))) << name;
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
