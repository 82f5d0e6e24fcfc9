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

/// Turns kernels in the LLVM dialect into one module for `gpu`, which is
/// checked and not optimized. The caller owns the context.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateKernels(mlir::ModuleOp kernels, const GPU &gpu,
                 llvm::LLVMContext &context);

/// LLVM's -O3 but for the joining of scalars to vectors.
void optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine);

/// translateKernels() and optimizeKernels() for kernels as buildNVPTXPipeline
/// leaves them: what is handed to the PTX writer is what others may execute.
/// Kernels are `ptx_kernel` functions. The caller owns the context.
llvm::Expected<std::unique_ptr<llvm::Module>>
buildGPUModule(mlir::ModuleOp kernels, const GPU &gpu,
               llvm::LLVMContext &context);

/// The module as PTX text.
llvm::Expected<std::string> writePTX(const llvm::Module &module,
                                     const GPU &gpu);

} // namespace steepc

#endif // STEEP_LIB_TARGET_NVPTX_H
