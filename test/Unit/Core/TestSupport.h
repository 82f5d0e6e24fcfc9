//===- TestSupport.h - helpers of the runtime's tests -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_CORE_TESTSUPPORT_H
#define STEEP_TEST_UNIT_CORE_TESTSUPPORT_H

#include "runtime/Core/Error.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace steep::test {

/// A folder that is removed with everything in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "steep-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("mkdtemp failed");
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const std::string &name) const {
    return (path / name).string();
  }
  const std::filesystem::path &folder() const { return path; }
  /// How many entries are in it: no partial output may stay behind.
  std::size_t entries() const {
    std::filesystem::directory_iterator begin(path), end;
    return static_cast<std::size_t>(std::distance(begin, end));
  }

private:
  std::filesystem::path path;
};

/// Writes without the care (and the fsync) of writeFile: for many small files.
inline void writeQuickly(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Runs `body`, which must throw Error, and returns its message: one line.
template <typename Body> std::string messageOf(Body &&body) {
  try {
    body();
  } catch (const Error &error) {
    std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

} // namespace steep::test

/// The body throws Error with a message that contains the text.
#define EXPECT_ERROR(body, text)                                               \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text,                            \
                      ::steep::test::messageOf([&] { body; }))

#endif // STEEP_TEST_UNIT_CORE_TESTSUPPORT_H
