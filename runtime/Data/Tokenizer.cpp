//===- Tokenizer.cpp - GPT-2's byte-pair encoding -------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Data/Tokenizer.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Files.h"
#include "runtime/Data/PreTokens.h"

#include <array>
#include <charconv>
#include <climits>
#include <functional>
#include <optional>
#include <queue>

namespace steep {

//===----------------------------------------------------------------------===//
// The ranks file
//===----------------------------------------------------------------------===//

static int base64Value(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/// Strict: whole groups of four, padding at the end alone, no spare bits set.
static std::optional<std::string> decodeBase64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0)
    return std::nullopt;
  std::size_t padding = text.back() != '='             ? 0
                        : text[text.size() - 2] != '=' ? 1
                                                       : 2;
  std::string bytes;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text.substr(0, text.size() - padding)) {
    int value = base64Value(c);
    if (value < 0)
      return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>(bits >> held);
    }
  }
  if (bits & ((1u << held) - 1))
    return std::nullopt;
  return bytes;
}

namespace {
/// Lines of a ranks file, and where an error stands.
struct RankLine {
  std::string origin; ///< "'FILE':LINE"
  std::string bytes;
  std::size_t rank;
};
} // namespace

/// Ids are uint16, and one more is needed for the end of text.
static constexpr std::size_t largestRank = UINT16_MAX - 1;

static RankLine parseLine(std::string_view line, std::string origin) {
  std::size_t space = line.find(' ');
  if (space == std::string_view::npos)
    fail("{}: {} is no \"BASE64 RANK\"", origin, quote(line));
  std::optional<std::string> bytes = decodeBase64(line.substr(0, space));
  if (!bytes)
    fail("{}: {} is not base64", origin, quote(line.substr(0, space)));
  std::string_view digits = line.substr(space + 1);
  std::size_t rank = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (digits.empty() || error != std::errc() ||
      end != digits.data() + digits.size() || rank > largestRank)
    fail("{}: rank {} is not a number from 0 to {}", origin, quote(digits),
         largestRank);
  return {std::move(origin), std::move(*bytes), rank};
}

Tokenizer Tokenizer::parse(const std::string &text, const std::string &origin) {
  Tokenizer result;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.empty() && at >= text.size())
      break;
    RankLine parsed =
        parseLine(line, fmt::format("{}:{}", quote(origin), number));
    if (parsed.rank >= result.tokens.size())
      result.tokens.resize(parsed.rank + 1);
    std::string &token = result.tokens[parsed.rank];
    if (!token.empty())
      fail("{}: rank {} stands twice", parsed.origin, parsed.rank);
    token = std::move(parsed.bytes);
    result.longest = std::max(result.longest, token.size());
  }
  // Views of the tokens, which from here on stay where they are.
  for (std::size_t rank = 0; rank < result.tokens.size(); ++rank) {
    const std::string &token = result.tokens[rank];
    if (token.empty())
      fail("{}: rank {} is missing, though there are larger ones",
           quote(origin), rank);
    auto [other, fresh] = result.ranks.emplace(token, static_cast<int>(rank));
    if (!fresh)
      fail("{}: ranks {} and {} have the same bytes", quote(origin),
           other->second, rank);
  }
  for (int byte = 0; byte < 256; ++byte) {
    char c = static_cast<char>(byte);
    if (!result.ranks.count(std::string_view(&c, 1)))
      fail("{}: byte 0x{:02x} has no rank", quote(origin), byte);
  }
  return result;
}

Tokenizer Tokenizer::load(const std::string &path) {
  return parse(readFile(path, std::size_t(1) << 26), path);
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

static constexpr int noRank = INT_MAX;

int Tokenizer::rankOf(std::string_view bytes) const {
  if (bytes.size() > longest)
    return noRank;
  auto found = ranks.find(bytes);
  return found == ranks.end() ? noRank : found->second;
}

/// Joins the pair of least rank, the leftmost of equals, again and again. A
/// heap keeps this n log n: a file may be one piece.
void Tokenizer::mergePiece(std::string_view piece,
                           std::vector<uint16_t> &ids) const {
  // A list of parts in the order of the text; a part that was joined to its
  // left neighbour has size 0.
  struct Part {
    std::size_t size, previous, next;
  };
  std::size_t n = piece.size();
  std::vector<Part> parts(n);
  for (std::size_t i = 0; i < n; ++i)
    parts[i] = {1, i - 1, i + 1};

  struct Join {
    int rank;
    std::size_t left, size; ///< size: of both, to know what became stale
    bool operator>(const Join &other) const {
      return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
  };
  std::priority_queue<Join, std::vector<Join>, std::greater<>> joins;
  auto offer = [&](std::size_t left) {
    std::size_t right = parts[left].next;
    if (right >= n)
      return;
    std::size_t size = parts[left].size + parts[right].size;
    int rank = rankOf(piece.substr(left, size));
    if (rank != noRank)
      joins.push({rank, left, size});
  };
  for (std::size_t i = 0; i + 1 < n; ++i)
    offer(i);
  while (!joins.empty()) {
    Join join = joins.top();
    joins.pop();
    Part &left = parts[join.left];
    std::size_t right = left.next;
    if (left.size == 0 || right >= n ||
        left.size + parts[right].size != join.size)
      continue;
    left.size = join.size;
    left.next = parts[right].next;
    parts[right].size = 0;
    if (left.next < n)
      parts[left.next].previous = join.left;
    offer(join.left);
    if (join.left > 0)
      offer(left.previous);
  }
  for (std::size_t i = 0; i < n; i = parts[i].next)
    ids.push_back(
        static_cast<uint16_t>(rankOf(piece.substr(i, parts[i].size))));
}

void Tokenizer::encodePiece(std::string_view piece,
                            std::vector<uint16_t> &ids) {
  int whole = rankOf(piece);
  if (whole != noRank) {
    ids.push_back(static_cast<uint16_t>(whole));
    return;
  }
  // Long pieces hardly come twice, and memory has an end.
  constexpr std::size_t longestKept = 64, mostKept = 1 << 20;
  if (piece.size() > longestKept)
    return mergePiece(piece, ids);
  if (cache.size() >= mostKept) {
    cache.clear();
    known.clear();
  }
  auto [entry, fresh] = cache.try_emplace(std::string(piece));
  if (fresh) {
    std::size_t begin = known.size();
    mergePiece(piece, known);
    entry->second = {begin, known.size()};
  }
  for (std::size_t i = entry->second.first; i < entry->second.second; ++i)
    ids.push_back(known[i]);
}

void Tokenizer::encode(std::string_view text, std::vector<uint16_t> &ids) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = pieceEnd(text, begin);
    encodePiece(text.substr(begin, end - begin), ids);
    begin = end;
  }
}

std::vector<uint16_t> Tokenizer::encode(std::string_view text) {
  std::vector<uint16_t> ids;
  encode(text, ids);
  return ids;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

std::string_view Tokenizer::bytes(uint16_t id) const {
  if (id == endOfText())
    return {};
  if (id > endOfText())
    fail("token {} is not in the vocabulary of {}", id, vocabulary());
  return tokens[id];
}

std::string Tokenizer::decode(const std::vector<uint16_t> &ids) const {
  std::string text;
  for (uint16_t id : ids)
    text += bytes(id);
  return text;
}

} // namespace steep
