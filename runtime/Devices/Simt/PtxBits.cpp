//===- PtxBits.cpp - shifts, fields and tables of bits ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"

using namespace llvm;
using namespace steep::simt::ptx;

void Emitter::logic() {
  StringRef name = inst->words[0];
  PtxType type = takeType();
  bool unary = name == "not" || name == "cnot";
  expectOperands(unary ? 2 : 3, unary ? 2 : 3);
  Value *x = read(operand(1), type), *result = nullptr;
  if (name == "not")
    result = b.CreateNot(x);
  else if (name == "cnot")
    result = b.CreateZExt(b.CreateICmpEQ(x, ConstantInt::get(x->getType(), 0)),
                          x->getType());
  else if (name == "and")
    result = b.CreateAnd(x, read(operand(2), type));
  else if (name == "or")
    result = b.CreateOr(x, read(operand(2), type));
  else
    result = b.CreateXor(x, read(operand(2), type));
  write(operand(0), result);
}

/// Amounts are clamped to the width: a shift by more gives zero or the sign.
void Emitter::shift() {
  PtxType type = takeType();
  expectOperands(3, 3);
  unsigned bits = type.bits();
  bool left = inst->words[0] == "shl", arithmetic = !left && type.isSigned();
  Value *x = read(operand(1), type);
  Value *amount = readInt(operand(2), 32);
  Value *beyond = b.CreateICmpUGE(amount, b.getInt32(bits));
  Value *within =
      fit(b.CreateSelect(beyond, b.getInt32(arithmetic ? bits - 1 : 0), amount),
          bits, false);
  if (arithmetic)
    return write(operand(0), b.CreateAShr(x, within), true);
  Value *shifted = left ? b.CreateShl(x, within) : b.CreateLShr(x, within);
  write(operand(0),
        b.CreateSelect(beyond, ConstantInt::get(x->getType(), 0), shifted));
}

/// shf: the upper half of [b:a] shifted left, or the lower one shifted right.
void Emitter::funnelShift() {
  bool left = takeOneOf({"l", "r"}) == "l",
       clamp = takeOneOf({"clamp", "wrap"}) == "clamp";
  if (takeType().name != "b32")
    unknown();
  expectOperands(4, 4);
  Value *low = readInt(operand(1), 32), *high = readInt(operand(2), 32);
  Value *both =
      b.CreateOr(b.CreateShl(fit(high, 64, false), 32), fit(low, 64, false));
  Value *amount = readInt(operand(3), 32);
  amount =
      clamp ? b.CreateBinaryIntrinsic(Intrinsic::umin, amount, b.getInt32(32))
            : b.CreateAnd(amount, b.getInt32(31));
  amount = fit(amount, 64, false);
  Value *result = left ? b.CreateLShr(b.CreateShl(both, amount), 32)
                       : b.CreateLShr(both, amount);
  write(operand(0), fit(result, 32, false));
}

/// bfe: `length` bits from `position` on, extended by zero or by the sign (of
/// the number's last bit where the field reaches beyond it).
void Emitter::bitField() {
  PtxType type = takeType();
  expectOperands(4, 4);
  unsigned bits = type.bits(), wide = 4 * bits;
  bool s = type.isSigned();
  // Eight bits of each count; the wide number holds every shift by 255.
  wide = std::max(wide, 512u);
  auto amount = [&](const Operand &operand) {
    return fit(b.CreateAnd(readInt(operand, 32), b.getInt32(255)), wide, false);
  };
  Value *x = fit(read(operand(1), type), wide, s);
  Value *length = amount(operand(3));
  Value *field = s ? b.CreateAShr(x, amount(operand(2)))
                   : b.CreateLShr(x, amount(operand(2)));
  llvm::Type *t = field->getType();
  Value *one = ConstantInt::get(t, 1);
  Value *mask = b.CreateSub(b.CreateShl(one, length), one);
  Value *result = b.CreateAnd(field, mask);
  if (s) {
    // The field's sign, spread over what lies above it.
    Value *none = b.CreateICmpEQ(length, ConstantInt::get(t, 0));
    Value *last = b.CreateSelect(none, length, b.CreateSub(length, one));
    Value *negative = b.CreateTrunc(b.CreateLShr(field, last), b.getInt1Ty());
    negative = b.CreateAnd(negative, b.CreateNot(none));
    result =
        b.CreateSelect(negative, b.CreateOr(field, b.CreateNot(mask)), result);
  }
  write(operand(0), fit(result, bits, s), s);
}

void Emitter::bitFieldInsert() {
  PtxType type = takeType();
  expectOperands(5, 5);
  unsigned bits = type.bits(), wide = 512;
  auto amount = [&](const Operand &operand) {
    return fit(b.CreateAnd(readInt(operand, 32), b.getInt32(255)), wide, false);
  };
  Value *insert = fit(readInt(operand(1), bits), wide, false);
  Value *into = fit(readInt(operand(2), bits), wide, false);
  Value *position = amount(operand(3)), *length = amount(operand(4));
  Value *one = ConstantInt::get(insert->getType(), 1);
  Value *mask =
      b.CreateShl(b.CreateSub(b.CreateShl(one, length), one), position);
  Value *result = b.CreateOr(b.CreateAnd(into, b.CreateNot(mask)),
                             b.CreateAnd(b.CreateShl(insert, position), mask));
  write(operand(0), fit(result, bits, false));
}

/// prmt: four bytes of [b:a], or their signs, chosen by nibbles of c.
void Emitter::permute() {
  StringRef mode = takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  if (takeType().bits() != 32)
    unknown();
  expectOperands(4, 4);
  Value *low = readInt(operand(1), 32), *high = readInt(operand(2), 32);
  Value *selector = readInt(operand(3), 32);
  if (!mode.empty()) {
    std::string name = ("llvm.nvvm.prmt." + mode).str();
    bool two = mode == "f4e" || mode == "b4e";
    return write(operand(0), two ? intrinsic(name, {low, high, selector})
                                 : intrinsic(name, {low, selector}));
  }
  Value *both =
      b.CreateOr(b.CreateShl(fit(high, 64, false), 32), fit(low, 64, false));
  Value *result = b.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value *nibble = b.CreateAnd(b.CreateLShr(selector, 4 * i), b.getInt32(15));
    Value *place = b.CreateShl(b.CreateAnd(nibble, b.getInt32(7)), 3);
    Value *byte = fit(b.CreateLShr(both, fit(place, 64, false)), 8, false);
    Value *sign = b.CreateAShr(byte, 7);
    Value *wantsSign =
        b.CreateICmpNE(b.CreateAnd(nibble, b.getInt32(8)), b.getInt32(0));
    byte = b.CreateSelect(wantsSign, sign, byte);
    result = b.CreateOr(result, b.CreateShl(fit(byte, 32, false), 8 * i));
  }
  write(operand(0), result);
}

/// lop3: any function of three bits, as the table of its eight values.
void Emitter::lookup() {
  if (takeType().name != "b32")
    unknown();
  expectOperands(5, 5);
  uint64_t table = constant(operand(4));
  Value *inputs[3];
  for (unsigned i = 0; i < 3; ++i)
    inputs[i] = readInt(operand(1 + i), 32);
  Value *result = b.getInt32(0);
  for (unsigned row = 0; row < 8; ++row) {
    if (!(table >> row & 1))
      continue;
    // Row abc is where the three bits are a, b and c.
    Value *term = b.getInt32(-1);
    for (unsigned i = 0; i < 3; ++i)
      term = b.CreateAnd(term, row >> (2 - i) & 1 ? inputs[i]
                                                  : b.CreateNot(inputs[i]));
    result = b.CreateOr(result, term);
  }
  write(operand(0), result);
}
