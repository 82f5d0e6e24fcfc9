//===- NVPTX.cpp - GPU kernels as one module of LLVM ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/NVPTX.h"

#include "lib/Target/CodeGen.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace llvm;

namespace steepc {

static constexpr const char *tripleName = "nvptx64-nvidia-cuda";

Expected<std::unique_ptr<TargetMachine>> createMachine(const GPU &gpu) {
  initializeNVPTX();
  std::string error;
  Triple triple(tripleName);
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("this LLVM has no target for GPUs: " + error);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, gpu.name, gpu.features, options, std::nullopt, std::nullopt,
      CodeGenOptLevel::Aggressive));
}

Expected<std::unique_ptr<Module>> translateKernels(mlir::ModuleOp kernels,
                                                   LLVMContext &context) {
  mlir::registerBuiltinDialectTranslation(*kernels->getContext());
  mlir::registerLLVMDialectTranslation(*kernels->getContext());
  mlir::registerNVVMDialectTranslation(*kernels->getContext());
  // Specs and other ops that are no code stay behind.
  mlir::OwningOpRef<mlir::ModuleOp> code = kernels.clone();
  for (mlir::Operation &op : llvm::make_early_inc_range(*code->getBody()))
    if (op.getDialect()->getNamespace() != "llvm")
      op.erase();
  std::unique_ptr<Module> module =
      mlir::translateModuleToLLVMIR(*code, context, "kernels");
  if (!module)
    return createStringError("the kernels do not translate to LLVM IR");
  return module;
}

} // namespace steepc
