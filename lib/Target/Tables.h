//===- Tables.h - a plan as LLVM constants ----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_TABLES_H
#define STEEP_LIB_TARGET_TABLES_H

#include "lib/Target/CPU.h"
#include "lib/Target/DeviceCode.h"

#include "llvm/IR/Module.h"

namespace steepc {

/// Adds the constant `steep_host_tables` (Host/Tables.h) to a module that holds
/// the plan's kernels. `manifest` is what build_info() returns.
llvm::Error addTables(llvm::Module &module, const Plan &plan, const CPU &cpu,
                      llvm::StringRef manifest, llvm::ArrayRef<GPUCode> gpus);

} // namespace steepc

#endif // STEEP_LIB_TARGET_TABLES_H
