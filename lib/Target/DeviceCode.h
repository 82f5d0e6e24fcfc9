//===- DeviceCode.h - kernels as a GPU's driver takes them ------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_TARGET_DEVICECODE_H
#define STEEP_LIB_TARGET_DEVICECODE_H

#include "lib/Target/Plan.h"
#include "lib/Target/Ptxas.h"

#include "llvm/IR/Module.h"

#include <memory>

namespace steepc {

/// A compiled kernel, as a launch and the manifest see it.
struct GPUFunction {
  std::string name;
  std::array<int64_t, 3> block = {1, 1, 1};
  int64_t dynamicShared = 0; ///< bytes that a launch asks for
  bool tables = false;       ///< external pointers are tables of pointers
  /// From ptxas, where it ran.
  std::optional<KernelResources> resources;

  int64_t threads() const { return block[0] * block[1] * block[2]; }
  int64_t sharedBytes() const {
    return dynamicShared + (resources ? resources->sharedBytes : 0);
  }
};

/// One GPU's part of an artefact.
struct GPUCode {
  GPU gpu;
  Plan plan; ///< of the kernels as they are for GPUs
  std::vector<GPUFunction> functions;
  std::string bitcode; ///< the module that was handed to the code generator
  std::string ptx;
  std::string cubin;        ///< empty where there is no ptxas
  std::string ptxasVersion; ///< likewise

  int64_t indexOf(llvm::StringRef function) const; ///< -1 where absent
};

/// What the launcher has to know of the kernels of a module of the LLVM dialect
/// (or of the gpu.module in it).
llvm::Expected<std::vector<GPUFunction>>
readGPUFunctions(mlir::Operation *kernels);

/// Completes a module of kernels: each gets a last parameter, the address of
/// the step's skip flag, and returns at once where that is set; the kernels of
/// Device/Prelude.c and what is used of libdevice are linked in, all else than
/// kernels becomes internal.
llvm::Error completeDeviceModule(llvm::Module &module, const GPU &gpu);

/// Optimizes and generates `bitcode` and `ptx` in a child process, and `cubin`
/// and the functions' resources where there is a `ptxas`. `name` is the
/// artefact's, for messages.
llvm::Error generateDeviceCode(llvm::Module &module, GPUCode &code,
                               const std::optional<Ptxas> &ptxas,
                               llvm::StringRef name);

} // namespace steepc

#endif // STEEP_LIB_TARGET_DEVICECODE_H
