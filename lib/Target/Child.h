//===- Child.h - work that may abort, in a process of its own ---*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_CHILD_H
#define STEEP_LIB_TARGET_CHILD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace steepc {

/// Runs `work` in a child process and returns what it wrote. Where it returns
/// false, aborts or writes nothing, that is an error of one line about `cpu`.
/// The calling process must have one thread only.
llvm::Expected<std::string>
runInChild(llvm::StringRef cpu,
           llvm::function_ref<bool(llvm::raw_pwrite_stream &)> work);

} // namespace steepc

#endif // STEEP_LIB_TARGET_CHILD_H
