//===- PtxPointers.cpp - what an address derives from ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX computes addresses as integers. The emulator checks bounds against the
// variable or the parameter that a pointer derives from, so an address that
// derives from one object alone is written as an offset from it. The value is
// the same: `R + (address - R)`.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace {

/// What an integer derives from: pointers, and 64-bit parameters of kernels
/// that the text does not call pointers.
struct Roots {
  SetVector<Value *> pointers;
  SetVector<Argument *> parameters;
};

} // namespace

static Roots rootsOf(Value *address) {
  Roots roots;
  SetVector<Value *> open;
  open.insert(address);
  for (size_t i = 0; i < open.size(); ++i) {
    Value *value = open[i];
    if (auto *argument = dyn_cast<Argument>(value)) {
      bool kernel =
          argument->getParent()->getCallingConv() == CallingConv::PTX_Kernel;
      if (kernel && argument->getType()->isIntegerTy(64))
        roots.parameters.insert(argument);
      continue;
    }
    auto *node = dyn_cast<Operator>(value);
    if (!node)
      continue;
    switch (node->getOpcode()) {
    case llvm::Instruction::PtrToInt:
      roots.pointers.insert(getUnderlyingObject(node->getOperand(0), 0));
      break;
    case llvm::Instruction::Sub:
      open.insert(node->getOperand(0));
      break;
    case llvm::Instruction::Select:
      open.insert(node->getOperand(1));
      open.insert(node->getOperand(2));
      break;
    case llvm::Instruction::Add:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
    case llvm::Instruction::And:
    case llvm::Instruction::PHI:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
      open.insert(node->op_begin(), node->op_end());
      break;
    default:
      break;
    }
  }
  return roots;
}

static std::vector<IntToPtrInst *> addressesIn(Function &function) {
  std::vector<IntToPtrInst *> found;
  for (llvm::Instruction &each : instructions(function))
    if (auto *address = dyn_cast<IntToPtrInst>(&each))
      found.push_back(address);
  return found;
}

/// The function with those of its parameters as pointers to global memory.
static Function *withPointers(Function &function,
                              const SetVector<Argument *> &parameters) {
  LLVMContext &context = function.getContext();
  SmallVector<Type *> types;
  for (Argument &argument : function.args())
    types.push_back(parameters.contains(&argument)
                        ? PointerType::get(context, 1)
                        : argument.getType());
  auto *type = FunctionType::get(function.getReturnType(), types, false);
  Function *result =
      Function::Create(type, function.getLinkage(), "", function.getParent());
  result->takeName(&function);
  result->setCallingConv(function.getCallingConv());
  result->setAttributes(function.getAttributes());
  result->setSubprogram(function.getSubprogram());
  function.setSubprogram(nullptr);
  result->splice(result->begin(), &function);
  IRBuilder<> entry(&*result->getEntryBlock().getFirstInsertionPt());
  for (auto [before, after] : zip(function.args(), result->args())) {
    after.takeName(&before);
    bool changed = before.getType() != after.getType();
    Value *same =
        changed ? entry.CreatePtrToInt(&after, before.getType()) : &after;
    before.replaceAllUsesWith(same);
  }
  function.eraseFromParent();
  return result;
}

Function *steep::simt::ptx::recoverPointers(Function &original) {
  SetVector<Argument *> parameters;
  for (IntToPtrInst *address : addressesIn(original)) {
    Roots roots = rootsOf(address->getOperand(0));
    if (roots.pointers.empty())
      parameters.insert(roots.parameters.begin(), roots.parameters.end());
  }
  Function *function = &original;
  if (!parameters.empty())
    function = withPointers(original, parameters);
  for (IntToPtrInst *address : addressesIn(*function)) {
    Roots roots = rootsOf(address->getOperand(0));
    if (roots.pointers.size() != 1)
      continue;
    Value *root = roots.pointers.front(), *number = address->getOperand(0);
    // The object must be there before the address; an argument, a variable or
    // a stack slot of the entry block is.
    if (!isa<Argument, GlobalVariable, AllocaInst>(root))
      continue;
    IRBuilder<> b(address);
    Value *offset =
        b.CreateSub(number, b.CreatePtrToInt(root, number->getType()));
    Value *pointer = b.CreateGEP(b.getInt8Ty(), root, offset);
    if (pointer->getType() != address->getType())
      pointer = b.CreateAddrSpaceCast(pointer, address->getType());
    address->replaceAllUsesWith(pointer);
    address->eraseFromParent();
  }
  return function;
}
