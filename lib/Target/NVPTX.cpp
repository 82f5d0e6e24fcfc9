//===- NVPTX.cpp - GPU kernels as one module of LLVM ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/NVPTX.h"

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

Expected<GPU> parseGPU(StringRef text) {
  StringRef number = text;
  unsigned version = 0;
  bool isName = number.consume_front("sm_") &&
                !number.consumeInteger(10, version) &&
                (number.empty() || number == "a" || number == "f");
  if (!isName || version < 80)
    return createStringError("expected a GPU from sm_80 on, as sm_80 or "
                             "sm_90a, but got '" +
                             text + "'");
  // What ptxas wants at least; LLVM aborts on less.
  const char *features = version >= 120   ? "+ptx87"
                         : version >= 100 ? "+ptx86"
                                          : "+ptx80";
  return GPU{text.str(), features};
}

static Expected<std::unique_ptr<TargetMachine>> createMachine(const GPU &gpu) {
  static const bool initialized = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string error;
  Triple triple(tripleName);
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("this LLVM has no target for GPUs: " + error);
  std::unique_ptr<MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!known || !known->isCPUStringValid(gpu.name))
    return createStringError("this LLVM does not know the GPU '" + gpu.name +
                             "'");
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, gpu.name, gpu.features, options, std::nullopt, std::nullopt,
      CodeGenOptLevel::Aggressive));
}

/// FMAs and orders of sums are explicit; a flag would let LLVM choose others,
/// and an emulator and the device would differ.
static Error checkNoFastMath(const Module &module) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function))
      if (auto *op = dyn_cast<FPMathOperator>(&instruction))
        if (op->getFastMathFlags().any())
          return createStringError("the kernel '" + function.getName() +
                                   "' carries fast-math flags");
  return Error::success();
}

static void optimize(Module &module, TargetMachine &machine) {
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
buildGPUModule(mlir::ModuleOp kernels, const GPU &gpu, LLVMContext &context) {
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
  optimize(*module, **machine);
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
