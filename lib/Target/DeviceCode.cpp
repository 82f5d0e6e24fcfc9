//===- DeviceCode.cpp - kernels as a GPU's driver takes them --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Target/DeviceCode.h"

#include "dialects/Block/Block.h"
#include "lib/Target/Child.h"
#include "lib/Target/CodeGen.h"
#include "lib/Target/NVPTX.h"

#include "devicePrelude.inc"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace steepc {

int64_t GPUCode::indexOf(StringRef function) const {
  for (auto [index, entry] : llvm::enumerate(functions))
    if (entry.name == function)
      return int64_t(index);
  return -1;
}

//===----------------------------------------------------------------------===//
// From the LLVM dialect
//===----------------------------------------------------------------------===//

/// A name that PTX takes as it is: LLVM would change any other, and the driver
/// would not find the kernel.
static bool isPtxName(StringRef name) {
  return !name.empty() && llvm::all_of(name, [](char c) {
    return isAlnum(c) || c == '_' || c == '$';
  }) && !isDigit(name[0]);
}

static Expected<GPUFunction> readFunction(mlir::LLVM::LLVMFuncOp kernel) {
  GPUFunction function;
  function.name = kernel.getSymName().str();
  if (!isPtxName(function.name))
    return createStringError("the kernel's name '" + function.name +
                             "' is none that PTX has");
  auto block = kernel->getAttrOfType<mlir::DenseI32ArrayAttr>("nvvm.reqntid");
  if (!block || block.size() < 1 || block.size() > 3)
    return createStringError("the kernel '" + function.name +
                             "' does not say how many threads it needs "
                             "(nvvm.reqntid)");
  for (auto [index, size] : llvm::enumerate(block.asArrayRef()))
    function.block[index] = size;
  if (auto shared = kernel->getAttrOfType<mlir::IntegerAttr>(
          mlir::block::BlockDialect::sharedAttrName))
    function.dynamicShared = shared.getInt();
  function.tables = kernel->hasAttr(mlir::block::BlockDialect::tableAttrName);
  return function;
}

Expected<std::vector<GPUFunction>> readGPUFunctions(mlir::Operation *kernels) {
  std::vector<GPUFunction> functions;
  Error error = Error::success();
  kernels->walk([&](mlir::LLVM::LLVMFuncOp kernel) {
    if (error ||
        !kernel->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName()))
      return;
    Expected<GPUFunction> function = readFunction(kernel);
    if (function)
      functions.push_back(std::move(*function));
    else
      error = joinErrors(std::move(error), function.takeError());
  });
  if (error)
    return error;
  return functions;
}

//===----------------------------------------------------------------------===//
// The skip flag
//===----------------------------------------------------------------------===//

/// The same kernel with one more parameter, whose pointee decides whether it
/// does anything. All threads read the same word, so the branch is uniform.
static void addSkipFlag(Function &kernel) {
  LLVMContext &context = kernel.getContext();
  SmallVector<Type *> types(kernel.getFunctionType()->params());
  types.push_back(PointerType::get(context, 1));
  auto *type = FunctionType::get(Type::getVoidTy(context), types, false);
  Function *guarded =
      Function::Create(type, kernel.getLinkage(), kernel.getAddressSpace());
  kernel.getParent()->getFunctionList().insert(kernel.getIterator(), guarded);
  guarded->takeName(&kernel);
  guarded->copyAttributesFrom(&kernel);
  guarded->copyMetadata(&kernel, 0);
  kernel.clearMetadata();
  guarded->splice(guarded->begin(), &kernel);
  for (auto [from, to] : llvm::zip(kernel.args(), guarded->args())) {
    to.takeName(&from);
    from.replaceAllUsesWith(&to);
  }
  Argument *flag = guarded->getArg(guarded->arg_size() - 1);
  flag->setName("skip");
  BasicBlock *body = &guarded->getEntryBlock();
  auto *entry = BasicBlock::Create(context, "guard", guarded, body);
  auto *leave = BasicBlock::Create(context, "skipped", guarded);
  IRBuilder<> builder(entry);
  // An alloca elsewhere than in the entry is one of unknown size.
  for (Instruction &instruction : llvm::make_early_inc_range(*body))
    if (isa<AllocaInst>(instruction))
      instruction.moveBefore(*entry, entry->end());
  Value *skip = builder.CreateLoad(builder.getInt32Ty(), flag);
  builder.CreateCondBr(builder.CreateIsNotNull(skip), leave, body);
  ReturnInst::Create(context, leave);
  kernel.replaceAllUsesWith(guarded);
  kernel.eraseFromParent();
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

static Error linkBitcode(Module &module, StringRef bitcode, StringRef what,
                         unsigned flags) {
  auto other =
      parseBitcodeFile(MemoryBufferRef(bitcode, what), module.getContext());
  if (!other)
    return other.takeError();
  (*other)->setDataLayout(module.getDataLayout());
  (*other)->setTargetTriple(module.getTargetTriple());
  // What it was compiled for is no matter: the module has one target.
  for (Function &function : **other)
    for (const char *attribute :
         {"target-cpu", "target-features", "frame-pointer", "no-builtins"})
      function.removeFnAttr(attribute);
  if (Linker::linkModules(module, std::move(*other), flags))
    return createStringError(what + " does not link to the kernels");
  return Error::success();
}

static Error linkLibdevice(Module &module) {
  std::string needed;
  for (const Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with("__nv"))
      needed = function.getName().str();
  if (needed.empty())
    return Error::success();
  std::string path = findInToolkit("nvvm/libdevice/libdevice.10.bc");
  if (path.empty())
    return createStringError(
        "the kernels need " + needed +
        " of libdevice, and no toolkit was found; set STEEP_CUDA or run "
        "tools/fetch-cuda.sh");
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(
        path + ": cannot be read: " + buffer.getError().message());
  return linkBitcode(module, (*buffer)->getBuffer(), "libdevice",
                     Linker::Flags::LinkOnlyNeeded);
}

static bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::PTX_Kernel;
}

Error completeDeviceModule(Module &module, const GPU &gpu) {
  auto machine = createMachine(gpu);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  if (Error error = checkNoFastMath(module))
    return error;
  for (Function &function : llvm::make_early_inc_range(module))
    if (isKernel(function) && !function.isDeclaration())
      addSkipFlag(function);
  StringRef prelude(reinterpret_cast<const char *>(devicePrelude),
                    sizeof devicePrelude);
  if (Error error = linkBitcode(module, prelude, "the prelude", 0))
    return error;
  if (Error error = linkLibdevice(module))
    return error;
  for (GlobalValue &value : module.global_values()) {
    auto *function = dyn_cast<Function>(&value);
    if (value.isDeclaration() || (function && isKernel(*function)))
      continue;
    // Dynamic shared memory is external by nature.
    if (!value.hasLocalLinkage() && !value.hasExternalLinkage())
      continue;
    value.setLinkage(GlobalValue::InternalLinkage);
  }
  if (NamedMDNode *ident = module.getNamedMetadata("llvm.ident"))
    ident->eraseFromParent();
  return checkValid(module, "the module for " + gpu.name);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Writes the length of the bitcode, the bitcode, the PTX.
static bool emit(Module &module, const GPU &gpu, raw_pwrite_stream &out) {
  auto machine = createMachine(gpu);
  if (!machine) {
    errs() << "error: " << toString(machine.takeError()) << "\n";
    return false;
  }
  optimizeModule(module, **machine);
  std::string bitcode;
  raw_string_ostream stream(bitcode);
  WriteBitcodeToFile(module, stream);
  char length[8];
  support::endian::write64le(length, bitcode.size());
  out.write(length, sizeof length);
  out << bitcode;
  legacy::PassManager passes;
  SmallString<0> ptx;
  raw_svector_ostream text(ptx);
  if ((*machine)->addPassesToEmitFile(passes, text, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return false;
  passes.run(module);
  out << ptx;
  return true;
}

/// Writes or replaces the bound on a kernel's registers in PTX.
static void boundRegisters(std::string &ptx, StringRef kernel, int64_t bound) {
  size_t entry = ptx.find((".entry " + kernel + "(").str());
  size_t body = ptx.find("\n{", entry);
  if (entry == std::string::npos || body == std::string::npos)
    return;
  constexpr StringLiteral directive = "\n.maxnreg ";
  size_t old = StringRef(ptx).slice(0, body).find(directive, entry);
  if (old != StringRef::npos)
    ptx.erase(old, body - old);
  ptx.insert(std::min(old, body), (directive + Twine(bound)).str());
}

/// ptxas may spill where it could take more registers, for the sake of an
/// occupancy that no kernel here asked for. Gives such kernels `factor` times
/// as many, up to what their block can have; false if none can have more.
static bool raiseRegisters(GPUCode &code, ArrayRef<KernelResources> kernels,
                           int64_t factor) {
  constexpr int64_t perProcessor = 65536, perThread = 255, unit = 8;
  bool raised = false;
  for (const KernelResources &kernel : kernels) {
    int64_t index = code.indexOf(kernel.name);
    if (index < 0 || kernel.spillStores + kernel.spillLoads == 0)
      continue;
    int64_t share = perProcessor / code.functions[index].threads();
    int64_t most = std::min<int64_t>(perThread, alignDown(share, unit));
    if (kernel.registers >= most)
      continue;
    boundRegisters(code.ptx, kernel.name,
                   std::min(most, factor * kernel.registers));
    raised = true;
  }
  return raised;
}

static Error addCubin(GPUCode &code, const Ptxas &ptxas, StringRef name) {
  Expected<Cubin> cubin = assemble(ptxas, code.gpu, code.ptx, name);
  for (int64_t factor : {2, 8})
    if (cubin && raiseRegisters(code, cubin->kernels, factor))
      cubin = assemble(ptxas, code.gpu, code.ptx, name);
  if (!cubin)
    return cubin.takeError();
  code.cubin = std::move(cubin->bytes);
  code.ptxasVersion = ptxas.version;
  for (const KernelResources &resources : cubin->kernels) {
    int64_t index = code.indexOf(resources.name);
    if (index >= 0)
      code.functions[index].resources = resources;
  }
  return Error::success();
}

Error generateDeviceCode(Module &module, GPUCode &code,
                         const std::optional<Ptxas> &ptxas, StringRef name) {
  Expected<std::string> bytes =
      runInChild(code.gpu.name, [&](raw_pwrite_stream &out) {
        return emit(module, code.gpu, out);
      });
  if (!bytes)
    return bytes.takeError();
  StringRef rest = *bytes;
  uint64_t length = support::endian::read64le(rest.data());
  code.bitcode = rest.substr(8, length).str();
  code.ptx = rest.substr(8 + length).str();
  if (!ptxas)
    return Error::success();
  return addCubin(code, *ptxas, (name + "." + code.gpu.name).str());
}

} // namespace steepc
