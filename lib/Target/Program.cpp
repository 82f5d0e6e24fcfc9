//===- Program.cpp - other programs, and files for them ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Program.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

namespace steepc {

TemporaryFile::TemporaryFile(const Twine &name, StringRef ending) {
  code = sys::fs::createTemporaryFile(name, ending, path);
  if (!code)
    sys::RemoveFileOnSignal(path);
}

TemporaryFile::~TemporaryFile() {
  if (code || kept)
    return;
  sys::fs::remove(path);
  sys::DontRemoveFileOnSignal(path);
}

void TemporaryFile::keep() {
  kept = true;
  sys::DontRemoveFileOnSignal(path);
}

std::string readFile(const Twine &path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

ProgramResult runProgram(ArrayRef<std::string> arguments, unsigned seconds) {
  ProgramResult result;
  TemporaryFile log("steep-program", "log");
  if (log.code) {
    result.reason = "cannot create a temporary file: " + log.code.message();
    return result;
  }
  SmallVector<StringRef> list(arguments.begin(), arguments.end());
  StringRef path = log.path;
  result.status = sys::ExecuteAndWait(arguments[0], list, std::nullopt,
                                      {StringRef(""), path, path}, seconds,
                                      /*MemoryLimit=*/0, &result.reason);
  result.output = readFile(path);
  if (result.status < 0 && StringRef(result.reason).contains("timed out"))
    result.reason = "it did not end within " + std::to_string(seconds) +
                    (seconds == 1 ? " second" : " seconds");
  return result;
}

} // namespace steepc
