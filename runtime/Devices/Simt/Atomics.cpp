//===- Atomics.cpp - atomic intrinsics become instructions ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Retarget.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace steep::simt {

/// atomic.OP.gen.TYPE.SCOPE, which says nothing about order; null if it is
/// something else.
static Value *makeAtomic(CallInst &call, StringRef name) {
  SmallVector<StringRef, 5> parts;
  name.split(parts, '.');
  if (parts.size() < 5 || parts[0] != "atomic" || parts[2] != "gen")
    return nullptr;
  IRBuilder<> builder(&call);
  Value *address = call.getArgOperand(0), *operand = call.getArgOperand(1);
  MaybeAlign alignment;
  if (parts[1] == "cas")
    return builder.CreateExtractValue(
        builder.CreateAtomicCmpXchg(address, operand, call.getArgOperand(2),
                                    alignment, AtomicOrdering::Monotonic,
                                    AtomicOrdering::Monotonic),
        0);
  bool isFloat = operand->getType()->isFloatingPointTy();
  auto operation =
      StringSwitch<AtomicRMWInst::BinOp>(parts[1])
          .Case("add", isFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add)
          .Case("and", AtomicRMWInst::And)
          .Case("or", AtomicRMWInst::Or)
          .Case("xor", AtomicRMWInst::Xor)
          .Case("exch", AtomicRMWInst::Xchg)
          .Case("min", AtomicRMWInst::Min)
          .Case("max", AtomicRMWInst::Max)
          .Case("inc", AtomicRMWInst::UIncWrap)
          .Case("dec", AtomicRMWInst::UDecWrap)
          .Default(AtomicRMWInst::BAD_BINOP);
  if (operation == AtomicRMWInst::BAD_BINOP)
    return nullptr;
  return builder.CreateAtomicRMW(operation, address, operand, alignment,
                                 AtomicOrdering::Monotonic);
}

void lowerAtomics(Module &module) {
  for (Function &function : module) {
    StringRef name = function.getName();
    if (!name.consume_front("llvm.nvvm.") || !name.starts_with("atomic."))
      continue;
    for (User *user : make_early_inc_range(function.users())) {
      auto *call = dyn_cast<CallInst>(user);
      if (!call)
        continue;
      if (Value *value = makeAtomic(*call, name)) {
        call->replaceAllUsesWith(value);
        call->eraseFromParent();
      }
    }
  }
}

} // namespace steep::simt
