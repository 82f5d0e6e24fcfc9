//===- FilesTest.cpp - tests of runtime/Core/Files ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Files.h"

#include "test/Unit/Core/TestSupport.h"

#include <sys/stat.h>

using namespace steep;
using steep::test::TemporaryFolder;
namespace fs = std::filesystem;

TEST(Files, ReadsWhatWasWritten) {
  TemporaryFolder folder;
  std::string bytes("a\0b\nc", 5);
  writeFile(folder / "x", bytes);
  EXPECT_EQ(readFile(folder / "x"), bytes);
  writeFile(folder / "x", std::string("new"));
  EXPECT_EQ(readFile(folder / "x"), "new");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Files, SaysWhyItCannotRead) {
  TemporaryFolder folder;
  EXPECT_ERROR(readFile(folder / "none"), "No such file or directory");
  EXPECT_ERROR(readFile(folder.folder().string()), "not a regular file");
  writeFile(folder / "x", std::string(10, 'x'));
  EXPECT_ERROR(readFile(folder / "x", 9),
               "it has 10 bytes, and at most 9 are expected");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_ERROR(readFile(folder / "pipe"), "not a regular file");
}

TEST(Files, KeepsTheOldFileWhereTheProducerGivesUp) {
  TemporaryFolder folder;
  writeFile(folder / "x", std::string("old"));
  EXPECT_ERROR(writeFile(folder / "x",
                         [](const auto &append) {
                           append("new", 3);
                           fail("gave up");
                         }),
               "gave up");
  EXPECT_EQ(readFile(folder / "x"), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Files, AnErrorOfAFolderNamesWhatItWouldBecome) {
  TemporaryFolder folder;
  EXPECT_ERROR(writeFolder(folder / "made",
                           [](const std::string &inside) {
                             writeFile(inside + "/none/x", std::string("x"));
                           }),
               "cannot write '" + (folder / "made") + "/none/x'");
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Files, RefusesTargetsThatAreNoFiles) {
  TemporaryFolder folder;
  EXPECT_ERROR(writeFile("/dev/null", std::string("x")),
               "'/dev/null': it is there and is not a regular file");
  EXPECT_ERROR(writeFile(folder.folder().string(), std::string("x")),
               "not a regular file");
  EXPECT_ERROR(writeFile(folder / "none/x", std::string("x")), "No such file");
  EXPECT_ERROR(writeFile(folder / "", std::string("x")), "cannot write");
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Files, WritesThroughLinks) {
  TemporaryFolder folder;
  writeFile(folder / "real", std::string("old"));
  fs::create_symlink("real", folder / "link");
  writeFile(folder / "link", std::string("new"));
  EXPECT_EQ(readFile(folder / "real"), "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(Files, FoldersAreWholeOrAbsent) {
  TemporaryFolder folder;
  auto fill = [](const std::string &temporary) {
    writeFile(temporary + "/a", std::string("1"));
    fs::create_directory(temporary + "/sub");
    writeFile(temporary + "/sub/b", std::string("2"));
  };
  writeFolder(folder / "f", fill);
  EXPECT_EQ(readFile(folder / "f/sub/b"), "2");
  EXPECT_ERROR(writeFolder(folder / "f", fill), "File exists");
  EXPECT_ERROR(writeFolder(folder / "g",
                           [&](const std::string &temporary) {
                             fill(temporary);
                             fail("gave up");
                           }),
               "gave up");
  EXPECT_EQ(folder.entries(), 1u);
  // An empty folder is one, too: rename alone would replace it.
  fs::create_directory(folder / "empty");
  EXPECT_ERROR(writeFolder(folder / "empty", fill), "File exists");
  writeFolder(folder / "slash/", fill);
  EXPECT_EQ(readFile(folder / "slash/a"), "1");
}
