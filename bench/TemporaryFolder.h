//===- TemporaryFolder.h - a place for specs of benchmarks ------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_BENCH_TEMPORARYFOLDER_H
#define STEEP_BENCH_TEMPORARYFOLDER_H

#include "runtime/Core/Error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace steep::bench {

/// A folder of one's own in the system's place for such ($TMPDIR), removed with
/// the object.
class TemporaryFolder {
public:
  TemporaryFolder()
      : folder(
            (std::filesystem::temp_directory_path() / "steep-bench.XXXXXX")) {
    if (!mkdtemp(&folder[0]))
      fail("cannot make the folder '{}': {}", folder, std::strerror(errno));
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored; // it is the system's to clean
    std::filesystem::remove_all(folder, ignored);
  }

  const std::string &path() const { return folder; }

private:
  std::string folder;
};

} // namespace steep::bench

#endif // STEEP_BENCH_TEMPORARYFOLDER_H
