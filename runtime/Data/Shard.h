//===- Shard.h - files of tokens --------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 256 little-endian int32 words (magic 20240520, version 1, token count, then
// zeros), then the tokens as little-endian uint16. The format of llm.c and of
// the FineWeb shards.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DATA_SHARD_H
#define STEEP_RUNTIME_DATA_SHARD_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace steep {

class RandomAccessFile;

/// A shard whose header and size have been checked; tokens are read when asked
/// for. All errors are steep::Error and name the file.
class TokenShard {
public:
  static constexpr int32_t magic = 20240520, version = 1;
  static constexpr int64_t headerBytes = 1024;

  static TokenShard open(const std::string &path);

  const std::string &path() const { return file; }
  int64_t count() const { return tokens; }
  int64_t sequences(int64_t length) const {
    return tokens > 0 ? (tokens - 1) / length : 0;
  }
  /// Tokens begin .. begin + count - 1, which must be there.
  std::vector<uint16_t> read(int64_t begin, int64_t count) const;
  /// The same, each smaller than `vocabulary`; else an Error that names the
  /// token and where it stands.
  std::vector<uint16_t> read(int64_t begin, int64_t count,
                             int64_t vocabulary) const;
  /// Throws Error, naming the first token that is not smaller than
  /// `vocabulary`, where there is one. Reads all of the file, and returns a
  /// fingerprint of its tokens: other tokens have another, unless somebody
  /// takes pains.
  uint64_t checkIds(int64_t vocabulary) const;

private:
  std::string file;
  std::shared_ptr<const RandomAccessFile> handle;
  int64_t tokens = 0;
};

/// Writes a whole shard or nothing.
void writeShard(const std::string &path, const uint16_t *tokens, int64_t count);

/// The files *KIND*.bin of a folder ("train", "val"), sorted by name. Throws
/// Error where there is none.
std::vector<std::string> findShards(const std::string &folder,
                                    const std::string &kind);

} // namespace steep

#endif // STEEP_RUNTIME_DATA_SHARD_H
