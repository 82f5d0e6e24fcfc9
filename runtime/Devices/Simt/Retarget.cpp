//===- Retarget.cpp - modules of a GPU made modules of this machine -------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Retarget.h"

#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/PtxReader.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"

using namespace llvm;

namespace steep::simt {

Site &SiteList::add(const Instruction &instruction) {
  Site site;
  raw_string_ostream(site.text) << instruction;
  // Metadata and attributes at the end say nothing to a reader.
  StringRef text = StringRef(site.text).trim().split(", !").first;
  site.text = text.substr(0, text.rfind(" #")).str();
  if (site.text.size() > 160)
    site.text.replace(157, std::string::npos, "...");
  if (const DebugLoc &place = instruction.getDebugLoc())
    site.location = sys::path::filename(place->getFilename()).str() + ":" +
                    std::to_string(place.getLine());
  std::lock_guard<std::mutex> lock(mutex);
  sites.push_back(std::move(site));
  return sites.back();
}

//===----------------------------------------------------------------------===//
// prepareModule
//===----------------------------------------------------------------------===//

/// __nvvm_reflect("name") asks how the program is compiled: precisely.
static void foldReflect(Module &module) {
  for (const char *name : {"__nvvm_reflect", "llvm.nvvm.reflect"}) {
    Function *reflect = module.getFunction(name);
    if (!reflect)
      continue;
    for (User *user : make_early_inc_range(reflect->users())) {
      auto *call = dyn_cast<CallInst>(user);
      if (!call)
        continue;
      StringRef question;
      getConstantStringInfo(call->getArgOperand(0), question);
      unsigned answer = question == "__CUDA_ARCH"        ? 800
                        : question == "__CUDA_PREC_SQRT" ? 1
                        : question == "__CUDA_PREC_DIV"  ? 1
                                                         : 0;
      call->replaceAllUsesWith(ConstantInt::get(call->getType(), answer));
      call->eraseFromParent();
    }
  }
}

static bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::PTX_Kernel;
}

/// Drops what is meant for another target and makes functions inline.
static void prepareFunction(Function &function, Problems &problems) {
  if (function.isDeclaration())
    return;
  for (const char *name : {"denormal-fp-math", "denormal-fp-math-f32"})
    if (function.getFnAttribute(name).getValueAsString().starts_with(
            "preserve-sign"))
      problems.push_back("function '" + function.getName().str() +
                         "' flushes denormals for plain operations (" + name +
                         "), which is not emulated");
  for (const char *name : {"target-cpu", "target-features", "tune-cpu"})
    function.removeFnAttr(name);
  function.removeFnAttr(Attribute::OptimizeNone);
  function.removeFnAttr(Attribute::NoInline);
  function.setComdat(nullptr);
  if (isKernel(function))
    return;
  function.setLinkage(GlobalValue::InternalLinkage);
  function.setCallingConv(CallingConv::C);
  function.addFnAttr(Attribute::AlwaysInline);
  for (User *user : function.users())
    if (auto *call = dyn_cast<CallBase>(user))
      call->setCallingConv(CallingConv::C);
}

static void inlineAll(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  ModulePassManager passes;
  passes.addPass(AlwaysInlinerPass());
  passes.run(module, modules);
}

void prepareModule(Module &module, TargetMachine &machine, Problems &problems) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  if (!module.getModuleInlineAsm().empty())
    problems.push_back("the module has inline assembly of its own");
  for (const char *name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *list = module.getNamedGlobal(name))
      list->eraseFromParent();
  foldReflect(module);
  lowerAtomics(module);
  for (Function &function : module)
    prepareFunction(function, problems);
  inlineAll(module, machine);
  for (bool changed = true; changed;) {
    changed = false;
    for (Function &function : make_early_inc_range(module))
      if (!isKernel(function) && function.use_empty()) {
        function.eraseFromParent();
        changed = true;
      }
  }
  for (Function &function : module) {
    if (function.isIntrinsic())
      continue;
    if (function.isDeclaration())
      problems.push_back("function '" + function.getName().str() +
                         "' has no body");
    else if (!isKernel(function))
      problems.push_back("function '" + function.getName().str() +
                         "' cannot be inlined (recursion or a pointer to it)");
  }
}

//===----------------------------------------------------------------------===//
// wrapKernels
//===----------------------------------------------------------------------===//

/// "128,1,1" or fewer numbers.
static void readSizes(const Function &function, StringRef attribute,
                      std::uint32_t (&sizes)[3]) {
  SmallVector<StringRef, 3> parts;
  function.getFnAttribute(attribute).getValueAsString().split(parts, ',', -1,
                                                              false);
  for (std::size_t i = 0; i < parts.size() && i < 3; ++i)
    parts[i].trim().getAsInteger(10, sizes[i]);
}

static Kernel describeKernel(const Function &function,
                             const DataLayout &layout) {
  Kernel kernel;
  kernel.name = function.getName().str();
  std::uint64_t offset = 0;
  for (const Argument &argument : function.args()) {
    Type *type = argument.hasByValAttr() ? argument.getParamByValType()
                                         : argument.getType();
    std::uint64_t size = layout.getTypeAllocSize(type);
    offset = alignTo(offset, layout.getABITypeAlign(type));
    kernel.sizes.push_back(size);
    kernel.kinds.push_back(argument.hasAttribute(untypedAttribute) ||
                                   argument.hasByValAttr()
                               ? ParameterKind::Bits
                           : type->isFloatingPointTy() ? ParameterKind::Float
                           : type->isIntOrPtrTy()      ? ParameterKind::Integer
                                                       : ParameterKind::Bits);
    kernel.offsets.push_back(offset);
    offset += size;
  }
  readSizes(function, "nvvm.reqntid", kernel.required);
  std::uint32_t most[3] = {0, 1, 1};
  readSizes(function, "nvvm.maxntid", most);
  kernel.maxThreads = most[0] * most[1] * most[2];
  return kernel;
}

/// Moves a kernel's body into a function that takes the context first.
static Function *addContext(Function &kernel) {
  Module &module = *kernel.getParent();
  SmallVector<Type *> types = {PointerType::get(module.getContext(), 0)};
  for (Argument &argument : kernel.args())
    types.push_back(argument.getType());
  auto *body = Function::Create(
      FunctionType::get(Type::getVoidTy(module.getContext()), types, false),
      GlobalValue::InternalLinkage, kernel.getName() + ".body", module);
  body->splice(body->begin(), &kernel);
  body->addFnAttr(Attribute::NoUnwind);
  body->getArg(0)->setName("context");
  body->getArg(0)->addAttr(Attribute::NoAlias);
  for (Argument &argument : kernel.args()) {
    Argument *moved = body->getArg(argument.getArgNo() + 1);
    moved->takeName(&argument);
    argument.replaceAllUsesWith(moved);
  }
  if (DISubprogram *program = kernel.getSubprogram()) {
    kernel.setSubprogram(nullptr);
    body->setSubprogram(program);
  }
  return body;
}

/// void thunk(Context *, void **parameters), as cuLaunchKernel has them.
static Function *makeThunk(Function &kernel, Function *body) {
  Module &module = *kernel.getParent();
  auto *pointer = PointerType::get(module.getContext(), 0);
  auto *thunk =
      Function::Create(FunctionType::get(Type::getVoidTy(module.getContext()),
                                         {pointer, pointer}, false),
                       GlobalValue::ExternalLinkage, "", module);
  IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", thunk));
  SmallVector<Value *> arguments = {thunk->getArg(0)};
  for (Argument &argument : kernel.args()) {
    Value *slot = builder.CreateLoad(
        pointer, builder.CreateConstGEP1_32(pointer, thunk->getArg(1),
                                            argument.getArgNo()));
    // A struct by value is a pointer to the launch's copy of it.
    if (argument.hasByValAttr())
      arguments.push_back(
          builder.CreateAddrSpaceCast(slot, argument.getType()));
    else
      arguments.push_back(
          builder.CreateAlignedLoad(argument.getType(), slot, Align(1)));
  }
  builder.CreateCall(body, arguments);
  builder.CreateRetVoid();
  std::string name = kernel.getName().str();
  kernel.eraseFromParent();
  thunk->setName(name);
  return thunk;
}

static constexpr unsigned kSharedSpace = 3;

/// Gives each shared variable that the kernel uses its place; variables
/// without a size of their own share what the launch adds.
static void layOutShared(KernelCode &code, ArrayRef<GlobalVariable *> all) {
  const DataLayout &layout = code.body->getDataLayout();
  SmallVector<GlobalVariable *> dynamic;
  std::uint64_t end = 0, dynamicAlignment = 16;
  for (GlobalVariable *variable : all) {
    bool used = any_of(variable->users(), [&](User *user) {
      auto *instruction = dyn_cast<Instruction>(user);
      return instruction && instruction->getFunction() == code.body;
    });
    if (!used)
      continue;
    std::uint64_t bytes = layout.getTypeAllocSize(variable->getValueType());
    Align alignment =
        std::max(variable->getAlign().valueOrOne(),
                 layout.getABITypeAlign(variable->getValueType()));
    if (variable->isDeclaration() || bytes == 0) {
      dynamic.push_back(variable);
      dynamicAlignment = std::max(dynamicAlignment, alignment.value());
      continue;
    }
    end = alignTo(end, alignment);
    code.shared[variable] = {static_cast<std::uint32_t>(end),
                             static_cast<std::uint32_t>(end + bytes), false};
    end += bytes;
  }
  if (!dynamic.empty())
    end = alignTo(end, dynamicAlignment);
  for (GlobalVariable *variable : dynamic)
    code.shared[variable] = {static_cast<std::uint32_t>(end),
                             static_cast<std::uint32_t>(end), true};
  code.kernel.staticShared = end;
}

std::vector<KernelCode> wrapKernels(Module &module, Problems &problems) {
  SmallVector<Function *> functions;
  for (Function &function : module)
    if (isKernel(function) && !function.isDeclaration())
      functions.push_back(&function);
  SmallVector<GlobalVariable *> shared;
  SmallVector<Constant *> constants;
  for (GlobalVariable &variable : module.globals())
    if (variable.getAddressSpace() == kSharedSpace) {
      shared.push_back(&variable);
      constants.push_back(&variable);
    }

  std::vector<KernelCode> kernels;
  for (Function *function : functions) {
    KernelCode code;
    code.kernel = describeKernel(*function, module.getDataLayout());
    for (Argument &argument : function->args())
      if (argument.hasByValAttr())
        code.byValue.insert(argument.getArgNo() + 1);
    code.body = addContext(*function);
    code.thunk = makeThunk(*function, code.body);
    code.context = code.body->getArg(0);
    convertUsersOfConstantsToInstructions(constants, code.body);
    layOutShared(code, shared);
    kernels.push_back(std::move(code));
  }
  for (GlobalVariable *variable : shared)
    for (User *user : variable->users())
      if (!isa<Instruction>(user)) {
        problems.push_back("shared variable '" + variable->getName().str() +
                           "' is used outside of kernels");
        break;
      }
  return kernels;
}

void placeShared(KernelCode &code) {
  if (code.shared.empty())
    return;
  // The steps before may have folded casts of variables to constants anew.
  SmallVector<Constant *> constants;
  for (auto &entry : code.shared)
    constants.push_back(entry.first);
  convertUsersOfConstantsToInstructions(constants, code.body);
  LLVMContext &context = code.body->getContext();
  IRBuilder<> builder(&*code.body->getEntryBlock().getFirstInsertionPt());
  Value *window = builder.CreateAddrSpaceCast(
      loadContext(builder, code.context, offsetof(Context, shared),
                  builder.getPtrTy()),
      PointerType::get(context, kSharedSpace));
  for (auto &[variable, range] : code.shared) {
    Value *address = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(),
                                                        window, range.begin);
    variable->replaceUsesWithIf(address, [&](Use &use) {
      auto *user = dyn_cast<Instruction>(use.getUser());
      return user && user->getFunction() == code.body;
    });
  }
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

Value *loadContext(IRBuilderBase &builder, Value *context, unsigned offset,
                   Type *type) {
  auto *load = builder.CreateLoad(
      type,
      builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), context, offset));
  load->setMetadata(LLVMContext::MD_invariant_load,
                    MDNode::get(builder.getContext(), {}));
  return load;
}

Constant *siteAddress(LLVMContext &context, const Site &site) {
  return ConstantExpr::getIntToPtr(
      ConstantInt::get(Type::getInt64Ty(context),
                       reinterpret_cast<std::uintptr_t>(&site)),
      PointerType::get(context, 0));
}

FunctionCallee entryPoint(Module &module, StringRef name,
                          ArrayRef<Type *> parameters) {
  FunctionCallee callee = module.getOrInsertFunction(
      name, FunctionType::get(Type::getVoidTy(module.getContext()), parameters,
                              false));
  auto *function = cast<Function>(callee.getCallee());
  function->setDoesNotThrow();
  // A barrier must not be copied into two branches.
  function->addFnAttr(Attribute::Convergent);
  function->addFnAttr(Attribute::NoDuplicate);
  return callee;
}

} // namespace steep::simt
