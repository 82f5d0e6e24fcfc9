//===- PtxReader.h - PTX text as an LLVM module -----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_PTXREADER_H
#define STEEP_RUNTIME_DEVICES_SIMT_PTXREADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace steep::simt {

/// On a kernel's parameter: its type, .b32 or the like, says nothing but a
/// size.
inline constexpr llvm::StringLiteral untypedAttribute = "steep-untyped";

/// Whether bytes are PTX text: the first thing that is no comment is
/// `.version`.
bool isPtx(llvm::StringRef bytes);

/// Turns PTX text of any version into a module of the kind that LLVM's NVPTX
/// target takes and loadModule compiles: entries are `ptx_kernel`s, collective
/// and approximate instructions are the llvm.nvvm intrinsics (wgmma the inline
/// assembly that MLIR emits), everything else is plain LLVM instructions with
/// the rounding that the text says. Addresses are pointers to the variable or
/// the parameter that they derive from, where there is one, so that the
/// emulator's bounds checks see it. Debug locations are lines of the text.
///
/// Cache hints, `.pragma`, `.loc`, debug sections, prefetches and register
/// hints have no effect. The first instruction that the reader does not know
/// is an error, "NAME:LINE: unknown instruction 'TEXT'", and so is the first
/// line that is not PTX. `name` stands in messages.
llvm::Expected<std::unique_ptr<llvm::Module>>
readPtx(llvm::StringRef text, llvm::StringRef name, llvm::LLVMContext &context);

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_PTXREADER_H
