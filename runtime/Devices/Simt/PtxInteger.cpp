//===- PtxInteger.cpp - integers, logic and comparisons --------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace steep::simt::ptx;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// add.cc, addc, sub.cc, subc: the carry goes through a hidden register.
void Emitter::carryChain(bool subtract) {
  StringRef name = inst->words[0];
  bool carryIn = name == "addc" || name == "subc", carryOut = take("cc");
  PtxType type = takeType();
  expectOperands(3, 3);
  unsigned bits = type.bits();
  // Wide enough that the carry is a bit of the sum; a borrow is the carry's
  // inverse, since x - y = x + ~y + 1.
  auto wide = [&](Value *value) { return fit(value, bits * 2, false); };
  Value *x = wide(readInt(operand(1), bits));
  Value *second = readInt(operand(2), bits, type.isSigned());
  Value *y = wide(subtract ? b.CreateNot(second) : second);
  Value *in = b.getInt1(subtract);
  if (carryIn) {
    in = b.CreateLoad(b.getInt1Ty(), carry);
    in = subtract ? b.CreateNot(in) : in;
  }
  Value *sum = b.CreateAdd(b.CreateAdd(x, y), wide(in));
  if (carryOut) {
    Value *out = fit(b.CreateLShr(sum, bits), 1, false);
    b.CreateStore(subtract ? b.CreateNot(out) : out, carry);
  }
  write(operand(0), fit(sum, bits, false));
}

void Emitter::integerBinary() {
  StringRef name = inst->words[0];
  if (name == "addc" || name == "subc" || is_contained(mods, "cc"))
    return carryChain(name == "sub" || name == "subc");
  if (mods.empty())
    unknown();
  PtxType type{mods.back()};
  if (type.isFloat() || type.isPacked())
    return name == "div" ? divide(takeType()) : floatBinary(name, takeType());
  type = takeType();
  expectOperands(3, 3);
  bool s = type.isSigned(), saturating = take("sat");
  Value *x = read(operand(1), type), *y = read(operand(2), type);
  Value *result = nullptr;
  if (saturating && type.name == "s32" && (name == "add" || name == "sub"))
    result = b.CreateBinaryIntrinsic(
        name == "add" ? Intrinsic::sadd_sat : Intrinsic::ssub_sat, x, y);
  else if (saturating)
    unknown();
  else if (name == "add")
    result = b.CreateAdd(x, y);
  else if (name == "sub")
    result = b.CreateSub(x, y);
  else if (name == "min")
    result =
        b.CreateBinaryIntrinsic(s ? Intrinsic::smin : Intrinsic::umin, x, y);
  else if (name == "max")
    result =
        b.CreateBinaryIntrinsic(s ? Intrinsic::smax : Intrinsic::umax, x, y);
  else {
    // A division by zero, or of the smallest number by -1, has some value on
    // a GPU and ends a program on a CPU.
    llvm::Type *t = x->getType();
    Value *bad = b.CreateICmpEQ(y, ConstantInt::get(t, 0));
    if (s)
      bad = b.CreateOr(
          bad, b.CreateAnd(b.CreateICmpEQ(y, Constant::getAllOnesValue(t)),
                           b.CreateICmpEQ(
                               x, ConstantInt::get(t, APInt::getSignedMinValue(
                                                          type.bits())))));
    Value *safe = b.CreateSelect(bad, ConstantInt::get(t, 1), y);
    bool quotient = name == "div";
    result = quotient ? (s ? b.CreateSDiv(x, safe) : b.CreateUDiv(x, safe))
                      : (s ? b.CreateSRem(x, safe) : b.CreateURem(x, safe));
    Value *zero = b.CreateICmpEQ(y, ConstantInt::get(t, 0));
    result = b.CreateSelect(zero, quotient ? Constant::getAllOnesValue(t) : x,
                            result);
  }
  write(operand(0), result, s);
}

/// mul, mad and their wide, hi and lo forms.
void Emitter::multiply() {
  bool add = inst->words[0] != "mul";
  if (mods.empty())
    unknown();
  PtxType type{mods.back()};
  if (type.isFloat() || type.isPacked())
    return add ? fusedMultiplyAdd(takeType()) : floatBinary("mul", takeType());
  type = takeType();
  StringRef part = takeOneOf({"lo", "hi", "wide"});
  bool carryIn = inst->words[0] == "madc", carryOut = take("cc");
  if (part.empty())
    unknown();
  expectOperands(add ? 4 : 3, add ? 4 : 3);
  unsigned bits = type.bits();
  bool s = type.isSigned();
  Value *x = fit(read(operand(1), type), 2 * bits, s);
  Value *y = fit(read(operand(2), type), 2 * bits, s);
  Value *product = b.CreateMul(x, y);
  if (part == "hi")
    product = b.CreateLShr(product, bits);
  unsigned width = part == "wide" ? 2 * bits : bits;
  product = fit(product, width, s);
  if (add) {
    Value *addend = readInt(operand(3), width, s);
    if (carryIn || carryOut) {
      Value *sum = b.CreateAdd(fit(product, 2 * width, false),
                               fit(addend, 2 * width, false));
      if (carryIn)
        sum = b.CreateAdd(
            sum, fit(b.CreateLoad(b.getInt1Ty(), carry), 2 * width, false));
      if (carryOut)
        b.CreateStore(fit(b.CreateLShr(sum, width), 1, false), carry);
      product = fit(sum, width, false);
    } else {
      product = b.CreateAdd(product, addend);
    }
  }
  write(operand(0), product, s);
}

/// dp4a and dp2a: sums of products of bytes.
void Emitter::dotProduct() {
  bool two = inst->words[0] == "dp2a";
  bool high = two && takeOneOf({"lo", "hi"}) == "hi";
  PtxType second = takeType(), first = takeType();
  expectOperands(4, 4);
  Value *x = readInt(operand(1), 32), *y = readInt(operand(2), 32);
  Value *sum = readInt(operand(3), 32);
  unsigned count = two ? 2 : 4, width = two ? 16 : 8;
  for (unsigned i = 0; i < count; ++i) {
    Value *p = fit(b.CreateLShr(x, i * width), width, false);
    Value *q = fit(b.CreateLShr(y, (i + (high ? 2 : 0)) * 8), 8, false);
    sum = b.CreateAdd(sum, b.CreateMul(fit(p, 32, first.isSigned()),
                                       fit(q, 32, second.isSigned())));
  }
  write(operand(0), sum);
}

void Emitter::countBits() {
  StringRef name = inst->words[0];
  bool amount = name == "bfind" && take("shiftamt");
  if (PtxType last{mods.empty() ? "b32" : mods.back()};
      last.isFloat() || last.isPacked())
    return floatUnary();
  PtxType type = takeType();
  expectOperands(name == "sad" ? 4 : 2, name == "sad" ? 4 : 2);
  Value *x = read(operand(1), type), *result = nullptr;
  unsigned bits = type.bits();
  if (name == "popc")
    result = b.CreateUnaryIntrinsic(Intrinsic::ctpop, x);
  else if (name == "clz")
    result = b.CreateBinaryIntrinsic(Intrinsic::ctlz, x, b.getFalse());
  else if (name == "brev")
    result = b.CreateUnaryIntrinsic(Intrinsic::bitreverse, x);
  else if (name == "neg")
    result = b.CreateNeg(x);
  else if (name == "abs")
    result = b.CreateBinaryIntrinsic(Intrinsic::abs, x, b.getFalse());
  else if (name == "sad") {
    Value *y = read(operand(2), type);
    bool s = type.isSigned();
    Value *most =
        b.CreateBinaryIntrinsic(s ? Intrinsic::smax : Intrinsic::umax, x, y);
    Value *least =
        b.CreateBinaryIntrinsic(s ? Intrinsic::smin : Intrinsic::umin, x, y);
    result = b.CreateAdd(b.CreateSub(most, least), read(operand(3), type));
  } else {
    // bfind: the highest bit that differs from the sign; -1 where none does.
    if (type.isSigned())
      x = b.CreateXor(x, b.CreateAShr(x, bits - 1));
    Value *zeros = fit(
        b.CreateBinaryIntrinsic(Intrinsic::ctlz, x, b.getFalse()), 32, false);
    Value *none = b.CreateICmpEQ(x, ConstantInt::get(x->getType(), 0));
    Value *place = amount ? zeros : b.CreateSub(b.getInt32(bits - 1), zeros);
    result = b.CreateSelect(none, b.getInt32(-1), place);
  }
  write(operand(0), result, type.isSigned());
}

//===----------------------------------------------------------------------===//
// Choosing and comparing
//===----------------------------------------------------------------------===//

/// selp and slct.
void Emitter::select() {
  bool predicate = inst->words[0] == "selp";
  expectOperands(4, 4);
  Value *condition = nullptr;
  if (predicate) {
    condition = readPredicate(operand(3));
  } else {
    bool ftz = take("ftz");
    PtxType type = takeType();
    Value *c = read(operand(3), type);
    condition = type.isFloat()
                    ? b.CreateFCmpOGE(ftz ? flush(c) : c,
                                      ConstantFP::get(c->getType(), 0.0))
                    : b.CreateICmpSGE(c, ConstantInt::get(c->getType(), 0));
  }
  PtxType type = takeType();
  Value *x = readInt(operand(1), type.bits(), type.isSigned());
  Value *y = readInt(operand(2), type.bits(), type.isSigned());
  if (operand(1).kind == Operand::Float || operand(2).kind == Operand::Float)
    x = asInt(read(operand(1), type)), y = asInt(read(operand(2), type));
  write(operand(0), b.CreateSelect(condition, x, y));
}

Value *Emitter::compareValues(StringRef op, const Operand &first,
                              const Operand &second, PtxType type, bool ftz) {
  Value *x = read(first, type), *y = read(second, type);
  if (type.name == "f16" || type.name == "bf16")
    x = toF32(x, type.name), y = toF32(y, type.name);
  if (ftz)
    x = flush(x), y = flush(y);
  using P = CmpInst::Predicate;
  if (type.isFloat()) {
    auto predicate = StringSwitch<P>(op)
                         .Case("eq", P::FCMP_OEQ)
                         .Case("ne", P::FCMP_ONE)
                         .Case("lt", P::FCMP_OLT)
                         .Case("le", P::FCMP_OLE)
                         .Case("gt", P::FCMP_OGT)
                         .Case("ge", P::FCMP_OGE)
                         .Case("equ", P::FCMP_UEQ)
                         .Case("neu", P::FCMP_UNE)
                         .Case("ltu", P::FCMP_ULT)
                         .Case("leu", P::FCMP_ULE)
                         .Case("gtu", P::FCMP_UGT)
                         .Case("geu", P::FCMP_UGE)
                         .Case("num", P::FCMP_ORD)
                         .Case("nan", P::FCMP_UNO)
                         .Default(P::BAD_FCMP_PREDICATE);
    if (predicate == P::BAD_FCMP_PREDICATE)
      unknown();
    return b.CreateFCmp(predicate, x, y);
  }
  bool s = type.isSigned();
  auto predicate = StringSwitch<P>(op)
                       .Case("eq", P::ICMP_EQ)
                       .Case("ne", P::ICMP_NE)
                       .Case("lt", s ? P::ICMP_SLT : P::ICMP_ULT)
                       .Case("le", s ? P::ICMP_SLE : P::ICMP_ULE)
                       .Case("gt", s ? P::ICMP_SGT : P::ICMP_UGT)
                       .Case("ge", s ? P::ICMP_SGE : P::ICMP_UGE)
                       .Case("lo", P::ICMP_ULT)
                       .Case("ls", P::ICMP_ULE)
                       .Case("hi", P::ICMP_UGT)
                       .Case("hs", P::ICMP_UGE)
                       .Default(P::BAD_ICMP_PREDICATE);
  if (predicate == P::BAD_ICMP_PREDICATE)
    unknown();
  return b.CreateICmp(predicate, x, y);
}

/// setp (one or two predicates) and set (1, -1 or 1.0).
void Emitter::compare() {
  bool toPredicate = inst->words[0] == "setp";
  bool ftz = take("ftz");
  if (mods.empty())
    unknown();
  PtxType type = takeType();
  PtxType result = toPredicate ? PtxType{"pred"} : takeType();
  StringRef combine = takeOneOf({"and", "or", "xor"});
  if (mods.size() != 1 || type.isPacked() || result.name == "f16" ||
      result.name == "bf16")
    unknown();
  StringRef op = mods.pop_back_val();
  expectOperands(combine.empty() ? 3 : 4, combine.empty() ? 3 : 4);
  Value *holds = compareValues(op, operand(1), operand(2), type, ftz);
  Value *opposite = b.CreateNot(holds);
  if (!combine.empty()) {
    Value *other = readPredicate(operand(3));
    auto join = [&](Value *value) {
      return combine == "and"  ? b.CreateAnd(value, other)
             : combine == "or" ? b.CreateOr(value, other)
                               : b.CreateXor(value, other);
    };
    holds = join(holds);
    opposite = join(opposite);
  }
  if (!toPredicate) {
    Value *value = result.isFloat() ? b.CreateUIToFP(holds, llvmType(result))
                                    : b.CreateSExt(holds, llvmType(result));
    return write(operand(0), value);
  }
  if (operand(0).kind != Operand::Pair)
    return write(operand(0), holds);
  write(operand(0).parts[0], holds);
  write(operand(0).parts[1], opposite);
}

void Emitter::addArithmetic(StringMap<Handler> &table) {
  for (const char *name :
       {"add", "sub", "addc", "subc", "min", "max", "div", "rem"})
    table[name] = &Emitter::integerBinary;
  for (const char *name : {"popc", "clz", "brev", "bfind", "neg", "abs", "sad"})
    table[name] = &Emitter::countBits;
  for (const char *name :
       {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt", "sqrt", "rcp"})
    table[name] = &Emitter::approximate;
  table["mul"] = table["mad"] = table["madc"] = table["fma"] =
      &Emitter::multiply;
  for (const char *name : {"and", "or", "xor", "not", "cnot"})
    table[name] = &Emitter::logic;
  table["shl"] = table["shr"] = &Emitter::shift;
  table["shf"] = &Emitter::funnelShift;
  table["bfe"] = &Emitter::bitField;
  table["bfi"] = &Emitter::bitFieldInsert;
  table["prmt"] = &Emitter::permute;
  table["lop3"] = &Emitter::lookup;
  table["dp4a"] = table["dp2a"] = &Emitter::dotProduct;
  table["selp"] = table["slct"] = &Emitter::select;
  table["setp"] = table["set"] = &Emitter::compare;
  table["testp"] = &Emitter::testProperty;
  table["copysign"] = &Emitter::floatUnary;
  table["cvt"] = &Emitter::convert;
  table["mov"] = &Emitter::move;
  table["cvta"] = &Emitter::convertAddress;
}
