//===- Lowering.cpp - intrinsics become calls and functions ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/Retarget.h"
#include "runtime/Devices/Simt/Scalars.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Linker/Linker.h"

#include <cstddef>

using namespace llvm;

namespace steep::simt {

namespace {
class Lowering {
public:
  Lowering(Module &module, SiteList &sites, Problems &problems)
      : module(module), sites(sites), problems(problems) {}

  void run(std::vector<KernelCode> &kernels);

private:
  void lower(CallInst &call);
  bool lowerRegister(CallInst &call, StringRef name);
  bool lowerScalar(CallInst &call, StringRef name);
  bool lowerPair(CallInst &call, StringRef name);
  void lowerAssembly(CallInst &call);
  void emitOperation(CallInst &call, Site &site);
  void lowerConversion(Instruction &instruction);
  Function *scalar(StringRef name, FunctionType *type);
  void linkScalars();

  Module &module;
  SiteList &sites;
  Problems &problems;
  std::unique_ptr<Module> library;
  Value *context = nullptr;
  StringSet<> reported;
  bool needsScalars = false;
};
} // namespace

static void replace(CallInst &call, Value *value) {
  call.replaceAllUsesWith(value);
  call.eraseFromParent();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Operands and results in 8-byte slots on the lane's stack.
void Lowering::emitOperation(CallInst &call, Site &site) {
  Function &function = *call.getFunction();
  SmallVector<Type *> types;
  if (auto *structure = dyn_cast<StructType>(call.getType()))
    append_range(types, structure->elements());
  else if (!call.getType()->isVoidTy())
    types.push_back(call.getType());
  site.results = types.size();

  IRBuilder<> entry(&*function.getEntryBlock().getFirstInsertionPt());
  Type *slot = entry.getInt64Ty();
  auto slots = [&](std::size_t count) {
    return entry.CreateAlloca(
        ArrayType::get(slot, std::max<std::size_t>(1, count)));
  };
  Value *operands = slots(call.arg_size()), *results = slots(types.size());

  IRBuilder<> builder(&call);
  for (auto [i, argument] : enumerate(call.args())) {
    Value *value = argument;
    if (value->getType()->isPointerTy())
      // An instruction even of a variable, so that placeShared sees its use.
      value = builder.Insert(new PtrToIntInst(value, slot));
    else if (value->getType()->isIntegerTy())
      value = builder.CreateZExtOrTrunc(value, slot);
    builder.CreateStore(value, builder.CreateConstGEP1_32(slot, operands, i));
  }
  Type *pointer = builder.getPtrTy();
  builder.CreateCall(
      entryPoint(module, "steepSimtOperation",
                 {pointer, pointer, pointer, pointer}),
      {context, siteAddress(module.getContext(), site), operands, results});
  auto result = [&](unsigned i) -> Value * {
    Value *address = builder.CreateConstGEP1_32(slot, results, i);
    if (types[i]->isIntegerTy())
      return builder.CreateTrunc(builder.CreateLoad(slot, address), types[i]);
    return builder.CreateLoad(types[i], address);
  };
  if (call.getType()->isStructTy()) {
    Value *all = PoisonValue::get(call.getType());
    for (unsigned i = 0; i < types.size(); ++i)
      all = builder.CreateInsertValue(all, result(i), i);
    call.replaceAllUsesWith(all);
  } else if (!types.empty()) {
    call.replaceAllUsesWith(result(0));
  }
  call.eraseFromParent();
}

void Lowering::lowerAssembly(CallInst &call) {
  auto *assembly = cast<InlineAsm>(call.getCalledOperand());
  Site found;
  if (assembly->getAsmString().empty()) {
    // An empty string is a barrier to LLVM and nothing to the GPU.
    if (call.getType()->isVoidTy())
      call.eraseFromParent();
    else if (call.arg_size() == 1 &&
             call.getArgOperand(0)->getType() == call.getType())
      replace(call, call.getArgOperand(0));
    else
      problems.push_back("inline assembly without text has operands");
    return;
  }
  if (!findAssembly(assembly->getAsmString(), call.arg_size(), found)) {
    problems.push_back(
        "inline assembly is not known: " +
        StringRef(assembly->getAsmString()).take_front(200).str());
    return;
  }
  Site &site = sites.add(call);
  site.operation = found.operation;
  site.immediate = found.immediate;
  emitOperation(call, site);
}

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

bool Lowering::lowerRegister(CallInst &call, StringRef name) {
  if (!name.consume_front("read.ptx.sreg."))
    return false;
  IRBuilder<> builder(&call);
  auto field = [&](std::size_t offset) {
    return loadContext(builder, context, offset, builder.getInt32Ty());
  };
  auto [vector, axis] = name.split('.');
  unsigned index = axis == "x" ? 0 : axis == "y" ? 1 : axis == "z" ? 2 : 3;
  Value *value = nullptr;
  if (index < 3)
    for (auto [known, offset] :
         {std::pair<StringRef, std::size_t>("tid", offsetof(Context, tid)),
          {"ntid", offsetof(Context, ntid)},
          {"ctaid", offsetof(Context, ctaid)},
          {"nctaid", offsetof(Context, nctaid)}})
      if (vector == known)
        value = field(offset + 4 * index);
  auto one = [&] { return builder.getInt32(1); };
  auto lane = [&] { return field(offsetof(Context, lane)); };
  auto below = [&](Value *bit) { return builder.CreateSub(bit, one()); };
  auto bit = [&] { return builder.CreateShl(one(), lane()); };
  if (name == "laneid")
    value = lane();
  else if (name == "warpid")
    value = field(offsetof(Context, warp));
  else if (name == "warpsize")
    value = builder.getInt32(32);
  else if (name == "lanemask.eq")
    value = bit();
  else if (name == "lanemask.lt")
    value = below(bit());
  else if (name == "lanemask.le")
    value = builder.CreateOr(below(bit()), bit());
  else if (name == "lanemask.ge")
    value = builder.CreateNot(below(bit()));
  else if (name == "lanemask.gt")
    value = builder.CreateNot(builder.CreateOr(below(bit()), bit()));
  else if (name == "dynamic_smem_size")
    value = field(offsetof(Context, dynamicShared));
  else if (name == "total_smem_size")
    value = field(offsetof(Context, totalShared));
  else if (name == "smid")
    value = builder.getInt32(0);
  else if (name == "nsmid")
    value = one();
  else if (name == "clock" || name == "clock64")
    value = builder.CreateTrunc(
        builder.CreateIntrinsic(Intrinsic::readcyclecounter, {}),
        call.getType());
  if (!value)
    return false;
  replace(call, value);
  return true;
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

/// The library's function of that name and type, declared in the module.
Function *Lowering::scalar(StringRef name, FunctionType *type) {
  std::string key = "scalar_" + name.str();
  std::replace(key.begin(), key.end(), '.', '_');
  Function *found = library->getFunction(key);
  if (!found || found->getFunctionType() != type)
    return nullptr;
  needsScalars = true;
  return cast<Function>(module.getOrInsertFunction(key, type).getCallee());
}

bool Lowering::lowerScalar(CallInst &call, StringRef name) {
  Function *function = scalar(name, call.getFunctionType());
  if (!function)
    return false;
  call.setCalledFunction(function);
  call.setAttributes(AttributeList());
  return true;
}

/// Two of a scalar: ff2bf16x2.rn(a, b) has b below.
bool Lowering::lowerPair(CallInst &call, StringRef name) {
  StringRef half = name.starts_with("ff2bf16x2.")  ? "f2bf16."
                   : name.starts_with("ff2f16x2.") ? "f2f16."
                                                   : "";
  auto *vector = dyn_cast<FixedVectorType>(call.getType());
  if (half.empty() || !vector || call.arg_size() != 2)
    return false;
  IRBuilder<> builder(&call);
  Function *function = scalar((half + name.split('.').second).str(),
                              FunctionType::get(vector->getElementType(),
                                                {builder.getFloatTy()}, false));
  if (!function)
    return false;
  Value *pair = PoisonValue::get(vector);
  for (unsigned i = 0; i < 2; ++i)
    pair = builder.CreateInsertElement(
        pair, builder.CreateCall(function, {call.getArgOperand(1 - i)}), i);
  replace(call, pair);
  return true;
}

void Lowering::linkScalars() {
  if (!needsScalars)
    return;
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  SmallVector<std::string> names;
  for (Function &function : *library)
    if (!function.isDeclaration())
      names.push_back(function.getName().str());
  if (Linker::linkModules(module, std::move(library),
                          Linker::Flags::LinkOnlyNeeded)) {
    problems.push_back("the scalar library cannot be linked");
    return;
  }
  for (const std::string &name : names)
    if (Function *function = module.getFunction(name)) {
      function->setLinkage(GlobalValue::InternalLinkage);
      function->removeFnAttr(Attribute::NoInline);
      function->addFnAttr(Attribute::AlwaysInline);
      for (const char *attribute :
           {"target-cpu", "target-features", "tune-cpu"})
        function->removeFnAttr(attribute);
    }
}

//===----------------------------------------------------------------------===//
// What every target knows
//===----------------------------------------------------------------------===//

/// Intrinsics without a target's name that NVPTX selects, too; what it would
/// refuse must not run here.
static bool isGeneric(Intrinsic::ID id) {
  switch (id) {
  case Intrinsic::abs:
  case Intrinsic::assume:
  case Intrinsic::bitreverse:
  case Intrinsic::bswap:
  case Intrinsic::ceil:
  case Intrinsic::copysign:
  case Intrinsic::ctlz:
  case Intrinsic::ctpop:
  case Intrinsic::cttz:
  case Intrinsic::dbg_assign:
  case Intrinsic::dbg_declare:
  case Intrinsic::dbg_label:
  case Intrinsic::dbg_value:
  case Intrinsic::expect:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::fabs:
  case Intrinsic::floor:
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::fptosi_sat:
  case Intrinsic::fptoui_sat:
  case Intrinsic::fshl:
  case Intrinsic::fshr:
  case Intrinsic::invariant_end:
  case Intrinsic::invariant_start:
  case Intrinsic::is_constant:
  case Intrinsic::is_fpclass:
  case Intrinsic::lifetime_end:
  case Intrinsic::lifetime_start:
  case Intrinsic::maximum:
  case Intrinsic::memcpy:
  case Intrinsic::memmove:
  case Intrinsic::memset:
  case Intrinsic::minimum:
  case Intrinsic::nearbyint:
  case Intrinsic::rint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
  case Intrinsic::sadd_sat:
  case Intrinsic::sadd_with_overflow:
  case Intrinsic::smax:
  case Intrinsic::smin:
  case Intrinsic::smul_with_overflow:
  case Intrinsic::sqrt:
  case Intrinsic::ssub_sat:
  case Intrinsic::ssub_with_overflow:
  case Intrinsic::trunc:
  case Intrinsic::uadd_sat:
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::umax:
  case Intrinsic::umin:
  case Intrinsic::umul_with_overflow:
  case Intrinsic::usub_sat:
  case Intrinsic::usub_with_overflow:
  case Intrinsic::vector_reduce_add:
  case Intrinsic::vector_reduce_and:
  case Intrinsic::vector_reduce_fadd:
  case Intrinsic::vector_reduce_fmax:
  case Intrinsic::vector_reduce_fmin:
  case Intrinsic::vector_reduce_fmul:
  case Intrinsic::vector_reduce_mul:
  case Intrinsic::vector_reduce_or:
  case Intrinsic::vector_reduce_smax:
  case Intrinsic::vector_reduce_smin:
  case Intrinsic::vector_reduce_umax:
  case Intrinsic::vector_reduce_umin:
  case Intrinsic::vector_reduce_xor:
    return true;
  default:
    return false;
  }
}

/// Intrinsics without a target's name for which NVPTX has an instruction of
/// its own, as the scalar library spells them; some only where the code allows
/// an approximation.
static StringRef librarySpelling(const CallInst &call, StringRef name) {
  bool approximate = isa<FPMathOperator>(call) && call.hasApproxFunc();
  return StringSwitch<StringRef>(name)
      .Case("exp2.f32", "ex2.approx.f32")
      .Case("sin.f32", approximate ? "sin.approx.f" : "")
      .Case("cos.f32", approximate ? "cos.approx.f" : "")
      // What LLVM has for tanh.approx.f32, with and without the flag.
      .Case("tanh.f32", "tanh.approx.f32")
      .StartsWith("minnum.", name)
      .StartsWith("maxnum.", name)
      .Default("");
}

void Lowering::lower(CallInst &call) {
  if (isa<InlineAsm>(call.getCalledOperand()))
    return lowerAssembly(call);
  Function *callee = call.getCalledFunction();
  if (!callee) {
    problems.push_back("a call through a pointer in '" +
                       call.getFunction()->getName().str() + "'");
    return;
  }
  StringRef name = callee->getName();
  if (!name.consume_front("llvm."))
    return;
  if (callee->getIntrinsicID() == Intrinsic::trap)
    name = "nvvm.trap"; // the same, for a GPU
  if (name.consume_front("nvvm.")) {
    // ldmatrix is one intrinsic for each address space.
    StringRef plain = name;
    if (!plain.consume_back(".p3"))
      plain.consume_back(".p0");
    if (const NamedOperation *known = findOperation(plain.str())) {
      Site &site = sites.add(call);
      site.operation = known->operation;
      site.immediate = known->immediate;
      return emitOperation(call, site);
    }
    if (lowerRegister(call, name) || lowerScalar(call, name) ||
        lowerPair(call, name))
      return;
  } else if (lowerScalar(call, librarySpelling(call, name))) {
    return;
  } else if (isGeneric(callee->getIntrinsicID())) {
    return;
  }
  if (reported.insert(callee->getName()).second)
    problems.push_back("intrinsic " + callee->getName().str() +
                       " is not known");
}

llvm::Value *createConversion(IRBuilderBase &builder, Value *from, Type *to,
                              bool isSigned) {
  Value *result = builder.CreateIntrinsic(isSigned ? Intrinsic::fptosi_sat
                                                   : Intrinsic::fptoui_sat,
                                          {to, from->getType()}, {from});
  const unsigned bits = to->getScalarSizeInBits();
  if (bits != 64 && from->getType()->getScalarSizeInBits() != 64)
    return result;
  return builder.CreateSelect(builder.CreateFCmpUNO(from, from),
                              ConstantInt::get(to, APInt::getSignMask(bits)),
                              result);
}

/// The GPU's conversions are defined where LLVM's say nothing.
void Lowering::lowerConversion(Instruction &instruction) {
  IRBuilder<> builder(&instruction);
  instruction.replaceAllUsesWith(
      createConversion(builder, instruction.getOperand(0),
                       instruction.getType(), isa<FPToSIInst>(instruction)));
  instruction.eraseFromParent();
}

void Lowering::run(std::vector<KernelCode> &kernels) {
  StringRef bytes(reinterpret_cast<const char *>(scalarLibrary().first),
                  scalarLibrary().second);
  auto parsed = parseBitcodeFile(MemoryBufferRef(bytes, "Scalars.bc"),
                                 module.getContext());
  if (!parsed) {
    problems.push_back(toString(parsed.takeError()));
    return;
  }
  library = std::move(*parsed);
  for (KernelCode &code : kernels) {
    context = code.context;
    SmallVector<CallInst *> calls;
    SmallVector<Instruction *> conversions;
    for (Instruction &instruction : instructions(code.body)) {
      if (auto *call = dyn_cast<CallInst>(&instruction))
        calls.push_back(call);
      else if (isa<FPToSIInst, FPToUIInst>(instruction))
        conversions.push_back(&instruction);
      else if (isa<InvokeInst, IndirectBrInst>(instruction))
        problems.push_back("an instruction that no GPU has in '" +
                           code.kernel.name + "'");
    }
    for (CallInst *call : calls)
      lower(*call);
    for (Instruction *conversion : conversions)
      lowerConversion(*conversion);
  }
  linkScalars();
}

void lowerIntrinsics(Module &module, std::vector<KernelCode> &kernels,
                     SiteList &sites, Problems &problems) {
  Lowering(module, sites, problems).run(kernels);
}

} // namespace steep::simt
