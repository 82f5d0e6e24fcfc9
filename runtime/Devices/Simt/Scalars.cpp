//===- Scalars.cpp - the library of scalar intrinsics ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Scalars.h"

#include "simtScalars.inc"

namespace steep::simt {

std::pair<const unsigned char *, std::size_t> scalarLibrary() {
  return {simtScalars, sizeof simtScalars};
}

} // namespace steep::simt
