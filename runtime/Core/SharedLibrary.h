//===- SharedLibrary.h - a library that may be opened -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_SHAREDLIBRARY_H
#define STEEP_RUNTIME_CORE_SHAREDLIBRARY_H

#include <string>

namespace steep {

/// Throws Error unless the file is a whole ELF library for this machine.
/// dlopen() maps what the headers claim without a look at the file's size, and
/// a file that was cut off would end the program.
void checkSharedLibrary(const std::string &path);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_SHAREDLIBRARY_H
