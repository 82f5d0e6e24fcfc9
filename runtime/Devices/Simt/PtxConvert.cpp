//===- PtxConvert.cpp - conversions and moves ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/PtxEmitter.h"
#include "runtime/Devices/Simt/Retarget.h"

using namespace llvm;
using namespace steep::simt::ptx;

//===----------------------------------------------------------------------===//
// cvt
//===----------------------------------------------------------------------===//

/// Rounds to an integer in the way that .rni, .rzi, .rmi and .rpi say.
static Intrinsic::ID integerRounding(StringRef rounding) {
  return rounding == "rzi"   ? Intrinsic::trunc
         : rounding == "rmi" ? Intrinsic::floor
         : rounding == "rpi" ? Intrinsic::ceil
                             : Intrinsic::roundeven;
}

llvm::Value *Emitter::floatToInt(Value *value, PtxType to, StringRef rounding) {
  value = b.CreateUnaryIntrinsic(integerRounding(rounding), value);
  return createConversion(b, value, llvmType(to), to.isSigned());
}

llvm::Value *Emitter::intToFloat(Value *value, PtxType from, PtxType to,
                                 StringRef rounding) {
  if (to.bits() == 16) {
    // Exact in FP64 up to 32 bits; beyond, a second rounding could go wrong.
    if (from.bits() > 32 || rounding != "rn")
      unknown();
    return fromF64(intToFloat(value, from, {"f64"}, "rn"), to.name);
  }
  if (rounding != "rn" && (from.bits() >= 32)) {
    std::string name = "llvm.nvvm.";
    name += from.isSigned() ? "" : "u";
    name += from.bits() == 64 ? "ll2" : "i2";
    name += to.bits() == 64 ? "d." : "f.";
    return intrinsic(name + rounding.str(), {value});
  }
  return from.isSigned() ? b.CreateSIToFP(value, llvmType(to))
                         : b.CreateUIToFP(value, llvmType(to));
}

/// To 16 bits, never to a larger number than `value`.
llvm::Value *Emitter::towardsZero(Value *value, StringRef half) {
  Value *nearest = fromF32(value, half);
  Value *size = b.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  Value *nearestSize =
      b.CreateUnaryIntrinsic(Intrinsic::fabs, toF32(nearest, half));
  Value *larger = b.CreateFCmpOGT(nearestSize, size);
  return b.CreateSelect(larger, b.CreateSub(nearest, b.getInt16(1)), nearest);
}

llvm::Value *Emitter::floatToFloat(Value *value, PtxType to,
                                   StringRef rounding) {
  if (rounding.ends_with("i"))
    return b.CreateUnaryIntrinsic(integerRounding(rounding), value);
  if (to.name == "tf32")
    return intrinsic(("llvm.nvvm.f2tf32." + rounding).str(), {value});
  if (to.bits() == 16) {
    bool wide = value->getType()->isDoubleTy();
    if (rounding == "rz" && !wide)
      return towardsZero(value, to.name);
    if (rounding != "rn")
      unknown();
    return wide ? fromF64(value, to.name) : fromF32(value, to.name);
  }
  if (value->getType() == llvmType(to))
    return value;
  if (to.name == "f64")
    return b.CreateFPExt(value, b.getDoubleTy());
  if (rounding != "rn")
    return intrinsic(("llvm.nvvm.d2f." + rounding).str(), {value});
  return b.CreateFPTrunc(value, b.getFloatTy());
}

/// One or two numbers, from and to any type. Those of 16 bits and TF32 are
/// read as FP32, which holds them exactly.
void Emitter::convert() {
  if (take("pack"))
    unknown();
  StringRef rounding =
      takeOneOf({"rni", "rzi", "rmi", "rpi", "rna", "rn", "rz", "rm", "rp"});
  bool ftz = take("ftz"), sat = take("sat"), relu = take("relu"),
       finite = take("satfinite");
  PtxType from = takeType(), to = takeType();
  bool pack = to.isPacked();
  expectOperands(pack ? 3 : 2, pack ? 3 : 2);
  if (from.isPacked() || finite || (pack && from.name != "f32"))
    unknown();
  PtxType each = !pack ? to : PtxType{to.name == "f16x2" ? "f16" : "bf16"};
  bool toFloat = each.isFloat() || each.name == "tf32";
  auto one = [&](const Operand &operand) {
    Value *x = from.isFloat() && from.bits() == 16
                   ? toF32(readInt(operand, 16), from.name)
                   : read(operand, from);
    x = ftz && from.name == "f32" ? flush(x) : x;
    StringRef way = rounding.empty() ? (toFloat ? "rn" : "rzi") : rounding;
    if (from.isFloat() && !toFloat)
      return floatToInt(x, each, way);
    if (!from.isFloat() && toFloat) {
      x = intToFloat(x, from, each, way);
    } else if (from.isFloat()) {
      if (sat)
        x = saturate(x);
      if (relu)
        x = b.CreateSelect(
            b.CreateFCmpOLT(x, ConstantFP::get(x->getType(), 0.0)),
            ConstantFP::get(x->getType(), 0.0), x);
      // The same 16-bit type rounds to an integer, or stays as it is.
      if (each.bits() == 16 && way.ends_with("i"))
        x = b.CreateUnaryIntrinsic(integerRounding(way), x), way = "rn";
      x = floatToFloat(x, each, way);
      return ftz && each.name == "f32" ? flush(x) : x;
    } else if (sat) {
      unknown();
    } else {
      x = fit(x, each.bits(), from.isSigned());
    }
    return sat && toFloat ? saturate(x) : x;
  };
  Value *result = asInt(one(operand(1)));
  // The first of two goes into the upper half.
  if (pack)
    result = b.CreateOr(b.CreateShl(fit(result, 32, false), 16),
                        fit(asInt(one(operand(2))), 32, false));
  write(operand(0), result, !toFloat && to.isSigned());
}

//===----------------------------------------------------------------------===//
// mov, cvta
//===----------------------------------------------------------------------===//

/// A copy, a vector taken apart or put together.
void Emitter::move() {
  PtxType type = takeType();
  expectOperands(2, 2);
  const Operand &to = operand(0), &from = operand(1);
  bool apart = to.kind == Operand::Vector,
       together = from.kind == Operand::Vector;
  if (!apart && !together)
    return write(to, asInt(read(from, type)));
  unsigned bits = type.bits();
  auto splits = [&](const Operand &operand) {
    return operand.kind != Operand::Vector || operand.parts.size() == 2 ||
           operand.parts.size() == 4;
  };
  if (!splits(to) || !splits(from) || bits < 16)
    malformed("vectors of 2 or 4");
  Value *whole = nullptr;
  if (together) {
    unsigned width = bits / from.parts.size();
    whole = ConstantInt::get(intType(bits), 0);
    for (auto [i, part] : enumerate(from.parts))
      whole =
          b.CreateOr(whole, b.CreateShl(fit(readInt(part, width), bits, false),
                                        i * width));
  } else {
    whole = readInt(from, bits);
  }
  if (!apart)
    return write(to, whole);
  unsigned width = bits / to.parts.size();
  for (auto [i, part] : enumerate(to.parts))
    write(part, fit(b.CreateLShr(whole, i * width), width, false));
}

/// All spaces are one on the emulator, so an address stays as it is.
void Emitter::convertAddress() {
  take("to");
  takeOneOf({"global", "shared", "shared::cta", "local", "const", "param",
             "param::entry"});
  PtxType type = takeType();
  expectOperands(2, 2);
  Operand address = operand(1);
  if (address.kind == Operand::Address)
    address.kind = Operand::Name;
  write(operand(0), readInt(address, type.bits()));
}
