//===- CodeGen.cpp - LLVM's optimizer and code generator ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CodeGen.h"

#include "lib/Target/Child.h"
#include "lib/Target/HostCode.h"
#include "lib/Target/Tables.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace llvm;

namespace steepc {

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// The host code's machine: baseline, and never a contraction of its own.
/// Kernels say in their attributes what they use.
static std::unique_ptr<TargetMachine> createMachine(const CPU &cpu) {
  initializeX86();
  std::string error;
  Triple triple(cpu.triple);
  const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(triple, "x86-64", "", options, Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Aggressive));
}

Error checkNoFastMath(const Module &module) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function))
      if (auto *op = dyn_cast<FPMathOperator>(&instruction))
        if (op->getFastMathFlags().any())
          return createStringError("the kernel '" + function.getName() +
                                   "' carries fast-math flags");
  return Error::success();
}

Error checkValid(const Module &module, const Twine &what) {
  std::string problem;
  raw_string_ostream stream(problem);
  if (!verifyModule(module, &stream))
    return Error::success();
  return createStringError(
      what + " is not valid LLVM IR: " + StringRef(problem).split('\n').first);
}

Expected<std::unique_ptr<Module>>
buildModule(mlir::ModuleOp kernels, const Plan &plan, const CPU &cpu,
            ArrayRef<GPUCode> gpus, StringRef manifest, LLVMContext &context) {
  mlir::registerBuiltinDialectTranslation(*kernels->getContext());
  mlir::registerLLVMDialectTranslation(*kernels->getContext());
  std::unique_ptr<Module> module =
      mlir::translateModuleToLLVMIR(kernels, context, plan.name);
  if (!module)
    return createStringError("the kernels do not translate to LLVM IR");
  auto machine = createMachine(cpu);
  if (!machine)
    return createStringError("this LLVM has no target for " + cpu.triple);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  if (plan.hasHostKernels())
    if (Error error = linkHostKernels(*module, cpu))
      return error;
  setKernelTarget(*module, cpu);
  if (Error error = addTables(*module, plan, cpu, manifest, gpus))
    return error;
  if (Error error = checkNoFastMath(*module))
    return error;
  if (Error error = linkHostCode(*module, plan.name, !gpus.empty()))
    return error;
  if (Error error = checkValid(*module, "the module"))
    return error;
  return module;
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

/// The function that a part of a module lies in, where it is one.
static const Function *onlyFunction(const Any &ir) {
  if (const auto *function = any_cast<const Function *>(&ir))
    return *function;
  if (const auto *loop = any_cast<const Loop *>(&ir))
    return (*loop)->getHeader()->getParent();
  if (const auto *component = any_cast<const LazyCallGraph::SCC *>(&ir))
    if ((*component)->size() == 1)
      return &(*component)->begin()->getFunction();
  return nullptr;
}

void optimizeModule(Module &module, TargetMachine &machine) {
  PipelineTuningOptions tuning;
  // Vectors are chosen already; joining scalars again costs time and registers.
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback([](StringRef, Any ir) {
    const Function *function = onlyFunction(ir);
    return !function || !function->hasFnAttribute(optimizedAttribute);
  });
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(module, modules);
}

static bool emit(Module &module, const CPU &cpu, CodeKind kind,
                 raw_pwrite_stream &out) {
  auto machine = createMachine(cpu);
  if (!machine)
    return false;
  optimizeModule(module, *machine);
  if (kind == CodeKind::IR) {
    module.print(out, nullptr);
    return true;
  }
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr,
                                   kind == CodeKind::Object
                                       ? CodeGenFileType::ObjectFile
                                       : CodeGenFileType::AssemblyFile))
    return false;
  passes.run(module);
  return true;
}

Expected<std::string> generateCode(Module &module, const CPU &cpu,
                                   CodeKind kind) {
  return runInChild(cpu.cpu, [&](raw_pwrite_stream &out) {
    return emit(module, cpu, kind, out);
  });
}

} // namespace steepc
