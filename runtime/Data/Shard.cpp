//===- Shard.cpp - files of tokens ----------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Data/Shard.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Core/RandomAccessFile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace fs = std::filesystem;

namespace steep {

static uint32_t word(const unsigned char *bytes) {
  return static_cast<uint32_t>(bytes[0]) |
         static_cast<uint32_t>(bytes[1]) << 8 |
         static_cast<uint32_t>(bytes[2]) << 16 |
         static_cast<uint32_t>(bytes[3]) << 24;
}

TokenShard TokenShard::open(const std::string &path) {
  TokenShard shard;
  shard.file = path;
  shard.handle = std::make_shared<RandomAccessFile>(path);
  uint64_t size = shard.handle->size();
  if (size < static_cast<uint64_t>(headerBytes))
    fail("{}: it has {} bytes, too few for the {} of a shard's header",
         quote(path), size, headerBytes);
  unsigned char header[12];
  shard.handle->read(header, sizeof header, 0);
  if (word(header) != static_cast<uint32_t>(magic))
    fail("{}: it begins with {}, where a shard has {}", quote(path),
         word(header), magic);
  if (word(header + 4) != static_cast<uint32_t>(version))
    fail("{}: it is a shard of version {}, but {} is expected", quote(path),
         word(header + 4), version);
  auto count = static_cast<int32_t>(word(header + 8));
  if (count < 0)
    fail("{}: its header claims {} tokens", quote(path), count);
  uint64_t expected = headerBytes + 2 * static_cast<uint64_t>(count);
  if (size != expected)
    fail("{}: it has {} bytes, but {} tokens need {}", quote(path), size, count,
         expected);
  shard.tokens = count;
  return shard;
}

std::vector<uint16_t> TokenShard::read(int64_t begin, int64_t count) const {
  if (begin < 0 || count < 0 || begin > tokens || count > tokens - begin)
    fail("{}: {} tokens from {} on are wanted, but it has {}", quote(file),
         count, begin, tokens);
  // Little-endian both in the file and on the machines that Steep knows.
  std::vector<uint16_t> result(static_cast<std::size_t>(count));
  handle->read(result.data(), 2 * result.size(),
               static_cast<uint64_t>(headerBytes + 2 * begin));
  return result;
}

std::vector<uint16_t> TokenShard::read(int64_t begin, int64_t count,
                                       int64_t vocabulary) const {
  std::vector<uint16_t> result = read(begin, count);
  auto bad = std::find_if(result.begin(), result.end(),
                          [&](uint16_t id) { return id >= vocabulary; });
  if (bad != result.end())
    fail("{}: token {} at position {} is not in the vocabulary of {}",
         quote(file), *bad, begin + (bad - result.begin()), vocabulary);
  return result;
}

/// Four tokens at a time, which is faster than they are read.
static uint64_t addTokens(uint64_t hash, const std::vector<uint16_t> &tokens) {
  constexpr std::size_t words = 4;
  for (std::size_t i = 0; i < tokens.size(); i += words) {
    uint64_t word = 0;
    std::memcpy(&word, tokens.data() + i,
                2 * std::min(words, tokens.size() - i));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

uint64_t TokenShard::checkIds(int64_t vocabulary) const {
  constexpr int64_t piece = 1 << 20; // a shard may be larger than memory
  auto hash = static_cast<uint64_t>(tokens);
  for (int64_t at = 0; at < tokens; at += piece)
    hash = addTokens(hash, read(at, std::min(piece, tokens - at), vocabulary));
  return hash;
}

void writeShard(const std::string &path, const uint16_t *tokens,
                int64_t count) {
  if (count < 0 || count > INT32_MAX)
    fail("cannot write {}: a shard holds at most {} tokens, not {}",
         quote(path), INT32_MAX, count);
  std::array<int32_t, 256> header = {TokenShard::magic, TokenShard::version,
                                     static_cast<int32_t>(count)};
  writeFile(path, [&](const auto &append) {
    append(header.data(), sizeof header);
    append(tokens, 2 * static_cast<std::size_t>(count));
  });
}

std::vector<std::string> findShards(const std::string &folder,
                                    const std::string &kind) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (it->path().extension() == ".bin" && name[0] != '.' &&
        name.find(kind) != std::string::npos)
      found.push_back(it->path().string());
  }
  if (error)
    fail("cannot read the folder {}: {}", quote(folder), error.message());
  if (found.empty())
    fail("{}: it holds no shards {}.bin", quote(folder),
         kind.empty() ? "*" : "*" + kind + "*");
  std::sort(found.begin(), found.end());
  return found;
}

} // namespace steep
