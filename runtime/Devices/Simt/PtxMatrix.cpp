//===- PtxMatrix.cpp - tensor cores ----------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
using namespace steep::simt::ptx;

/// ldmatrix and stmatrix of 8x8 tiles of 16 bits.
void Emitter::matrixMove() {
  bool isStore = inst->words[0] == "stmatrix";
  StringRef count = takeOneOf({"x1", "x2", "x4"});
  if (!take("sync") || !take("aligned") || !take("m8n8") || count.empty())
    unknown();
  bool transposed = take("trans");
  takeOneOf({"shared", "shared::cta"});
  if (takeType().name != "b16")
    unknown();
  expectOperands(2, 2);
  std::string name = fmt::format("llvm.nvvm.{}.sync.aligned.m8n8.{}{}.b16",
                                 inst->words[0].str(), count.str(),
                                 transposed ? ".trans" : "");
  SmallVector<Value *, 5> arguments = {address(operand(isStore ? 0 : 1), 3)};
  llvm::Type *pointer = arguments[0]->getType();
  if (!isStore)
    return writeResults(elements(operand(0)),
                        intrinsic(name, arguments, {pointer}));
  for (const Operand &each : elements(operand(1)))
    arguments.push_back(readInt(each, 32));
  intrinsic(name, arguments, {pointer});
}

/// mma.sync: the intrinsic's name repeats what is not implied by the type of A.
void Emitter::matrixMultiply() {
  if (!take("sync") || !take("aligned"))
    unknown();
  PtxType c = takeType(), second = takeType(), first = takeType(),
          d = takeType();
  bool saturating = take("satfinite"), rowCol = take("row") && take("col");
  if (mods.size() != 1 || !rowCol)
    unknown();
  StringRef shape = mods.pop_back_val();
  std::string types = first.name == "f16" ? d.name.str() + "." + c.name.str()
                                          : first.name.str();
  if (first.name != second.name)
    types += "." + second.name.str();
  std::string name = "llvm.nvvm.mma." + shape.str() + ".row.col." +
                     (saturating ? "satfinite." : "") + types;
  Intrinsic::ID id = Intrinsic::lookupIntrinsicID(name);
  if (id == Intrinsic::not_intrinsic || Intrinsic::getBaseName(id) != name)
    unknown();
  expectOperands(4, 4);
  FunctionType *type = Intrinsic::getType(context, id);
  SmallVector<Value *, 16> arguments;
  for (unsigned i = 1; i < 4; ++i)
    for (const Operand &each : elements(operand(i))) {
      if (arguments.size() == type->getNumParams())
        malformed(fmt::format("{} registers", arguments.size()));
      llvm::Type *wanted = type->getParamType(arguments.size());
      arguments.push_back(readInt(each, wanted->getPrimitiveSizeInBits()));
    }
  writeResults(elements(operand(0)), intrinsic(name, arguments));
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

void Emitter::warpgroup() {
  if (take("mma_async"))
    return warpgroupMultiply();
  StringRef part = takeOneOf({"fence", "commit_group", "wait_group"});
  if (!take("sync") || !take("aligned") || part.empty())
    unknown();
  std::string name = ("llvm.nvvm.wgmma." + part + ".sync.aligned").str();
  if (part == "wait_group")
    intrinsic(name, {b.getInt64(constant(operand(0)))});
  else
    intrinsic(name);
}

/// NVVM has no intrinsic for it; MLIR writes the instruction itself into
/// inline assembly, and so does this, with the operands in the same order:
/// results, A, B, scale of D, scales of A and B, transpositions. A in
/// registers is not emulated.
void Emitter::warpgroupMultiply() {
  if (!take("sync") || !take("aligned"))
    unknown();
  takeType();
  takeType();
  if (takeType().name != "f32" || mods.size() != 1 || operands() < 4 ||
      elements(operand(0)).empty() || operand(1).kind == Operand::Vector)
    unknown();
  mods.clear();
  ArrayRef<Operand> results = elements(operand(0));
  SmallVector<llvm::Type *> resultTypes(results.size(), b.getFloatTy());
  SmallVector<llvm::Type *> argumentTypes;
  SmallVector<Value *> arguments;
  std::string constraints, registers, rest;
  for (unsigned i = 0; i < results.size(); ++i) {
    constraints += "=f,";
    registers += (i ? ", $" : "$") + std::to_string(i);
    arguments.push_back(read(results[i], "f32"));
  }
  for (unsigned i = 0; i < results.size(); ++i)
    constraints += std::to_string(i) + ",";
  unsigned next = 2 * results.size();
  auto add = [&](Value *value, const char *constraint) {
    arguments.push_back(value);
    constraints += constraint;
    return "$" + std::to_string(next++);
  };
  std::string left = add(readInt(operand(1), 64), "l,");
  std::string right = add(readInt(operand(2), 64), "l,");
  std::string scale = add(fit(readPredicate(operand(3)), 32, false), "r,");
  for (unsigned i = 4; i < operands(); ++i)
    rest += ", " + add(b.getInt32(constant(operand(i))), "n,");
  constraints.pop_back();
  std::string text = "{\n.reg .pred p;\nsetp.ne.b32 p, " + scale + ", 0;\n";
  text += join(inst->words, ".") + " {" + registers + "}, ";
  text += left + ", " + right + ", p" + rest + ";\n}\n";
  for (Value *each : arguments)
    argumentTypes.push_back(each->getType());
  auto *type = FunctionType::get(StructType::get(context, resultTypes),
                                 argumentTypes, false);
  InlineAsm *assembly = InlineAsm::get(type, text, constraints, true);
  CallInst *result = b.CreateCall(type, assembly, arguments);
  result->setConvergent();
  writeResults(results, result);
}
