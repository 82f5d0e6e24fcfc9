//===- Program.h - other programs, and files for them -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_PROGRAM_H
#define STEEP_LIB_TARGET_PROGRAM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"

#include <string>
#include <system_error>

namespace steepc {

/// An empty file in the system's temporary folder; it goes with its object, or
/// with a signal that ends this process.
class TemporaryFile {
public:
  TemporaryFile(const llvm::Twine &name, llvm::StringRef ending);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  /// The file stays.
  void keep();

  std::error_code code; ///< why there is none
  llvm::SmallString<128> path;

private:
  bool kept = false;
};

/// The bytes of a file; none where it cannot be read.
std::string readFile(const llvm::Twine &path);

/// How a program ended.
struct ProgramResult {
  int status = -1;    ///< its exit status, or a negative number
  std::string output; ///< what it printed, on both of its streams
  std::string reason; ///< why it did not start or not end by itself, or empty
};

/// Runs `arguments[0]`, without input, for at most `seconds` (0: any time).
ProgramResult runProgram(llvm::ArrayRef<std::string> arguments,
                         unsigned seconds);

} // namespace steepc

#endif // STEEP_LIB_TARGET_PROGRAM_H
