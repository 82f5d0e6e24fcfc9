//===- HostCode.h - from kernels to a library's module ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_HOSTCODE_H
#define STEEP_LIB_TARGET_HOSTCODE_H

#include "lib/Target/CPU.h"

#include "llvm/IR/Module.h"

namespace steepc {

/// Links the solvers that kernels with `isHost` name; their code is for `cpu`
/// once setKernelTarget() has seen it.
llvm::Error linkHostKernels(llvm::Module &module, const CPU &cpu);

/// Every function of the module uses `cpu`, and vectors as wide as it has.
void setKernelTarget(llvm::Module &module, const CPU &cpu);

/// Links the host code (lib/Target/Host), with the launcher of GPU kernels or
/// without, to a module that holds kernels and `steep_host_tables`, gives its
/// entries the names steep_NAME_*, and makes all else internal.
llvm::Error linkHostCode(llvm::Module &module, llvm::StringRef name,
                         bool withGPU);

} // namespace steepc

#endif // STEEP_LIB_TARGET_HOSTCODE_H
