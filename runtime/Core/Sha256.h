//===- Sha256.h - digests of files and cache keys ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_SHA256_H
#define STEEP_RUNTIME_CORE_SHA256_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace steep {

/// SHA-256 (FIPS 180-4) of bytes that come piece by piece.
class Sha256 {
public:
  Sha256();
  void add(std::string_view bytes);
  /// In 64 lower-case hexadecimal digits; nothing can be added afterwards.
  std::string digest();

private:
  std::array<uint32_t, 8> hash;
  std::string rest; ///< of a block
  uint64_t size = 0;
};

/// The digest of bytes, and of a file, which may be larger than memory. Throws
/// Error where it cannot be read.
std::string sha256(std::string_view bytes);
std::string sha256OfFile(const std::string &path);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_SHA256_H
