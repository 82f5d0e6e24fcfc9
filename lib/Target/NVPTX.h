//===- NVPTX.h - GPU kernels as one module of LLVM --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_NVPTX_H
#define STEEP_LIB_TARGET_NVPTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace steepc {

/// One GPU, as `--target` names it.
struct GPU {
  std::string name;     ///< sm_80, sm_90a, ...
  std::string features; ///< the PTX version, for LLVM
};

/// Reads `sm_NN[a|f]`. Everything that LLVM would abort on is an error.
llvm::Expected<GPU> parseGPU(llvm::StringRef text);

/// Turns kernels in the LLVM dialect (buildNVPTXPipeline) into one module,
/// optimized: what is handed to the PTX writer is what others may execute.
/// Kernels are `ptx_kernel` functions. The caller owns the context.
llvm::Expected<std::unique_ptr<llvm::Module>>
buildGPUModule(mlir::ModuleOp kernels, const GPU &gpu,
               llvm::LLVMContext &context);

/// The module as PTX text.
llvm::Expected<std::string> writePTX(const llvm::Module &module,
                                     const GPU &gpu);

} // namespace steepc

#endif // STEEP_LIB_TARGET_NVPTX_H
