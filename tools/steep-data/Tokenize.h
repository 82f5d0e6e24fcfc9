//===- Tokenize.h - steep-data tokenize -------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_STEEP_DATA_TOKENIZE_H
#define STEEP_TOOLS_STEEP_DATA_TOKENIZE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steep {

struct TokenizeOptions {
  std::string ranks;
  std::string out;
  std::string name = "text";
  std::vector<std::string> files;
  std::optional<double> validationFraction;
  std::optional<int64_t> validationTokens;
  int64_t shardTokens = 100'000'000;
};

/// Writes the folder `out`, which must not exist, whole or not at all.
void tokenize(const TokenizeOptions &options);

} // namespace steep

#endif // STEEP_TOOLS_STEEP_DATA_TOKENIZE_H
