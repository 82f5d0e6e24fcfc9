//===- ShardTest.cpp - tests of runtime/Data/Shard ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Data/Shard.h"

#include "runtime/Core/Files.h"
#include "test/Unit/Core/TestSupport.h"

using namespace steep;
using steep::test::TemporaryFolder;

static std::string word(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i)
    bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

static std::string shardBytes(uint32_t magic, uint32_t version, uint32_t count,
                              std::size_t tokenBytes) {
  return word(magic) + word(version) + word(count) + std::string(1012, '\0') +
         std::string(tokenBytes, '\1');
}

TEST(Shard, ReadsWhatItWrites) {
  TemporaryFolder folder;
  std::vector<uint16_t> tokens = {50256, 0, 1, 65535, 256, 7, 8};
  writeShard(folder / "x.bin", tokens.data(), 7);
  std::string bytes = readFile(folder / "x.bin");
  EXPECT_EQ(bytes.size(), 1024u + 14u);
  EXPECT_EQ(bytes.substr(0, 12), word(20240520) + word(1) + word(7));
  EXPECT_EQ(bytes.substr(12, 1012), std::string(1012, '\0'));
  EXPECT_EQ(bytes.substr(1024, 2), "\x50\xc4");

  TokenShard shard = TokenShard::open(folder / "x.bin");
  EXPECT_EQ(shard.count(), 7);
  EXPECT_EQ(shard.read(0, 7), tokens);
  EXPECT_EQ(shard.read(4, 2), (std::vector<uint16_t>{256, 7}));
  EXPECT_EQ(shard.read(7, 0), std::vector<uint16_t>());
  EXPECT_EQ(shard.sequences(3), 2);
  EXPECT_EQ(shard.sequences(6), 1);
  EXPECT_EQ(shard.sequences(7), 0);
}

TEST(Shard, AcceptsNoTokens) {
  TemporaryFolder folder;
  writeShard(folder / "x.bin", nullptr, 0);
  EXPECT_EQ(TokenShard::open(folder / "x.bin").sequences(1), 0);
}

TEST(Shard, RefusesMalformedFiles) {
  TemporaryFolder folder;
  auto refuse = [&](const std::string &bytes, const char *message) {
    test::writeQuickly(folder / "bad.bin", bytes);
    EXPECT_ERROR(TokenShard::open(folder / "bad.bin"), message);
  };
  refuse("", "bad.bin': it has 0 bytes, too few for the 1024");
  refuse(std::string(1023, '\0'), "it has 1023 bytes, too few");
  refuse(shardBytes(20240801, 7, 1, 4),
         "it begins with 20240801, where a shard has 20240520");
  refuse(shardBytes(20240520, 2, 1, 2),
         "it is a shard of version 2, but 1 is expected");
  refuse(shardBytes(20240520, 1, 0xffffffff, 2), "its header claims -1 tokens");
  refuse(shardBytes(20240520, 1, 3, 4),
         "it has 1028 bytes, but 3 tokens need 1030");
  refuse(shardBytes(20240520, 1, 1, 3),
         "it has 1027 bytes, but 1 tokens need 1026");
  refuse(shardBytes(20240520, 1, 0x7fffffff, 2),
         "but 2147483647 tokens need 4294968318");
  EXPECT_ERROR(TokenShard::open(folder / "none.bin"), "No such file");
}

TEST(Shard, RefusesReadsThatDoNotFit) {
  TemporaryFolder folder;
  std::vector<uint16_t> tokens = {1, 2, 300, 4};
  writeShard(folder / "x.bin", tokens.data(), 4);
  TokenShard shard = TokenShard::open(folder / "x.bin");
  EXPECT_ERROR(shard.read(3, 2), "2 tokens from 3 on are wanted, but it has 4");
  EXPECT_ERROR(shard.read(-1, 2), "2 tokens from -1 on");
  EXPECT_ERROR(shard.read(5, 0), "0 tokens from 5 on");
  EXPECT_EQ(shard.read(0, 4, 301).size(), 4u);
  EXPECT_ERROR(shard.read(1, 2, 300),
               "token 300 at position 2 is not in the vocabulary of 300");
  std::filesystem::resize_file(folder / "x.bin", 1028);
  EXPECT_ERROR(shard.read(0, 4), "it became shorter while it was read");
}

TEST(Shard, FindsFilesByKind) {
  TemporaryFolder folder;
  for (const char *name :
       {"b_train_1.bin", "a_train_2.bin", "x_val_0.bin", ".train.bin.tmp",
        ".train.bin", "train.txt", "other.bin"})
    test::writeQuickly(folder / name, "");
  EXPECT_EQ(findShards(folder.folder().string(), "train"),
            (std::vector<std::string>{folder / "a_train_2.bin",
                                      folder / "b_train_1.bin"}));
  EXPECT_EQ(findShards(folder.folder().string(), "val"),
            (std::vector<std::string>{folder / "x_val_0.bin"}));
  EXPECT_ERROR(findShards(folder.folder().string(), "test"),
               "it holds no shards *test*.bin");
  EXPECT_ERROR(findShards(folder / "none", "val"), "cannot read the folder");
}
