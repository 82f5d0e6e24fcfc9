//===- PtxOperands.cpp - reading and writing registers ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Error.h"
#include "runtime/Devices/Simt/PtxEmitter.h"

#include "llvm/IR/Intrinsics.h"

#include <cstring>

using namespace llvm;
using namespace steep::simt::ptx;

//===----------------------------------------------------------------------===//
// Messages and modifiers
//===----------------------------------------------------------------------===//

/// The statement on one line, without the blanks between its words.
static std::string oneLine(StringRef text) {
  std::string line;
  for (char c : text) {
    bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line;
}

void Emitter::unknown() const {
  fail("{}:{}: unknown instruction {}", state.fileName.str(), inst->line,
       quote(oneLine(inst->text)));
}

void Emitter::malformed(const std::string &expected) const {
  fail("{}:{}: expected {} in {}", state.fileName.str(), inst->line, expected,
       quote(oneLine(inst->text)));
}

bool Emitter::take(StringRef modifier) {
  auto *found = llvm::find(mods, modifier);
  if (found == mods.end())
    return false;
  mods.erase(found);
  return true;
}

bool Emitter::takePrefix(StringRef prefix) {
  auto *found =
      find_if(mods, [&](StringRef m) { return m.starts_with(prefix); });
  if (found == mods.end())
    return false;
  mods.erase(found);
  return true;
}

StringRef Emitter::takeOneOf(std::initializer_list<const char *> names,
                             StringRef otherwise) {
  for (const char *name : names)
    if (take(name))
      return name;
  return otherwise;
}

PtxType Emitter::takeType() {
  if (mods.empty() || typeBits(mods.back()) == 0)
    unknown();
  return {mods.pop_back_val()};
}

unsigned Emitter::takeVector() {
  return take("v2") ? 2 : take("v4") ? 4 : take("v8") ? 8 : 1;
}

const Operand &Emitter::operand(unsigned index) const {
  if (index >= inst->operands.size())
    malformed("more operands");
  return inst->operands[index];
}

void Emitter::expectOperands(unsigned least, unsigned most) const {
  if (operands() < least || operands() > most)
    malformed(least == most ? fmt::format("{} operands", least)
                            : fmt::format("{} to {} operands", least, most));
}

uint64_t Emitter::constant(const Operand &operand) const {
  if (operand.kind != Operand::Integer)
    malformed("a number as operand");
  return operand.bits;
}

ArrayRef<Operand> Emitter::elements(const Operand &operand) const {
  return operand.kind == Operand::Vector ? ArrayRef<Operand>(operand.parts)
                                         : ArrayRef<Operand>(operand);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

const Emitter::Symbol *Emitter::find(StringRef name) const {
  for (const Scope &scope : reverse(scopes)) {
    auto found = scope.names.find(name);
    if (found != scope.names.end())
      return &found->second;
  }
  return nullptr;
}

/// f32 and f64 are floats; everything else is handled as bits.
llvm::Type *Emitter::llvmType(PtxType type) {
  return type.name == "f32"   ? b.getFloatTy()
         : type.name == "f64" ? b.getDoubleTy()
                              : static_cast<llvm::Type *>(intType(type.bits()));
}

Value *Emitter::asInt(Value *value) {
  llvm::Type *type = value->getType();
  if (type->isIntegerTy())
    return value;
  return b.CreateBitCast(value, intType(type->getPrimitiveSizeInBits()));
}

Value *Emitter::fit(Value *value, unsigned bits, bool isSigned) {
  return isSigned ? b.CreateSExtOrTrunc(value, intType(bits))
                  : b.CreateZExtOrTrunc(value, intType(bits));
}

/// A special register such as %tid.x, or null.
Value *Emitter::special(StringRef name) {
  if (name == "WARP_SZ")
    return b.getInt32(32);
  if (!name.consume_front("%"))
    return nullptr;
  std::string dotted = name.str();
  std::replace(dotted.begin(), dotted.end(), '_', '.');
  for (const std::string &spelling : {name.str(), dotted}) {
    std::string full = "llvm.nvvm.read.ptx.sreg." + spelling;
    Intrinsic::ID id = Intrinsic::lookupIntrinsicID(full);
    if (id != Intrinsic::not_intrinsic && Intrinsic::getBaseName(id) == full)
      return intrinsic(full);
  }
  return nullptr;
}

Value *Emitter::readName(const Operand &operand) {
  Value *memory = nullptr;
  if (const Symbol *symbol = find(operand.name)) {
    if (symbol->slot)
      return asInt(
          b.CreateLoad(symbol->slot->getAllocatedType(), symbol->slot));
    memory = symbol->memory;
  } else if (auto found = state.variables.find(operand.name);
             found != state.variables.end()) {
    memory = found->second;
  } else if (Value *value = special(operand.name)) {
    return value;
  }
  if (!memory)
    malformed("a register or a variable instead of " +
              quote(operand.name.str()));
  Value *number = b.CreatePtrToInt(memory, b.getInt64Ty());
  return b.CreateAdd(number, b.getInt64(operand.bits));
}

Value *Emitter::readInt(const Operand &operand, unsigned bits, bool isSigned) {
  switch (operand.kind) {
  case Operand::Name:
    return fit(readName(operand), bits, isSigned);
  case Operand::Integer:
  case Operand::Float: {
    APInt value(64, operand.bits);
    bool negative = operand.kind == Operand::Integer;
    return b.getInt(negative ? value.sextOrTrunc(bits)
                             : value.zextOrTrunc(bits));
  }
  case Operand::Not:
    return b.CreateNot(readInt(operand.parts[0], bits, isSigned));
  default:
    malformed("a register or a number as operand");
  }
}

Value *Emitter::readPredicate(const Operand &operand) {
  const Operand &inner =
      operand.kind == Operand::Not ? operand.parts[0] : operand;
  Value *value = nullptr;
  if (inner.kind == Operand::Integer)
    value = b.getInt1(inner.bits != 0);
  else
    value = readInt(inner, 1);
  return operand.kind == Operand::Not ? b.CreateNot(value) : value;
}

Value *Emitter::read(const Operand &operand, PtxType type) {
  if (type.name == "pred")
    return readPredicate(operand);
  if (operand.kind == Operand::Float && type.isFloat()) {
    // A literal of the other width means its value.
    float narrow;
    double wide;
    std::memcpy(&narrow, &operand.bits, sizeof narrow);
    std::memcpy(&wide, &operand.bits, sizeof wide);
    double value = operand.size == 32 ? narrow : wide;
    if (type.bits() == operand.size)
      return b.CreateBitCast(readInt(operand, type.bits()), llvmType(type));
    if (type.bits() >= 32)
      return ConstantFP::get(llvmType(type), value);
    malformed("the bits of a 16-bit number");
  }
  Value *bits = readInt(operand, type.bits(), type.isSigned());
  return b.CreateBitCast(bits, llvmType(type));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void Emitter::write(const Operand &operand, Value *value, bool isSigned) {
  if (operand.kind == Operand::Name && operand.name == "_")
    return;
  const Symbol *symbol =
      operand.kind == Operand::Name ? find(operand.name) : nullptr;
  if (!symbol || !symbol->slot)
    malformed("a register to write");
  llvm::Type *type = symbol->slot->getAllocatedType();
  Value *bits = fit(asInt(value), type->getPrimitiveSizeInBits(), isSigned);
  b.CreateStore(b.CreateBitCast(bits, type), symbol->slot);
}

void Emitter::writeResults(ArrayRef<Operand> to, Value *results) {
  auto *type = dyn_cast<StructType>(results->getType());
  if (to.size() != (type ? type->getNumElements() : 1))
    malformed(fmt::format("{} results", type ? type->getNumElements() : 1));
  for (unsigned i = 0; i < to.size(); ++i)
    write(to[i], type ? b.CreateExtractValue(results, i) : results);
}

//===----------------------------------------------------------------------===//
// Addresses and intrinsics
//===----------------------------------------------------------------------===//

Value *Emitter::address(const Operand &operand, unsigned space) {
  if (operand.kind != Operand::Address || !operand.parts.empty())
    malformed("an address in brackets");
  PointerType *type = PointerType::get(context, space);
  if (operand.name.empty())
    return b.CreateIntToPtr(b.getInt64(operand.bits), type);
  const Symbol *symbol = find(operand.name);
  Value *memory = symbol ? symbol->memory : nullptr;
  if (!symbol)
    if (auto found = state.variables.find(operand.name);
        found != state.variables.end())
      memory = found->second;
  if (memory && memory->getType() == type)
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), memory, operand.bits);
  // Pointers have 64 bits in every space; the text may use 32 for shared
  // memory, which the emulator keeps below 4 GiB.
  Operand base = operand;
  base.kind = Operand::Name;
  base.bits = 0;
  Value *number = fit(readName(base), 64, false);
  return b.CreateIntToPtr(b.CreateAdd(number, b.getInt64(operand.bits)), type);
}

Value *Emitter::intrinsic(StringRef name, ArrayRef<Value *> arguments,
                          ArrayRef<llvm::Type *> overloads) {
  Intrinsic::ID id = Intrinsic::lookupIntrinsicID(name);
  if (id == Intrinsic::not_intrinsic || Intrinsic::getBaseName(id) != name ||
      Intrinsic::isOverloaded(id) != !overloads.empty())
    unknown();
  Function *callee =
      Intrinsic::getOrInsertDeclaration(&state.module, id, overloads);
  FunctionType *type = callee->getFunctionType();
  if (type->getNumParams() != arguments.size())
    malformed(fmt::format("{} values", type->getNumParams()));
  SmallVector<Value *> fitting;
  for (auto [argument, wanted] : zip(arguments, type->params())) {
    bool fits = argument->getType() == wanted ||
                (wanted->getPrimitiveSizeInBits() &&
                 argument->getType()->getPrimitiveSizeInBits() ==
                     wanted->getPrimitiveSizeInBits());
    if (!fits)
      malformed("operands of the right size");
    fitting.push_back(argument->getType() == wanted
                          ? argument
                          : b.CreateBitCast(argument, wanted));
  }
  return b.CreateCall(callee, fitting);
}
