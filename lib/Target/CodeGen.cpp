//===- CodeGen.cpp - LLVM's optimizer and code generator ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CodeGen.h"

#include "lib/Target/HostCode.h"
#include "lib/Target/Tables.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// FMAs and reductions are explicit in the IR; a flag would let LLVM choose
/// others, and results would depend on what it chose.
static Error checkNoFastMath(const Module &module) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function))
      if (auto *op = dyn_cast<FPMathOperator>(&instruction))
        if (op->getFastMathFlags().any())
          return createStringError("the kernel '" + function.getName() +
                                   "' carries fast-math flags");
  return Error::success();
}

Expected<std::unique_ptr<Module>> buildModule(mlir::ModuleOp kernels,
                                              const Plan &plan, const CPU &cpu,
                                              StringRef manifest,
                                              LLVMContext &context) {
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
  setKernelTarget(*module, cpu);
  if (Error error = addTables(*module, plan, cpu, manifest))
    return error;
  if (Error error = checkNoFastMath(*module))
    return error;
  if (Error error = linkHostCode(*module, plan.name))
    return error;
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(*module, &stream))
    return createStringError("the module is not valid LLVM IR: " +
                             StringRef(problem).split('\n').first);
  return module;
}

//===----------------------------------------------------------------------===//
// The child
//===----------------------------------------------------------------------===//

static void optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
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
  optimize(module, *machine);
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

/// Everything of an anonymous file.
static std::string readAll(int file) {
  std::string bytes;
  off_t size = lseek(file, 0, SEEK_END);
  if (size <= 0)
    return bytes;
  bytes.resize(size_t(size));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = pread(file, &bytes[done], bytes.size() - done, off_t(done));
    if (got <= 0)
      return std::string();
    done += size_t(got);
  }
  return bytes;
}

/// The line of the child's output that says what went wrong.
static std::string reasonIn(StringRef log, int status) {
  SmallVector<StringRef> lines;
  log.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (line.consume_front("LLVM ERROR: ") || line.consume_front("error: "))
      return line.str();
  if (!lines.empty())
    return lines.front().str();
  if (WIFSIGNALED(status))
    return std::string("it ended with ") + strsignal(WTERMSIG(status));
  return "it failed without a message";
}

[[noreturn]] static void runChild(Module &module, const CPU &cpu, CodeKind kind,
                                  int result, int log) {
  // The parent reports; a handler of the parent must not run here.
  for (int signal : {SIGABRT, SIGSEGV, SIGILL, SIGBUS, SIGFPE})
    std::signal(signal, SIG_DFL);
  dup2(log, STDERR_FILENO);
  dup2(log, STDOUT_FILENO);
  bool good;
  {
    raw_fd_ostream out(result, /*shouldClose=*/false);
    good = emit(module, cpu, kind, out);
    out.flush();
    good = good && !out.has_error();
    out.clear_error();
  }
  _exit(good ? 0 : 1);
}

Expected<std::string> generateCode(Module &module, const CPU &cpu,
                                   CodeKind kind) {
  int result = memfd_create("steep-code", MFD_CLOEXEC);
  int log = memfd_create("steep-log", MFD_CLOEXEC);
  scope_exit close([&] {
    ::close(result);
    ::close(log);
  });
  if (result < 0 || log < 0)
    return createStringError("cannot create a temporary file: " +
                             Twine(strerror(errno)));
  outs().flush();
  errs().flush();
  pid_t child = fork();
  if (child < 0)
    return createStringError("cannot start a child process: " +
                             Twine(strerror(errno)));
  if (child == 0)
    runChild(module, cpu, kind, result, log);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return createStringError("lost the code generator's process");
  if (status != 0)
    return createStringError("LLVM cannot generate code for " + cpu.cpu + ": " +
                             reasonIn(readAll(log), status));
  std::string code = readAll(result);
  if (code.empty())
    return createStringError("LLVM generated no code for " + cpu.cpu);
  return code;
}

} // namespace steepc
