//===- Files.h - files that are whole or absent -----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_FILES_H
#define STEEP_RUNTIME_CORE_FILES_H

#include <functional>
#include <string>
#include <vector>

namespace steep {

/// The bytes of a regular file. Throws Error (with the reason) where it cannot
/// be read or is larger than `limit`.
std::string readFile(const std::string &path, std::size_t limit = std::size_t(1)
                                                                  << 31);

/// Writes through a temporary file in the same folder, fsync and rename: after
/// an error or a crash the old file is there, or none.
void writeFile(const std::string &path, const std::string &bytes);

/// The same, for content produced piece by piece: `produce` receives a function
/// that appends bytes, and may throw to give up.
void writeFile(
    const std::string &path,
    const std::function<
        void(const std::function<void(const void *, std::size_t)> &)> &produce);

/// Fills a fresh temporary folder beside `path` through `fill(temporary)`,
/// syncs it and renames it to `path`, which must not exist.
void writeFolder(const std::string &path,
                 const std::function<void(const std::string &)> &fill);

/// What writeFile and writeFolder were at work on, in `folder`, when their
/// process was killed: a temporary file or folder that nobody will rename.
struct Remnant {
  std::string path;
  std::string name; ///< the file name that it would have got
};

/// The remnants in a folder, by name. Those of living processes are none,
/// except for this one's number: a process that has not begun to write there
/// may bear that of a dead one.
std::vector<Remnant> findRemnants(const std::string &folder);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_FILES_H
