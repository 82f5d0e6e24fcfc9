//===- steep-data.cpp - text to token shards, and back --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Error.h"
#include "runtime/Data/Shard.h"
#include "runtime/Data/Tokenizer.h"
#include "tools/ToolMain.h"
#include "tools/steep-data/Tokenize.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

using namespace steep;

namespace {
struct ShardOptions {
  std::vector<std::string> paths;
  std::string ranks;
  int64_t vocabulary = 50257;
  int64_t begin = 0;
  std::optional<int64_t> count;
  int64_t show = 0;
};
} // namespace

/// Tokens are read in pieces: a shard may be larger than memory.
template <typename Visit>
static void forEachPiece(int64_t begin, int64_t end, Visit &&visit) {
  constexpr int64_t piece = 1 << 20;
  for (int64_t at = begin; at < end; at += piece)
    visit(at, std::min(piece, end - at));
}

/// Files as they are; of folders, the *.bin in them.
static std::vector<std::string>
expandFolders(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found = findShards(path, "");
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

static int inspect(const ShardOptions &options) {
  for (const std::string &path : expandFolders(options.paths)) {
    TokenShard shard = TokenShard::open(path);
    uint16_t least = UINT16_MAX, most = 0;
    int64_t documents = 0;
    forEachPiece(0, shard.count(), [&](int64_t at, int64_t count) {
      for (uint16_t id : shard.read(at, count)) {
        least = std::min(least, id);
        most = std::max(most, id);
        documents += id + 1 == options.vocabulary;
      }
    });
    fmt::print("{}: {} tokens", path, shard.count());
    if (shard.count())
      fmt::print(", {} documents, ids {} to {}", documents, least, most);
    fmt::print("\n");
    std::vector<uint16_t> first =
        shard.read(0, std::min(options.show, shard.count()));
    if (!first.empty())
      fmt::print("  {}\n", fmt::join(first, " "));
  }
  return 0;
}

static int validate(const ShardOptions &options) {
  for (const std::string &path : expandFolders(options.paths)) {
    TokenShard shard = TokenShard::open(path);
    forEachPiece(0, shard.count(), [&](int64_t at, int64_t count) {
      shard.read(at, count, options.vocabulary);
    });
    fmt::print("{}: valid, {} tokens below {}\n", path, shard.count(),
               options.vocabulary);
  }
  return 0;
}

static int decode(const ShardOptions &options) {
  Tokenizer tokenizer = Tokenizer::load(options.ranks);
  TokenShard shard = TokenShard::open(options.paths.at(0));
  if (options.begin > shard.count())
    fail("{}: it has {} tokens, so there is none at --begin {}",
         quote(shard.path()), shard.count(), options.begin);
  int64_t rest = shard.count() - options.begin;
  int64_t end = options.begin + std::min(options.count.value_or(rest), rest);
  // Look before the first byte is written: no partial output.
  auto read = [&](int64_t at, int64_t count) {
    return shard.read(at, count, tokenizer.vocabulary());
  };
  forEachPiece(options.begin, end, read);
  forEachPiece(options.begin, end, [&](int64_t at, int64_t count) {
    std::string text = tokenizer.decode(read(at, count));
    std::fwrite(text.data(), 1, text.size(), stdout);
  });
  return 0;
}

static void addTokenize(CLI::App &app, TokenizeOptions &options) {
  CLI::App *command =
      app.add_subcommand("tokenize", "text files to a folder of token shards");
  command
      ->add_option("--ranks", options.ranks,
                   "ranks of the byte-pair encoding, as gpt2.tiktoken")
      ->required();
  command
      ->add_option("--out", options.out,
                   "the folder to make, NAME_train_*.bin "
                   "and NAME_val_*.bin in it")
      ->required();
  command->add_option("--name", options.name, "first part of the file names")
      ->capture_default_str();
  auto *fraction =
      command->add_option("--val-fraction", options.validationFraction,
                          "this part of the tokens, from the end, is for "
                          "validation");
  command
      ->add_option("--val-tokens", options.validationTokens,
                   "so many tokens, from the end, are for validation")
      ->check(CLI::NonNegativeNumber)
      ->excludes(fraction);
  command
      ->add_option("--shard-tokens", options.shardTokens, "most tokens a shard")
      ->check(CLI::Range(int64_t(1), int64_t(INT32_MAX)))
      ->capture_default_str();
  command->add_option("files", options.files, "text, one document a file")
      ->required();
}

static CLI::App *addShards(CLI::App &app, const char *name, const char *text,
                           ShardOptions &options) {
  CLI::App *command = app.add_subcommand(name, text);
  command
      ->add_option("--vocab", options.vocabulary,
                   "size of the vocabulary; its last id ends a text")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_option("shards", options.paths, "shards, or folders of them")
      ->required();
  return command;
}

static void addDecode(CLI::App &app, ShardOptions &options) {
  CLI::App *command = app.add_subcommand(
      "decode", "write the text of a shard to the standard output");
  command
      ->add_option("--ranks", options.ranks,
                   "ranks of the byte-pair encoding, as gpt2.tiktoken")
      ->required();
  command->add_option("--begin", options.begin, "the first token")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--count", options.count, "so many tokens (all)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("shard", options.paths, "the shard")
      ->required()
      ->expected(1);
}

int main(int argc, char **argv) {
  CLI::App app("Token shards for steep-train", "steep-data");
  app.require_subcommand(1);
  TokenizeOptions tokenizeOptions;
  ShardOptions shardOptions;
  addTokenize(app, tokenizeOptions);
  addShards(app, "inspect", "print what shards hold", shardOptions)
      ->add_option("--tokens", shardOptions.show, "print so many ids of each")
      ->check(CLI::NonNegativeNumber);
  addShards(app, "validate", "check header, size and every token",
            shardOptions);
  addDecode(app, shardOptions);
  return toolMain(app, argc, argv, [&] {
    if (app.got_subcommand("inspect"))
      return inspect(shardOptions);
    if (app.got_subcommand("validate"))
      return validate(shardOptions);
    if (app.got_subcommand("decode"))
      return decode(shardOptions);
    tokenize(tokenizeOptions);
    return 0;
  });
}
