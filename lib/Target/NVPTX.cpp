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

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/Cloning.h"

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

void optimizeKernels(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PipelineTuningOptions tuning;
  // Vectors are chosen already; joining scalars again costs registers.
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(module, modules);
}

Expected<std::unique_ptr<Module>>
translateKernels(mlir::ModuleOp kernels, const GPU &gpu, LLVMContext &context) {
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
  auto machine = createMachine(gpu);
  if (!machine)
    return machine.takeError();
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  if (Error error = checkNoFastMath(*module))
    return error;
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(*module, &stream))
    return createStringError("the module is not valid LLVM IR: " +
                             StringRef(problem).split('\n').first);
  return module;
}

Expected<std::unique_ptr<Module>>
buildGPUModule(mlir::ModuleOp kernels, const GPU &gpu, LLVMContext &context) {
  auto module = translateKernels(kernels, gpu, context);
  if (!module)
    return module.takeError();
  auto machine = createMachine(gpu);
  if (!machine)
    return machine.takeError();
  optimizeKernels(**module, **machine);
  return module;
}

Expected<std::string> writePTX(const Module &module, const GPU &gpu) {
  auto machine = createMachine(gpu);
  if (!machine)
    return machine.takeError();
  // Code generation changes the module.
  std::unique_ptr<Module> copy = CloneModule(module);
  SmallString<0> text;
  raw_svector_ostream out(text);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, out, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return createStringError("this LLVM cannot write PTX");
  passes.run(*copy);
  return text.str().str();
}

} // namespace steepc
