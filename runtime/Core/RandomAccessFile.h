//===- RandomAccessFile.h - a file read at any place ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_RANDOMACCESSFILE_H
#define STEEP_RUNTIME_CORE_RANDOMACCESSFILE_H

#include <cstdint>
#include <string>

namespace steep {

/// A regular file open for reading. Not mapped into memory: a file that
/// shrinks is an Error here, where a map would end the program.
class RandomAccessFile {
public:
  explicit RandomAccessFile(const std::string &path);
  RandomAccessFile(const RandomAccessFile &) = delete;
  ~RandomAccessFile();

  /// Its size when it was opened.
  uint64_t size() const { return bytes; }
  /// Throws Error where not all of it can be read. Any thread may call it.
  void read(void *to, uint64_t count, uint64_t offset) const;

private:
  std::string path;
  int descriptor;
  uint64_t bytes = 0;
};

} // namespace steep

#endif // STEEP_RUNTIME_CORE_RANDOMACCESSFILE_H
