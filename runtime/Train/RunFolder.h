//===- RunFolder.h - the folder of a run, held by one -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_RUNFOLDER_H
#define STEEP_RUNTIME_TRAIN_RUNFOLDER_H

#include <string>
#include <vector>

namespace steep {

/// Holds a run's folder for one process: two that append to the same metrics
/// would spoil both. The system lets go of the lock when the process ends, in
/// whichever way.
class RunFolder {
public:
  /// Makes the folder where it is not there, locks it, and removes what a
  /// killed run left half written or half removed. Throws Error, naming the folder, where
  /// another run holds it.
  explicit RunFolder(const std::string &out);
  /// Lets go; takes a folder away again that nothing was written into.
  ~RunFolder();
  RunFolder(const RunFolder &) = delete;

  /// Throws Error where a fresh run would mix with what an older one left.
  /// True where that one ended before its first checkpoint: there is nothing
  /// to continue, and the fresh run replaces it.
  bool checkFresh() const;

private:
  void lock();

  std::string out, lockPath;
  std::vector<std::string> made; ///< folders that were not there, outer first
  int file = -1;
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_RUNFOLDER_H
