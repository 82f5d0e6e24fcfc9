//===- PreTokens.cpp - how GPT-2 cuts text into pieces --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Data/PreTokens.h"

#include <utf8proc.h>

namespace steep {

namespace {
enum class Class { Letter, Number, Space, Other };

struct Character {
  Class kind;
  std::size_t bytes;
};
} // namespace

/// Unicode's White_Space, which no utf8proc function answers.
static bool isWhiteSpace(utf8proc_int32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static Class classify(utf8proc_int32_t c) {
  if (isWhiteSpace(c))
    return Class::Space;
  switch (utf8proc_category(c)) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
    return Class::Letter;
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_NO:
    return Class::Number;
  default:
    return Class::Other;
  }
}

static Character characterAt(std::string_view text, std::size_t at) {
  auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) { // no table, for speed
    if ((first | 0x20) >= 'a' && (first | 0x20) <= 'z')
      return {Class::Letter, 1};
    if (first >= '0' && first <= '9')
      return {Class::Number, 1};
    return {isWhiteSpace(first) ? Class::Space : Class::Other, 1};
  }
  utf8proc_int32_t codepoint;
  utf8proc_ssize_t bytes = utf8proc_iterate(
      reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + at,
      static_cast<utf8proc_ssize_t>(text.size() - at), &codepoint);
  if (bytes <= 0)
    return {Class::Other, 1};
  return {classify(codepoint), static_cast<std::size_t>(bytes)};
}

/// The end of the contraction at `begin`, or `begin` where there is none.
static std::size_t contractionEnd(std::string_view text, std::size_t begin) {
  std::string_view rest = text.substr(begin, 3);
  for (std::string_view end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (rest.substr(0, end.size()) == end)
      return begin + end.size();
  return begin;
}

/// \s+(?!\S)|\s+: white space before other text leaves its last character to
/// the next piece, unless it is the only one.
static std::size_t spaceEnd(std::string_view text, std::size_t begin) {
  std::size_t end = begin, last = begin;
  while (end < text.size()) {
    Character character = characterAt(text, end);
    if (character.kind != Class::Space)
      return last > begin ? last : end;
    last = end;
    end += character.bytes;
  }
  return end;
}

std::size_t pieceEnd(std::string_view text, std::size_t begin) {
  if (text[begin] == '\'') {
    std::size_t end = contractionEnd(text, begin);
    if (end > begin)
      return end;
  }
  std::size_t start = begin;
  if (text[begin] == ' ' && begin + 1 < text.size())
    start = begin + 1;
  Character character = characterAt(text, start);
  if (character.kind == Class::Space)
    return spaceEnd(text, begin);
  Class kind = character.kind;
  std::size_t end = start;
  do {
    end += character.bytes;
    if (end == text.size())
      break;
    character = characterAt(text, end);
  } while (character.kind == kind);
  return end;
}

} // namespace steep
