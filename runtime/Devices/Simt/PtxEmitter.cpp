//===- PtxEmitter.cpp - the control of a routine ---------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"
#include "runtime/Core/Error.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;
using namespace steep::simt::ptx;

Emitter::Emitter(ModuleState &state, const Routine &routine, Function *function)
    : state(state), routine(routine), function(function),
      context(state.module.getContext()), b(context) {}

BasicBlock *Emitter::newBlock() {
  return BasicBlock::Create(context, "", function);
}

//===----------------------------------------------------------------------===//
// Labels and declarations
//===----------------------------------------------------------------------===//

/// Numbers the blocks in braces in the order of the text, as run() does again,
/// and gives each label of each its place.
void Emitter::collectLabels() {
  std::vector<unsigned> open = {0};
  unsigned count = 0;
  for (const Statement &statement : routine.body) {
    if (statement.kind == Statement::Open) {
      parentScope[++count] = open.back();
      open.push_back(count);
    } else if (statement.kind == Statement::Close) {
      open.pop_back();
    } else if (statement.kind == Statement::Targets) {
      targets[statement.label] = &statement;
    } else if (statement.kind == Statement::Label) {
      BasicBlock *&block = labels[{open.back(), statement.label.str()}];
      if (block)
        fail("{}:{}: label {} is there twice", state.fileName.str(),
             statement.line, quote(statement.label.str()));
      block = BasicBlock::Create(context, statement.label, function);
    }
  }
}

BasicBlock *Emitter::label(StringRef name) {
  for (unsigned scope = scopes.back().number;; scope = parentScope[scope]) {
    auto found = labels.find({scope, name.str()});
    if (found != labels.end())
      return found->second;
    if (scope == 0)
      malformed("a label of this routine instead of " + quote(name.str()));
  }
}

void Emitter::declare(const Variable &variable) {
  IRBuilder<> entry(function->getEntryBlock().getTerminator());
  auto &names = scopes.back().names;
  if (variable.space == "reg") {
    llvm::Type *type = llvmType({variable.type});
    for (unsigned i = 0; i < std::max(1u, variable.registers); ++i) {
      std::string name = variable.name.str();
      if (variable.registers)
        name += std::to_string(i);
      AllocaInst *slot = entry.CreateAlloca(type, nullptr, name);
      // What an unset register holds is unknown; zero makes it the same from
      // run to run, and keeps LLVM from treating a branch on it as undefined.
      entry.CreateStore(Constant::getNullValue(type), slot);
      names[name].slot = slot;
    }
    return;
  }
  if (variable.space == "local" || variable.space == "param") {
    uint64_t bytes = variable.elements * variable.vector *
                     divideCeil(typeBits(variable.type), 8);
    AllocaInst *slot = entry.CreateAlloca(ArrayType::get(b.getInt8Ty(), bytes),
                                          nullptr, variable.name);
    slot->setAlignment(Align(std::max<uint64_t>(variable.align, 16)));
    names[variable.name].memory = slot;
    return;
  }
  std::string name = (routine.name + "." + variable.name).str();
  names[variable.name].memory = declareVariable(state, variable, name);
}

void Emitter::bindParameters() {
  unsigned index = 0;
  auto &names = scopes.back().names;
  // A function has pointers to its parameters and results; a kernel values,
  // or a pointer to the copy of a structure.
  if (!routine.entry)
    for (const Variable &result : routine.results)
      names[result.name].memory = function->getArg(index++);
  for (const Variable &parameter : routine.parameters) {
    Argument *argument = function->getArg(index++);
    if (routine.entry && !argument->hasByValAttr())
      names[parameter.name].value = argument;
    else
      names[parameter.name].memory = argument;
  }
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void Emitter::branch() {
  take("uni");
  expectOperands(1, 1);
  b.CreateBr(label(operand(0).name));
}

void Emitter::branchIndexed() {
  take("idx");
  take("uni");
  expectOperands(2, 2);
  auto found = targets.find(operand(1).name);
  if (found == targets.end())
    malformed("the name of a list of targets");
  BasicBlock *beyond = newBlock();
  auto *jump = b.CreateSwitch(readInt(operand(0), 32), beyond);
  for (auto [i, target] : enumerate(found->second->targets))
    jump->addCase(b.getInt32(i), label(target));
  b.SetInsertPoint(beyond);
  b.CreateUnreachable();
}

/// call (results), name, (parameters): all of them are .param variables of
/// the caller, which the callee reads and writes where they are.
void Emitter::call() {
  take("uni");
  SmallVector<Value *> arguments;
  Function *callee = nullptr;
  for (const Operand &part : inst->operands) {
    if (part.kind == Operand::Name && !callee) {
      callee = state.functions.lookup(part.name);
      const Routine *called = state.routines.lookup(part.name);
      if (!callee || !called || !called->hasBody || called->entry)
        malformed("a function with a body in this text instead of " +
                  quote(part.name.str()));
    } else if (part.kind == Operand::List) {
      for (const Operand &each : part.parts) {
        const Symbol *symbol = find(each.name);
        if (!symbol || !symbol->memory)
          malformed("a .param variable instead of " + quote(each.name.str()));
        arguments.push_back(symbol->memory);
      }
    } else {
      unknown();
    }
  }
  if (!callee || callee->arg_size() != arguments.size())
    malformed("the called function's parameters");
  b.CreateCall(callee, arguments);
}

void Emitter::leave() {
  take("uni");
  expectOperands(0, 0);
  StringRef name = inst->words[0];
  if (name == "ret" || (name == "exit" && routine.entry)) {
    b.CreateRetVoid();
    return;
  }
  intrinsic(name == "trap" ? "llvm.trap" : "llvm.nvvm.exit");
  b.CreateUnreachable();
}

/// Instructions that only advise the hardware.
bool Emitter::ignored() const {
  static const StringRef names[] = {"applypriority", "prefetch", "prefetchu",
                                    "nanosleep",     "pmevent",  "setmaxnreg",
                                    "griddepcontrol"};
  return llvm::is_contained(names, inst->words[0]);
}

void Emitter::instruction(const Instruction &instruction) {
  inst = &instruction;
  mods.assign(instruction.words.begin() + 1, instruction.words.end());
  b.SetCurrentDebugLocation(
      DILocation::get(context, instruction.line, 0, subprogram));
  if (b.GetInsertBlock()->getTerminator())
    b.SetInsertPoint(newBlock());
  BasicBlock *after = nullptr;
  if (!instruction.guard.empty()) {
    Operand guard;
    guard.name = instruction.guard;
    Value *holds = readInt(guard, 1);
    BasicBlock *body = newBlock();
    after = newBlock();
    b.CreateCondBr(holds, instruction.guardNegated ? after : body,
                   instruction.guardNegated ? body : after);
    b.SetInsertPoint(body);
  }
  if (!ignored()) {
    auto found = handlers().find(instruction.words[0]);
    if (found == handlers().end())
      unknown();
    (this->*found->second)();
    if (!mods.empty())
      unknown();
  }
  if (after) {
    if (!b.GetInsertBlock()->getTerminator())
      b.CreateBr(after);
    b.SetInsertPoint(after);
  }
}

//===----------------------------------------------------------------------===//
// The routine
//===----------------------------------------------------------------------===//

void Emitter::statement(const Statement &statement) {
  switch (statement.kind) {
  case Statement::Instr:
    return instruction(statement.instruction);
  case Statement::Declare:
    return declare(statement.variable);
  case Statement::Open:
    return scopes.push_back({++scopeCount, {}});
  case Statement::Close:
    return scopes.pop_back();
  case Statement::Targets:
    return;
  case Statement::Label: {
    BasicBlock *block =
        labels.at({scopes.back().number, statement.label.str()});
    if (!b.GetInsertBlock()->getTerminator())
      b.CreateBr(block);
    block->moveAfter(b.GetInsertBlock());
    b.SetInsertPoint(block);
    return;
  }
  }
}

/// Loads after a store of the same block become its value, those before any
/// are one load at the block's beginning, and a store that another follows
/// goes. PromoteMemToReg looks for the first access of a slot from a block's
/// beginning: without this that is quadratic in the long blocks of products.
static void forwardSlots(BasicBlock &block,
                         const SmallPtrSetImpl<AllocaInst *> &slots) {
  DenseMap<AllocaInst *, Value *> current;
  DenseMap<AllocaInst *, StoreInst *> last;
  for (llvm::Instruction &each : llvm::make_early_inc_range(block)) {
    if (auto *store = dyn_cast<StoreInst>(&each)) {
      auto *slot = dyn_cast<AllocaInst>(store->getPointerOperand());
      if (!slots.contains(slot))
        continue;
      if (StoreInst *before = std::exchange(last[slot], store))
        before->eraseFromParent();
      current[slot] = store->getValueOperand();
    } else if (auto *load = dyn_cast<LoadInst>(&each)) {
      auto *slot = dyn_cast<AllocaInst>(load->getPointerOperand());
      if (!slots.contains(slot))
        continue;
      if (Value *value = current.lookup(slot)) {
        load->replaceAllUsesWith(value);
        load->eraseFromParent();
        continue;
      }
      load->moveBefore(block, block.getFirstNonPHIOrDbgOrAlloca());
      current[slot] = load;
    }
  }
}

void Emitter::finishRoutine() {
  b.SetCurrentDebugLocation(
      DILocation::get(context, routine.line, 0, subprogram));
  for (BasicBlock &block : *function)
    if (!block.getTerminator()) {
      b.SetInsertPoint(&block);
      b.CreateRetVoid();
    }
  removeUnreachableBlocks(*function);
  std::vector<AllocaInst *> slots;
  for (llvm::Instruction &each : instructions(*function))
    if (auto *slot = dyn_cast<AllocaInst>(&each))
      if (isAllocaPromotable(slot))
        slots.push_back(slot);
  SmallPtrSet<AllocaInst *, 32> known(slots.begin(), slots.end());
  for (BasicBlock &block : *function)
    forwardSlots(block, known);
  DominatorTree tree(*function);
  PromoteMemToReg(slots, tree);
  function = recoverPointers(*function);
}

void Emitter::run() {
  subprogram = state.debug.createFunction(
      state.debugFile, routine.name, routine.name, state.debugFile,
      routine.line, state.debugType, routine.line, DINode::FlagZero,
      DISubprogram::SPFlagDefinition);
  function->setSubprogram(subprogram);
  // Slots live in the first block, which no label can be.
  BasicBlock *entry = newBlock();
  BasicBlock *first = newBlock();
  BranchInst::Create(first, entry);
  b.SetInsertPoint(first);
  scopes.push_back({0, {}});
  collectLabels();
  bindParameters();
  Variable condition;
  condition.space = "reg";
  condition.type = "pred";
  condition.name = "CC.CF";
  declare(condition);
  carry = find("CC.CF")->slot;
  for (const Statement &each : routine.body)
    statement(each);
  finishRoutine();
}

const StringMap<Emitter::Handler> &Emitter::handlers() {
  static const StringMap<Handler> table = [] {
    StringMap<Handler> result;
    result["bra"] = &Emitter::branch;
    result["brx"] = &Emitter::branchIndexed;
    result["call"] = &Emitter::call;
    result["ret"] = &Emitter::leave;
    result["exit"] = &Emitter::leave;
    result["trap"] = &Emitter::leave;
    addArithmetic(result);
    addMemory(result);
    addWarp(result);
    return result;
  }();
  return table;
}
