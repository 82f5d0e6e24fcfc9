//===- Output.h - files that are whole or absent ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_OUTPUT_H
#define STEEP_LIB_COMPILER_OUTPUT_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace steepc {

/// Writes a file through a temporary one, fsync and rename.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

/// A folder of files that appear together. They are made in a temporary folder
/// beside it, which goes away unless commit() succeeds, on a signal too.
class OutputFolder {
public:
  /// Would create() succeed? Asked before the long work.
  static llvm::Error check(llvm::StringRef path);
  static llvm::Expected<std::unique_ptr<OutputFolder>>
  create(llvm::StringRef path);
  ~OutputFolder();
  OutputFolder(const OutputFolder &) = delete;

  /// Where the file is until commit().
  std::string temporaryPath(llvm::StringRef name) const;
  llvm::Error write(llvm::StringRef name, llvm::StringRef bytes);
  /// The path at which another program is going to make a file.
  std::string announce(llvm::StringRef name);
  /// Makes what that program has written last.
  llvm::Error sync(llvm::StringRef name);
  /// A file of an earlier run that must not stay, unless it is written anew.
  void retire(llvm::StringRef name);
  /// Puts everything in its place. A new folder appears at once; in one that
  /// exists, files are replaced one by one, in the order in which they came.
  llvm::Error commit();

private:
  OutputFolder() = default;

  std::string path, temporary;
  std::vector<std::string> files, retired;
  bool isNew = true;
};

} // namespace steepc

#endif // STEEP_LIB_COMPILER_OUTPUT_H
