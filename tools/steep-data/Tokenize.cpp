//===- Tokenize.cpp - steep-data tokenize ---------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/steep-data/Tokenize.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Data/Shard.h"
#include "runtime/Data/Tokenizer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace steep {

/// How many tokens, from the end of the text, are for validation.
static int64_t validationCount(const TokenizeOptions &options, int64_t total) {
  int64_t count = options.validationTokens.value_or(0);
  if (options.validationFraction)
    count =
        std::llround(*options.validationFraction * static_cast<double>(total));
  if (count >= total)
    fail("the text has {} tokens, too few to take {} of them for validation",
         total, count);
  return count;
}

/// Writes FOLDER/NAME_KIND_000000.bin and so on; tells what it wrote.
static std::vector<std::string>
writeShards(const std::string &folder, const TokenizeOptions &options,
            const std::string &kind, const uint16_t *tokens, int64_t count) {
  std::vector<std::string> lines;
  for (int64_t begin = 0, i = 0; begin < count;
       begin += options.shardTokens, ++i) {
    std::string file = fmt::format("{}_{}_{:06}.bin", options.name, kind, i);
    int64_t here = std::min(options.shardTokens, count - begin);
    writeShard(folder + "/" + file, tokens + begin, here);
    lines.push_back(fmt::format("{}/{}: {} tokens", options.out, file, here));
  }
  return lines;
}

void tokenize(const TokenizeOptions &options) {
  if (options.name.empty() || options.name.find('/') != std::string::npos ||
      options.name.find("train") != std::string::npos ||
      options.name.find("val") != std::string::npos)
    fail("--name {} is not possible: a file name without 'train' and 'val' is "
         "expected",
         quote(options.name));
  const double fraction = options.validationFraction.value_or(0);
  if (!(fraction >= 0 && fraction < 1))
    fail("--val-fraction {}: expected at least 0 and less than 1", fraction);
  std::error_code ignored;
  if (std::filesystem::exists(options.out, ignored))
    fail("{} is there already: --out must name a new folder",
         quote(options.out));

  Tokenizer tokenizer = Tokenizer::load(options.ranks);
  std::vector<uint16_t> tokens;
  uint64_t bytes = 0;
  for (const std::string &path : options.files) {
    std::string text = readFile(path, std::size_t(1) << 36);
    bytes += text.size();
    tokens.push_back(tokenizer.endOfText());
    tokenizer.encode(text, tokens);
  }
  auto total = static_cast<int64_t>(tokens.size());
  int64_t validation = validationCount(options, total);
  int64_t training = total - validation;

  std::vector<std::string> lines;
  const std::filesystem::path parent =
      std::filesystem::absolute(options.out).lexically_normal().parent_path();
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error)
    fail("cannot make folder {}: {}", quote(options.out), error.message());
  writeFolder(options.out, [&](const std::string &folder) {
    lines = writeShards(folder, options, "train", tokens.data(), training);
    for (std::string &line : writeShards(folder, options, "val",
                                         tokens.data() + training, validation))
      lines.push_back(std::move(line));
  });
  for (const std::string &line : lines)
    fmt::print("{}\n", line);
  fmt::print("{} file{}, {} bytes, {} tokens ({:.2f} bytes a token)\n",
             options.files.size(), options.files.size() == 1 ? "" : "s", bytes,
             total, static_cast<double>(bytes) / static_cast<double>(total));
}

} // namespace steep
