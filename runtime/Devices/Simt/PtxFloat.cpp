//===- PtxFloat.cpp - arithmetic of floating-point numbers -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding to nearest is LLVM's own; other roundings and approximations are
// NVVM's intrinsics, so that both routes into the emulator compute the same.
// Numbers of 16 bits are kept as bits and computed in wider ones.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace steep::simt::ptx;

/// ".ftz.f" of an intrinsic's name.
static std::string suffix(bool ftz, PtxType type) {
  return std::string(ftz ? ".ftz" : "") + (type.name == "f64" ? ".d" : ".f");
}

/// Subnormal numbers become zeros of their sign.
llvm::Value *Emitter::flush(Value *value) {
  if (!value->getType()->isFloatTy())
    return value;
  Value *size = b.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  Value *tiny =
      b.CreateFCmpOLT(size, ConstantFP::get(b.getFloatTy(), 0x1p-126));
  Value *zero = b.CreateBinaryIntrinsic(
      Intrinsic::copysign, ConstantFP::get(b.getFloatTy(), 0.0), value);
  return b.CreateSelect(tiny, zero, value);
}

/// Into [0, 1]; not-a-number becomes zero.
llvm::Value *Emitter::saturate(Value *value) {
  Value *zero = ConstantFP::get(value->getType(), 0.0);
  Value *one = ConstantFP::get(value->getType(), 1.0);
  Value *low = b.CreateSelect(b.CreateFCmpOGT(value, zero), value, zero);
  return b.CreateSelect(b.CreateFCmpOLT(low, one), low, one);
}

//===----------------------------------------------------------------------===//
// Numbers of 16 bits
//===----------------------------------------------------------------------===//

llvm::Value *Emitter::toF32(Value *value, StringRef half) {
  if (half.starts_with("f16"))
    return b.CreateFPExt(b.CreateBitCast(value, b.getHalfTy()), b.getFloatTy());
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(value, b.getInt32Ty()), 16),
                         b.getFloatTy());
}

/// Rounds to nearest, ties to even. BF16 by integers, since what LLVM makes of
/// a truncation to it depends on the machine.
llvm::Value *Emitter::fromF32(Value *value, StringRef half) {
  if (half.starts_with("f16"))
    return b.CreateBitCast(b.CreateFPTrunc(value, b.getHalfTy()),
                           b.getInt16Ty());
  Value *bits = b.CreateBitCast(value, b.getInt32Ty());
  Value *odd = b.CreateAnd(b.CreateLShr(bits, 16), b.getInt32(1));
  Value *rounded = b.CreateAdd(bits, b.CreateAdd(odd, b.getInt32(0x7fff)));
  Value *result = b.CreateTrunc(b.CreateLShr(rounded, 16), b.getInt16Ty());
  return b.CreateSelect(b.CreateFCmpUNO(value, value), b.getInt16(0x7fff),
                        result);
}

/// The neighbour of `value` with an odd last bit, on the side `larger` (in
/// size) says, where `value` is inexact and even. Rounding such a number again
/// to fewer bits gives what one rounding would have given.
static llvm::Value *makeOdd(IRBuilder<> &b, llvm::Value *value,
                            llvm::Value *inexact, llvm::Value *larger) {
  llvm::Type *type = b.getIntNTy(value->getType()->getPrimitiveSizeInBits());
  llvm::Value *bits = b.CreateBitCast(value, type);
  llvm::Value *one = ConstantInt::get(type, 1);
  llvm::Value *even =
      b.CreateICmpEQ(b.CreateAnd(bits, one), ConstantInt::get(type, 0));
  llvm::Value *step =
      b.CreateSelect(larger, b.CreateAdd(bits, one), b.CreateSub(bits, one));
  bits = b.CreateSelect(b.CreateAnd(even, inexact), step, bits);
  return b.CreateBitCast(bits, value->getType());
}

/// Rounds once, through an FP32 number that keeps what was lost in its last
/// bit.
llvm::Value *Emitter::fromF64(Value *value, StringRef half) {
  Value *narrow = b.CreateFPTrunc(value, b.getFloatTy());
  Value *again = b.CreateFPExt(narrow, b.getDoubleTy());
  Value *larger =
      b.CreateFCmpOGT(b.CreateUnaryIntrinsic(Intrinsic::fabs, value),
                      b.CreateUnaryIntrinsic(Intrinsic::fabs, again));
  Value *inexact = b.CreateFCmpONE(again, value);
  return fromF32(makeOdd(b, narrow, inexact, larger), half);
}

/// The product and sum of three numbers of 16 bits, rounded once.
llvm::Value *Emitter::halfFma(ArrayRef<Value *> lanes, StringRef half) {
  Value *wide[3];
  for (unsigned i = 0; i < 3; ++i)
    wide[i] = b.CreateFPExt(toF32(lanes[i], half), b.getDoubleTy());
  // The product is exact in FP64; the error of the sum is exact too (Knuth).
  Value *product = b.CreateFMul(wide[0], wide[1]), *c = wide[2];
  Value *sum = b.CreateFAdd(product, c);
  Value *part = b.CreateFSub(sum, product);
  Value *error = b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, part)),
                              b.CreateFSub(c, part));
  Value *zero = ConstantFP::get(b.getDoubleTy(), 0.0);
  Value *larger =
      b.CreateICmpEQ(b.CreateFCmpOGT(error, zero), b.CreateFCmpOGT(sum, zero));
  sum = makeOdd(b, sum, b.CreateFCmpONE(error, zero), larger);
  return fromF64(sum, half);
}

/// Applies `body` to the one or two numbers in each operand: bits of 16, or
/// FP32 of f32x2.
llvm::Value *Emitter::forSmall(PtxType type, unsigned count,
                               function_ref<Value *(ArrayRef<Value *>)> body) {
  expectOperands(count + 1, count + 1);
  bool pairOfF32 = type.name == "f32x2";
  unsigned lanes = type.isPacked() ? 2 : 1, width = type.bits() / lanes;
  Value *result = ConstantInt::get(intType(type.bits()), 0);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    SmallVector<Value *, 3> values;
    for (unsigned i = 1; i <= count; ++i) {
      Value *both = readInt(operand(i), type.bits());
      Value *one = fit(b.CreateLShr(both, width * lane), width, false);
      values.push_back(pairOfF32 ? b.CreateBitCast(one, b.getFloatTy()) : one);
    }
    Value *bits = fit(asInt(body(values)), type.bits(), false);
    result = b.CreateOr(result, b.CreateShl(bits, width * lane));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sums, products, extrema
//===----------------------------------------------------------------------===//

/// add, sub, mul; min and max, where not-a-number loses against a number, or
/// wins with .NaN, and -0 < +0.
llvm::Value *Emitter::combine(StringRef op, bool nan, Value *x, Value *y) {
  if (op == "add")
    return b.CreateFAdd(x, y);
  if (op == "sub")
    return b.CreateFSub(x, y);
  if (op == "mul")
    return b.CreateFMul(x, y);
  std::string name = ("llvm.nvvm.f" + op + (nan ? ".nan" : "")).str();
  return intrinsic(name + (x->getType()->isFloatTy() ? ".f" : ".d"), {x, y});
}

void Emitter::floatBinary(StringRef op, PtxType type) {
  StringRef rounding = takeOneOf({"rn", "rz", "rm", "rp"}, "rn");
  bool nan = take("NaN");
  if (StringRef("rem").contains(op) || (nan && op != "min" && op != "max"))
    unknown();
  if (!type.isFloat() || type.bits() == 16) {
    if (rounding != "rn")
      unknown();
    auto body = [&](ArrayRef<Value *> v) {
      if (type.name == "f32x2")
        return combine(op, nan, v[0], v[1]);
      Value *x = toF32(v[0], type.name), *y = toF32(v[1], type.name);
      return fromF32(combine(op, nan, x, y), type.name);
    };
    return write(operand(0), forSmall(type, 2, body));
  }
  bool ftz = take("ftz"), sat = take("sat");
  bool extremum = op == "min" || op == "max";
  expectOperands(3, extremum ? 4 : 3);
  Value *x = read(operand(1), type), *y = read(operand(2), type), *result;
  if (rounding == "rn") {
    if (ftz)
      x = flush(x), y = flush(y);
    result = combine(op, nan, x, y);
    if (operands() == 4) {
      Value *z = read(operand(3), type);
      result = combine(op, nan, result, ftz ? flush(z) : z);
    }
    if (ftz)
      result = flush(result);
  } else {
    if (op == "sub")
      y = b.CreateFNeg(y);
    std::string name =
        ("llvm.nvvm." + (op == "sub" ? "add" : op) + "." + rounding).str();
    result = intrinsic(name + suffix(ftz, type), {x, y});
  }
  write(operand(0), sat ? saturate(result) : result);
}

void Emitter::fusedMultiplyAdd(PtxType type) {
  // mad of floating-point numbers is fma.
  StringRef rounding = takeOneOf({"rn", "rz", "rm", "rp"}, "rn");
  if (!type.isFloat() || type.bits() == 16) {
    bool relu = take("relu");
    if (rounding != "rn" || (relu && type.name == "f32x2"))
      unknown();
    auto body = [&](ArrayRef<Value *> v) -> Value * {
      if (type.name == "f32x2")
        return b.CreateIntrinsic(Intrinsic::fma, {v[0]->getType()},
                                 {v[0], v[1], v[2]});
      Value *bits = halfFma(v, type.name);
      Value *zero = ConstantFP::get(b.getFloatTy(), 0.0);
      Value *negative = b.CreateFCmpOLE(toF32(bits, type.name), zero);
      return relu ? b.CreateSelect(negative, b.getInt16(0), bits) : bits;
    };
    return write(operand(0), forSmall(type, 3, body));
  }
  bool ftz = take("ftz"), sat = take("sat");
  expectOperands(4, 4);
  Value *v[3], *result;
  for (unsigned i = 0; i < 3; ++i)
    v[i] = read(operand(i + 1), type);
  if (rounding == "rn") {
    for (Value *&each : v)
      each = ftz ? flush(each) : each;
    result = b.CreateIntrinsic(Intrinsic::fma, {v[0]->getType()},
                               {v[0], v[1], v[2]});
    if (ftz)
      result = flush(result);
  } else {
    result = intrinsic(("llvm.nvvm.fma." + rounding).str() + suffix(ftz, type),
                       {v[0], v[1], v[2]});
  }
  write(operand(0), sat ? saturate(result) : result);
}

void Emitter::divide(PtxType type) {
  StringRef rounding = takeOneOf({"rn", "rz", "rm", "rp", "full", "approx"});
  bool ftz = take("ftz");
  if (!type.isFloat() || type.bits() == 16 || rounding.empty())
    unknown();
  expectOperands(3, 3);
  Value *x = read(operand(1), type), *y = read(operand(2), type), *result;
  if (rounding == "rn") {
    result = b.CreateFDiv(ftz ? flush(x) : x, ftz ? flush(y) : y);
    result = ftz ? flush(result) : result;
  } else if (rounding == "full") {
    result = intrinsic(ftz ? "llvm.nvvm.div.full.ftz" : "llvm.nvvm.div.full",
                       {x, y});
  } else {
    result = intrinsic(("llvm.nvvm.div." + rounding).str() + suffix(ftz, type),
                       {x, y});
  }
  write(operand(0), result);
}

//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

/// neg, abs and copysign only touch bits (and flush, where told to).
void Emitter::floatUnary() {
  StringRef name = inst->words[0];
  bool ftz = take("ftz");
  PtxType type = takeType();
  unsigned bits = type.bits(), lane = type.isPacked() ? bits / 2 : bits;
  APInt signs = APInt::getSplat(bits, APInt::getSignMask(lane));
  Value *mask = b.getInt(signs), *rest = b.getInt(~signs);
  Value *x = read(operand(1), type);
  x = asInt(ftz ? flush(x) : x);
  if (name == "copysign") {
    // The sign of the first, the size of the second.
    expectOperands(3, 3);
    Value *size = readInt(operand(2), bits);
    return write(operand(0),
                 b.CreateOr(b.CreateAnd(x, mask), b.CreateAnd(size, rest)));
  }
  expectOperands(2, 2);
  write(operand(0),
        name == "neg" ? b.CreateXor(x, mask) : b.CreateAnd(x, rest));
}

void Emitter::approximate() {
  StringRef name = inst->words[0];
  StringRef rounding = takeOneOf({"rn", "rz", "rm", "rp", "approx"});
  bool ftz = take("ftz");
  PtxType type = takeType();
  if (!type.isFloat() || type.bits() == 16 || rounding.empty())
    unknown();
  expectOperands(2, 2);
  Value *x = read(operand(1), type), *result;
  Value *one = ConstantFP::get(x->getType(), 1.0);
  std::string full = ("llvm.nvvm." + name + "." + rounding).str();
  if (rounding == "rn" && name == "sqrt")
    result = b.CreateUnaryIntrinsic(Intrinsic::sqrt, ftz ? flush(x) : x);
  else if (rounding == "rn" && name == "rcp")
    result = b.CreateFDiv(one, ftz ? flush(x) : x);
  else if (full == "llvm.nvvm.rcp.approx" && !ftz)
    result = b.CreateFDiv(one, x); // NVVM only names the flushing one
  else if (full == "llvm.nvvm.tanh.approx" && !ftz)
    result = b.CreateUnaryIntrinsic(Intrinsic::tanh, x);
  else if (name == "ex2")
    result = intrinsic(full + (ftz ? ".ftz" : ""), {x}, {x->getType()});
  else
    result = intrinsic(full + suffix(ftz, type), {x});
  write(operand(0), ftz && rounding == "rn" ? flush(result) : result);
}

void Emitter::testProperty() {
  PtxType type = takeType();
  auto test = StringSwitch<unsigned>(mods.empty() ? "" : mods.back())
                  .Case("finite", fcFinite)
                  .Case("infinite", fcInf)
                  .Case("number", fcFinite | fcInf)
                  .Case("notanumber", fcNan)
                  .Case("normal", fcNormal)
                  .Case("subnormal", fcSubnormal)
                  .Default(0);
  if (test == 0 || type.bits() < 32)
    unknown();
  mods.pop_back();
  expectOperands(2, 2);
  Value *x = read(operand(1), type);
  write(operand(0), b.createIsFPClass(x, test));
}
