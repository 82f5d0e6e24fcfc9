//===- Loader.cpp - LLVM modules for the emulated GPU ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Loader.h"

#include "runtime/Devices/Simt/EntryPoints.h"
#include "runtime/Devices/Simt/PtxReader.h"
#include "runtime/Devices/Simt/Retarget.h"
#include "runtime/Devices/Simt/SmallFloats.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <atomic>
#include <mutex>

using namespace llvm;
using namespace llvm::orc;

namespace steep::simt {

namespace {
class CompiledProgram : public Program {
public:
  ~CompiledProgram() override;
  KernelEntry entry(const Kernel &kernel, std::string &message) const override;

  std::unique_ptr<SiteList> sites = std::make_unique<SiteList>();
  std::unique_ptr<LLJIT> jit;
};
} // namespace

CompiledProgram::~CompiledProgram() {
  for (const Variable &variable : variables)
    GlobalMemory::instance().disown(variable.address);
}

KernelEntry CompiledProgram::entry(const Kernel &kernel,
                                   std::string &message) const {
  auto found = jit->lookup(kernel.name);
  if (found)
    return found->toPtr<KernelEntry>();
  message = "kernel '" + kernel.name + "': " + toString(found.takeError());
  return nullptr;
}

static Error failure(const Twine &text) {
  return createStringError(inconvertibleErrorCode(), text);
}

/// The processor to compile for: pinned, so that results do not depend on
/// what the machine has beyond it. In particular no AVX512-BF16, whose
/// conversion flushes denormals.
static Expected<JITTargetMachineBuilder> targetBuilder(bool optimized) {
  static const bool initialised = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  StringMap<bool> features = sys::getHostCPUFeatures();
  bool modern = features.lookup("avx2") && features.lookup("fma") &&
                features.lookup("f16c") && features.lookup("bmi2");
  JITTargetMachineBuilder builder{Triple(sys::getProcessTriple())};
  builder.setCPU(modern ? "x86-64-v3" : "x86-64");
  builder.setCodeGenOptLevel(optimized ? CodeGenOptLevel::Default
                                       : CodeGenOptLevel::None);
  // Fuses what the module marks `contract`, and nothing else.
  builder.getOptions().AllowFPOpFusion = FPOpFusion::Standard;
  return builder;
}

/// Marks a kernel's body and its thunk, into which the body may be inlined;
/// both have the context first.
static constexpr const char *kKernelAttribute = "steep-simt-kernel";

/// What compiling quickly still needs: small functions inlined, registers made
/// of memory, and what the lowering left over dropped.
static ModulePassManager quickPasses() {
  FunctionPassManager function;
  function.addPass(SROAPass(SROAOptions::ModifyCFG));
  function.addPass(EarlyCSEPass());
  function.addPass(SimplifyCFGPass());
  function.addPass(InstCombinePass());
  ModulePassManager module;
  module.addPass(AlwaysInlinerPass());
  module.addPass(createModuleToFunctionPassAdaptor(std::move(function)));
  return module;
}

static void optimise(Module &module, TargetMachine &machine, bool optimized) {
  PipelineTuningOptions tuning;
  // A lane is scalar code; vectorising its loops costs more than it gives.
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  ModulePassManager passes =
      optimized ? builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2)
                : quickPasses();
  passes.run(module, modules);
}

/// What a module of one kernel goes through when it is first asked for.
static Error compileKernel(Module &module, SiteList &sites, bool optimized) {
  auto builder = targetBuilder(optimized);
  if (!builder)
    return builder.takeError();
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  optimise(module, **machine, optimized);
  for (Function &function : module)
    if (!function.isDeclaration() && function.hasFnAttribute(kKernelAttribute))
      insertLookUps(function, sites);
  return Error::success();
}

static Expected<std::unique_ptr<LLJIT>> makeJit(SiteList &sites,
                                                bool optimized) {
  auto target = targetBuilder(optimized);
  if (!target)
    return target.takeError();
  auto made = LLJITBuilder().setJITTargetMachineBuilder(*target).create();
  if (!made)
    return made.takeError();
  LLJIT &jit = **made;
  SymbolMap symbols;
  auto define = [&](const char *name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {ExecutorAddr::fromPtr(function),
                                          JITSymbolFlags::Exported};
  };
  define("steepSimtOperation", &steepSimtOperation);
  define("steepSimtLookUp", &steepSimtLookUp);
  define("steepSimtRead", &steepSimtRead);
  define("steepSimtWrite", &steepSimtWrite);
  define("steepSimtAtomic", &steepSimtAtomic);
  for (const SmallFloatHelper &helper : smallFloatHelpers())
    symbols[jit.mangleAndIntern(helper.name)] = {
        ExecutorAddr::fromPtr(helper.function), JITSymbolFlags::Exported};
  if (Error error =
          jit.getMainJITDylib().define(absoluteSymbols(std::move(symbols))))
    return error;
  auto process = DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit.getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  jit.getMainJITDylib().addGenerator(std::move(*process));
  jit.getIRTransformLayer().setTransform(
      [&sites, optimized](
          ThreadSafeModule module,
          MaterializationResponsibility &) -> Expected<ThreadSafeModule> {
        if (Error error = module.withModuleDo(
                [&](Module &m) { return compileKernel(m, sites, optimized); }))
          return error;
        return module;
      });
  return std::move(*made);
}

/// One module a kernel, so that only those that are launched are compiled;
/// and one with the variables.
static Error addModules(LLJIT &jit, Module &module,
                        const std::vector<KernelCode> &kernels,
                        ThreadSafeContext context) {
  auto add = [&](function_ref<bool(const GlobalValue *)> keep) {
    ValueToValueMapTy map;
    auto part = CloneModule(module, map, keep);
    return jit.addIRModule(ThreadSafeModule(std::move(part), context));
  };
  for (const KernelCode &code : kernels) {
    auto keep = [&](const GlobalValue *value) {
      if (auto *function = dyn_cast<Function>(value))
        return function == code.body || function == code.thunk ||
               function->hasFnAttribute(Attribute::AlwaysInline);
      return false;
    };
    if (Error error = add(keep))
      return error;
  }
  return add([](const GlobalValue *value) {
    return isa<GlobalVariable>(value) && !value->isDeclaration();
  });
}

/// Variables get names that a module of a kernel can refer to.
static void exportVariables(Module &module) {
  unsigned unnamed = 0;
  for (GlobalVariable &variable : make_early_inc_range(module.globals())) {
    if (variable.use_empty() && variable.hasLocalLinkage()) {
      variable.eraseFromParent();
      continue;
    }
    if (variable.isDeclaration())
      continue;
    if (!variable.hasName())
      variable.setName("steep.unnamed." + Twine(unnamed++));
    variable.setLinkage(GlobalValue::ExternalLinkage);
    variable.setComdat(nullptr);
    variable.setVisibility(GlobalValue::DefaultVisibility);
  }
}

static Error findVariables(CompiledProgram &program, Module &module) {
  for (GlobalVariable &variable : module.globals()) {
    if (variable.isDeclaration() || variable.getName().starts_with("llvm."))
      continue;
    Variable found;
    found.name = variable.getName().str();
    found.bytes =
        module.getDataLayout().getTypeAllocSize(variable.getValueType());
    program.variables.push_back(found);
  }
  return Error::success();
}

static Error resolveVariables(CompiledProgram &program) {
  for (Variable &variable : program.variables) {
    auto address = program.jit->lookup(variable.name);
    if (!address)
      return address.takeError();
    variable.address = address->toPtr<void *>();
    GlobalMemory::instance().adopt(variable.address, variable.bytes,
                                   "variable '" + variable.name + "'");
  }
  return Error::success();
}

static Error describe(const Problems &problems) {
  std::string text;
  for (const std::string &problem : problems)
    text += (text.empty() ? "" : "\n") + problem;
  return failure(text);
}

Expected<std::unique_ptr<Program>>
loadModule(std::unique_ptr<Module> module, std::unique_ptr<LLVMContext> context,
           const Options &options) {
  auto program = std::make_unique<CompiledProgram>();
  program->options = options;
  const bool optimized = options.optimize && !options.check;
  auto target = targetBuilder(optimized);
  if (!target)
    return target.takeError();
  auto machine = target->createTargetMachine();
  if (!machine)
    return machine.takeError();
  std::string broken;
  raw_string_ostream stream(broken);
  if (verifyModule(*module, &stream))
    return failure("the module is not valid: " + broken);

  Problems problems;
  prepareModule(*module, **machine, problems);
  std::vector<KernelCode> kernels = wrapKernels(*module, problems);
  if (kernels.empty())
    problems.push_back("the module has no kernel");
  if (options.check)
    for (KernelCode &code : kernels)
      instrument(code, *program->sites);
  lowerIntrinsics(*module, kernels, *program->sites, problems);
  if (!problems.empty())
    return describe(problems);
  for (KernelCode &code : kernels) {
    placeShared(code);
    for (Function *function : {code.body, code.thunk}) {
      function->addFnAttr("target-cpu", (*machine)->getTargetCPU());
      function->addFnAttr(kKernelAttribute);
      // A frame larger than a page must not step over the guard page.
      function->addFnAttr("probe-stack", "inline-asm");
    }
    program->kernels.push_back(code.kernel);
  }
  for (GlobalVariable &variable : make_early_inc_range(module->globals()))
    if (variable.getAddressSpace() == 3 && variable.use_empty())
      variable.eraseFromParent();
  exportVariables(*module);
  if (verifyModule(*module, &stream))
    return failure("the retargeted module is not valid: " + broken);

  auto jit = makeJit(*program->sites, optimized);
  if (!jit)
    return jit.takeError();
  program->jit = std::move(*jit);
  if (Error error = findVariables(*program, *module))
    return error;
  ThreadSafeContext shared(std::move(context));
  Error added = shared.withContextDo([&](LLVMContext *) {
    Error error = addModules(*program->jit, *module, kernels, shared);
    module.reset();
    return error;
  });
  if (added)
    return added;
  if (Error error = resolveVariables(*program))
    return error;
  return std::unique_ptr<Program>(std::move(program));
}

Expected<std::unique_ptr<Program>> loadBytes(StringRef bytes, StringRef name,
                                             const Options &options) {
  auto context = std::make_unique<LLVMContext>();
  if (isPtx(bytes)) {
    auto read = readPtx(bytes, name, *context);
    if (!read)
      return read.takeError();
    return loadModule(std::move(*read), std::move(context), options);
  }
  SMDiagnostic diagnostic;
  auto module = parseIR(MemoryBufferRef(bytes, name), diagnostic, *context);
  if (!module) {
    // Without the line of the text, which may be anything.
    std::string text = diagnostic.getFilename().str();
    if (diagnostic.getLineNo() > 0)
      text += ":" + std::to_string(diagnostic.getLineNo()) + ":" +
              std::to_string(diagnostic.getColumnNo() + 1);
    return failure(text + ": " + diagnostic.getMessage().trim());
  }
  return loadModule(std::move(module), std::move(context), options);
}

} // namespace steep::simt
