//===- Instrument.cpp - calls before accesses -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Operations.h"
#include "runtime/Devices/Simt/Retarget.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace steep::simt {

static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3,
                          kConstantSpace = 4;
/// That of the smallest asynchronous copy.
static constexpr std::uint64_t kLargestGranule = 4, kLargestGlobalGranule = 2;

namespace {
/// Where an address comes from: followed through casts, sums, selections and
/// loops, as pointers or as integers, since PTX computes with the latter.
struct Origins {
  SmallPtrSet<Value *, 4> pointers; ///< Arguments of pointer type.
  SmallPtrSet<Value *, 4> values;   ///< Integer arguments and loaded words.
  SmallPtrSet<Value *, 4> variables;
  bool local = false, unknown = false;

  explicit Origins(Value *address) {
    SmallVector<Value *, 8> work = {address};
    SmallPtrSet<Value *, 16> seen;
    while (!work.empty()) {
      Value *value = work.pop_back_val();
      if (seen.insert(value).second)
        visit(value, work);
    }
  }

private:
  void visit(Value *value, SmallVectorImpl<Value *> &work) {
    if (isa<AllocaInst>(value)) {
      local = true;
    } else if (auto *argument = dyn_cast<Argument>(value)) {
      if (argument->getType()->isPointerTy())
        pointers.insert(argument);
      else if (argument->getType()->isIntegerTy(64))
        values.insert(argument);
    } else if (isa<GlobalVariable>(value)) {
      variables.insert(value);
    } else if (auto *step = dyn_cast<GEPOperator>(value)) {
      work.push_back(step->getPointerOperand());
    } else if (isa<PHINode, SelectInst>(value)) {
      auto *user = cast<User>(value);
      for (Use &use : drop_begin(user->operands(), isa<SelectInst>(user)))
        work.push_back(use);
    } else if (isa<LoadInst>(value)) {
      values.insert(value);
    } else if (auto *op = dyn_cast<Operator>(value)) {
      visitOperator(op, work);
    } else if (isa<CallInst>(value)) {
      unknown |= value->getType()->isPointerTy();
    }
  }

  void visitOperator(Operator *op, SmallVectorImpl<Value *> &work) {
    switch (op->getOpcode()) {
    case Instruction::AddrSpaceCast:
    case Instruction::BitCast:
    case Instruction::Freeze:
    case Instruction::IntToPtr:
    case Instruction::PtrToInt:
    case Instruction::Sub:
    case Instruction::And:
      work.push_back(op->getOperand(0));
      break;
    case Instruction::Add:
    case Instruction::Or:
      work.push_back(op->getOperand(0));
      work.push_back(op->getOperand(1));
      break;
    default:
      break; // A product or a shift is an offset, not an address.
    }
  }
};

class Instrumenter {
public:
  Instrumenter(KernelCode &code, SiteList &sites)
      : code(code), sites(sites), module(*code.body->getParent()),
        dominators(*code.body) {}
  void run();

private:
  void check(Instruction &instruction, Value *address, Value *bytes,
             Align alignment, StringRef entry, bool releases = false,
             Value *value = nullptr);
  void visit(Instruction &instruction);
  void visitFence(FenceInst &fence);
  Value *spill(StoreInst &store);
  void noteGranule(const Value &address, const Value &bytes, Align alignment);
  Value *base(const Origins &origins, Instruction &instruction);
  ConstantInt *sizeOf(Type *type) {
    return ConstantInt::get(Type::getInt64Ty(module.getContext()),
                            module.getDataLayout().getTypeStoreSize(type));
  }

  KernelCode &code;
  SiteList &sites;
  Module &module;
  DominatorTree dominators;
  std::uint64_t sharedGranule = kLargestGranule;
  std::uint64_t globalGranule = kLargestGlobalGranule;
};
} // namespace

/// The one pointer that the address was made from; null where there is not
/// one.
Value *Instrumenter::base(const Origins &origins, Instruction &instruction) {
  if (origins.unknown || !origins.variables.empty())
    return nullptr;
  if (origins.pointers.size() == 1)
    return *origins.pointers.begin();
  if (!origins.pointers.empty() || origins.values.size() != 1)
    return nullptr;
  Value *value = *origins.values.begin();
  if (auto *load = dyn_cast<Instruction>(value))
    return dominators.dominates(load, &instruction) &&
                   (load->getType()->isPointerTy() ||
                    load->getType()->isIntegerTy(64))
               ? value
               : nullptr;
  return value;
}

void Instrumenter::check(Instruction &instruction, Value *address, Value *bytes,
                         Align alignment, StringRef entry, bool releases,
                         Value *value) {
  Origins origins(address);
  bool local = origins.local && origins.pointers.empty() &&
               origins.values.empty() && origins.variables.empty();
  if (local || any_of(origins.pointers, [&](Value *pointer) {
        return pointer == code.context ||
               code.byValue.contains(cast<Argument>(pointer)->getArgNo());
      }))
    return;
  Site &site = sites.add(instruction);
  noteGranule(*address, *bytes, alignment);
  site.alignment = alignment.value();
  site.releases = releases;
  if (origins.variables.size() == 1 && origins.pointers.empty()) {
    auto *variable = cast<GlobalVariable>(*origins.variables.begin());
    auto it = code.shared.find(variable);
    if (it != code.shared.end()) {
      site.sharedBegin = it->second.begin;
      site.sharedEnd = it->second.end;
      site.dynamicShared = it->second.dynamic;
    }
  }
  IRBuilder<> builder(&instruction);
  Type *pointer = builder.getPtrTy(), *word = builder.getInt64Ty();
  auto flat = [&](Value *value) -> Value * {
    if (!value)
      return ConstantPointerNull::get(cast<PointerType>(pointer));
    if (value->getType()->isIntegerTy())
      return builder.CreateIntToPtr(value, pointer);
    return builder.CreateAddrSpaceCast(value, pointer);
  };
  builder.CreateCall(
      entryPoint(module, entry,
                 {pointer, pointer, pointer, pointer, word, pointer}),
      {code.context, siteAddress(module.getContext(), site), flat(address),
       flat(base(origins, instruction)), builder.CreateZExtOrTrunc(bytes, word),
       flat(value)});
}

/// Shrinks the granules of the memories that the access may be of to what it
/// allows.
void Instrumenter::noteGranule(const Value &address, const Value &bytes,
                               Align alignment) {
  unsigned space = address.getType()->getPointerAddressSpace();
  std::uint64_t size = 1;
  if (auto *constant = dyn_cast<ConstantInt>(&bytes))
    size = constant->getZExtValue() | kLargestGranule;
  size = std::min(size & -size, alignment.value());
  if (space != kGlobalSpace && space != kConstantSpace)
    sharedGranule = std::min(sharedGranule, size);
  if (space != kSharedSpace && space != kConstantSpace)
    globalGranule = std::min(globalGranule, size);
}

/// A copy of what is stored, on the lane's stack.
Value *Instrumenter::spill(StoreInst &store) {
  IRBuilder<> entry(&*code.body->getEntryBlock().getFirstInsertionPt());
  Value *value = store.getValueOperand();
  Value *slot = entry.CreateAlloca(value->getType());
  IRBuilder<>(&store).CreateStore(value, slot);
  return slot;
}

/// A fence matters to other blocks only; membar does the same.
void Instrumenter::visitFence(FenceInst &fence) {
  const NamedOperation *membar = findOperation("membar.gl");
  Site &site = sites.add(fence);
  site.operation = membar->operation;
  IRBuilder<> builder(&fence);
  Type *pointer = builder.getPtrTy();
  Value *none = ConstantPointerNull::get(cast<PointerType>(pointer));
  builder.CreateCall(
      entryPoint(module, "steepSimtOperation",
                 {pointer, pointer, pointer, pointer}),
      {code.context, siteAddress(module.getContext(), site), none, none});
}

void Instrumenter::visit(Instruction &instruction) {
  static constexpr StringRef read = "steepSimtRead", write = "steepSimtWrite",
                             atomic = "steepSimtAtomic";
  if (auto *load = dyn_cast<LoadInst>(&instruction)) {
    // Volatile accesses are strong ones in PTX: they do not race.
    bool strong = load->isAtomic() || load->isVolatile();
    check(*load, load->getPointerOperand(), sizeOf(load->getType()),
          load->getAlign(), strong ? atomic : read);
  } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    bool strong = store->isAtomic() || store->isVolatile();
    check(*store, store->getPointerOperand(),
          sizeOf(store->getValueOperand()->getType()), store->getAlign(),
          strong ? atomic : write,
          store->isAtomic() && isReleaseOrStronger(store->getOrdering()),
          spill(*store));
  } else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction)) {
    check(*update, update->getPointerOperand(), sizeOf(update->getType()),
          update->getAlign(), atomic,
          isReleaseOrStronger(update->getOrdering()));
  } else if (auto *swap = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    check(*swap, swap->getPointerOperand(),
          sizeOf(swap->getNewValOperand()->getType()), swap->getAlign(), atomic,
          isReleaseOrStronger(swap->getSuccessOrdering()));
  } else if (auto *copy = dyn_cast<MemTransferInst>(&instruction)) {
    check(*copy, copy->getRawSource(), copy->getLength(),
          copy->getSourceAlign().valueOrOne(), read);
    check(*copy, copy->getRawDest(), copy->getLength(),
          copy->getDestAlign().valueOrOne(), write, false,
          copy->getRawSource());
  } else if (auto *fill = dyn_cast<MemSetInst>(&instruction)) {
    check(*fill, fill->getRawDest(), fill->getLength(),
          fill->getDestAlign().valueOrOne(), write);
  } else if (auto *fence = dyn_cast<FenceInst>(&instruction)) {
    visitFence(*fence);
  }
}

void Instrumenter::run() {
  SmallVector<Instruction *> all;
  for (Instruction &instruction : instructions(code.body))
    if (instruction.mayReadOrWriteMemory())
      all.push_back(&instruction);
  for (Instruction *instruction : all)
    visit(*instruction);
  code.kernel.sharedGranule = sharedGranule;
  code.kernel.globalGranule = globalGranule;
}

void instrument(KernelCode &code, SiteList &sites) {
  Instrumenter(code, sites).run();
}

} // namespace steep::simt
