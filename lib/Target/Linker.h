//===- Linker.h - from an object to a shared library ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_LINKER_H
#define STEEP_LIB_TARGET_LINKER_H

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace steepc {

/// The program that links: `cc`, else `ld.lld-22`, as found in PATH.
struct Linker {
  std::string program;
  bool isCompiler = true;
};

std::optional<Linker> findLinker();

/// Links `object` to the shared library `library`, whose soname is its file
/// name. It needs libc and libm only.
llvm::Error linkLibrary(const Linker &linker, llvm::StringRef object,
                        llvm::StringRef library);

} // namespace steepc

#endif // STEEP_LIB_TARGET_LINKER_H
