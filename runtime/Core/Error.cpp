//===- Error.cpp - text in messages ---------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Error.h"

std::string steep::quote(std::string_view text) {
  constexpr std::size_t longest = 200;
  std::string result = "'";
  for (char c : text.substr(0, longest)) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  if (text.size() > longest)
    result += "...";
  return result + "'";
}
