//===- Error.h - the runtime's one exception --------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bad input is reported by throwing steep::Error with one complete sentence:
// the file, place, parameter or value, and what was expected. A tool's main()
// prints it once as "TOOL: error: MESSAGE" and exits with status 1.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_ERROR_H
#define STEEP_RUNTIME_CORE_ERROR_H

#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace steep {

class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with the formatted message.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args &&...args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Text from outside, for a message: in single quotes, on one line (control
/// characters are escaped), and cut after 200 bytes.
std::string quote(std::string_view text);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_ERROR_H
