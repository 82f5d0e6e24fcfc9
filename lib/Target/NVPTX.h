//===- NVPTX.h - GPU kernels as one module of LLVM --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_NVPTX_H
#define STEEP_LIB_TARGET_NVPTX_H

#include "lib/Target/GPU.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace steepc {

/// LLVM's code generator for this GPU, which contracts nothing of its own.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const GPU &gpu);

/// Turns kernels in the LLVM dialect into one module, which
/// completeDeviceModule() then makes one of a GPU. The caller owns the context.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateKernels(mlir::ModuleOp kernels, llvm::LLVMContext &context);

} // namespace steepc

#endif // STEEP_LIB_TARGET_NVPTX_H
