//===- CodeGen.h - LLVM's optimizer and code generator ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_CODEGEN_H
#define STEEP_LIB_TARGET_CODEGEN_H

#include "lib/Target/CPU.h"
#include "lib/Target/DeviceCode.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

#include "llvm/Passes/PassBuilder.h"

#include <memory>

namespace steepc {

enum class CodeKind { IR, Assembly, Object };

/// Turns a module of the LLVM dialect into one of LLVM, with the host code, the
/// tables of the plan and the images for GPUs. The caller owns the context.
llvm::Expected<std::unique_ptr<llvm::Module>>
buildModule(mlir::ModuleOp kernels, const Plan &plan, const CPU &cpu,
            llvm::ArrayRef<GPUCode> gpus, llvm::StringRef manifest,
            llvm::LLVMContext &context);

/// FMAs and reductions are explicit in the IR; a flag would let LLVM choose
/// others, and results would depend on what it chose.
llvm::Error checkNoFastMath(const llvm::Module &module);

/// Fails, with LLVM's first complaint about `what`, unless the IR is valid.
llvm::Error checkValid(const llvm::Module &module, const llvm::Twine &what);

/// An attribute of functions that came here optimized: the host code, most of a
/// small library, which every run of steepc would optimize again.
inline constexpr llvm::StringLiteral optimizedAttribute = "steep-optimized";

/// LLVM's -O3 for the machine, without its vectorizers and without functions
/// that have `optimizedAttribute`.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

/// Optimizes and emits in a child process, so that an abort there is an error
/// here. The calling process must have one thread only.
llvm::Expected<std::string> generateCode(llvm::Module &module, const CPU &cpu,
                                         CodeKind kind);

} // namespace steepc

#endif // STEEP_LIB_TARGET_CODEGEN_H
