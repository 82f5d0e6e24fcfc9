//===- PreTokens.h - how GPT-2 cuts text into pieces ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DATA_PRETOKENS_H
#define STEEP_RUNTIME_DATA_PRETOKENS_H

#include <cstddef>
#include <string_view>

namespace steep {

/// Where the piece ends that starts at `begin` (before the end of the text).
/// Pieces are the matches of
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// where \p{L} and \p{N} are utf8proc's general categories, \s is Unicode's
/// White_Space, and each byte that is not part of valid UTF-8 counts as a
/// character outside all three.
std::size_t pieceEnd(std::string_view text, std::size_t begin);

} // namespace steep

#endif // STEEP_RUNTIME_DATA_PRETOKENS_H
