//===- Loader.h - LLVM modules for the emulated GPU -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_LOADER_H
#define STEEP_RUNTIME_DEVICES_SIMT_LOADER_H

#include "runtime/Devices/Simt/Program.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace steep::simt {

/// Compiles a module for this machine. The module is what goes to the NVPTX
/// target: kernels have the calling convention `ptx_kernel`, address spaces
/// are 1 (global), 3 (shared), 4 (constant) and 5 (local), and intrinsics are
/// llvm.nvvm.*. An intrinsic or inline assembly that the emulator does not
/// know is an error that names it, and so is a call of a function without a
/// body. All such errors of a module come in one message, one a line.
llvm::Expected<std::unique_ptr<Program>>
loadModule(std::unique_ptr<llvm::Module> module,
           std::unique_ptr<llvm::LLVMContext> context, const Options &options);

/// The same for the bytes of a file: LLVM bitcode, LLVM assembly or PTX, told
/// apart by their beginnings. `name` stands in messages.
llvm::Expected<std::unique_ptr<Program>>
loadBytes(llvm::StringRef bytes, llvm::StringRef name, const Options &options);

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_LOADER_H
