//===- Scalars.h - the library of scalar intrinsics -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_SCALARS_H
#define STEEP_RUNTIME_DEVICES_SIMT_SCALARS_H

#include <cstddef>
#include <utility>

namespace steep::simt {

/// Scalars.c as bitcode.
std::pair<const unsigned char *, std::size_t> scalarLibrary();

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_SCALARS_H
