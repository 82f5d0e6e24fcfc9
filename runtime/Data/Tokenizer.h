//===- Tokenizer.h - GPT-2's byte-pair encoding -----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text is cut into pieces (PreTokens.h), and in each piece, from its bytes on,
// the pair of neighbours whose bytes together have the smallest rank is joined
// (the leftmost of equals) until no pair has a rank. A rank is the token's id.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DATA_TOKENIZER_H
#define STEEP_RUNTIME_DATA_TOKENIZER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace steep {

class Tokenizer {
public:
  /// The SHA-256 digest of GPT-2's ranks file, gpt2.tiktoken.
  static constexpr const char *gpt2Digest =
      "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930";

  /// Reads a ranks file: lines "BASE64 RANK". Ranks are 0 .. n - 1, each once;
  /// every byte has one. Throws Error that names the file and the line.
  static Tokenizer load(const std::string &path);
  static Tokenizer parse(const std::string &text, const std::string &origin);

  Tokenizer(Tokenizer &&) = default;
  Tokenizer(const Tokenizer &) = delete;

  /// Number of tokens, the end of text among them (50257 for GPT-2).
  int64_t vocabulary() const { return static_cast<int64_t>(tokens.size()) + 1; }
  /// The id after the last rank, 50256 for GPT-2. No text encodes to it.
  uint16_t endOfText() const { return static_cast<uint16_t>(tokens.size()); }

  /// Appends the ids of a text. Any bytes will do. Pieces met before are
  /// looked up: not to be called from two threads at once.
  void encode(std::string_view text, std::vector<uint16_t> &ids);
  std::vector<uint16_t> encode(std::string_view text);

  /// The bytes of a token; none for the end of text.
  std::string_view bytes(uint16_t id) const;
  /// The bytes of all. Throws Error where an id is not in the vocabulary.
  std::string decode(const std::vector<uint16_t> &ids) const;

private:
  Tokenizer() = default;
  int rankOf(std::string_view bytes) const;
  void encodePiece(std::string_view piece, std::vector<uint16_t> &ids);
  void mergePiece(std::string_view piece, std::vector<uint16_t> &ids) const;

  std::vector<std::string> tokens; ///< by rank
  std::size_t longest = 0;         ///< bytes of the longest token
  std::unordered_map<std::string_view, int> ranks;
  /// Pieces met before: where in `known` their ids are.
  std::unordered_map<std::string, std::pair<std::size_t, std::size_t>> cache;
  std::vector<uint16_t> known;
};

} // namespace steep

#endif // STEEP_RUNTIME_DATA_TOKENIZER_H
