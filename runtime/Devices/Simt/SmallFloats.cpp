//===- SmallFloats.cpp - conversions of half and bfloat -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/SmallFloats.h"

#include <emmintrin.h>

namespace steep::simt {

float halfToFloat(std::uint16_t half) {
  std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  std::uint32_t exponent = half >> 10 & 31, mantissa = half & 0x3ff;
  if (exponent == 31) // Infinity; a NaN becomes quiet.
    return floatOf(sign | 0x7f800000 | mantissa << 13 |
                   (mantissa ? 0x400000 : 0));
  if (exponent == 0) {
    float tiny = static_cast<float>(mantissa) * 0x1p-24f;
    return floatOf(bitsOf(tiny) | sign);
  }
  return floatOf(sign | (exponent + 112) << 23 | mantissa << 13);
}

std::uint16_t floatToHalf(float x) {
  std::uint32_t bits = bitsOf(x);
  std::uint16_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return sign | 0x7e00 | (bits >> 13 & 0x3ff);
  if (bits >= 0x47800000) // 65536 and more; 65520 to 65536 rounds up below.
    return sign | 0x7c00;
  if (bits < 0x38800000) {
    // Denormal: adding 0.5 leaves the right number of bits, rounded to even.
    float shifted = floatOf(bits) + 0.5f;
    return sign | static_cast<std::uint16_t>(bitsOf(shifted) - 0x3f000000);
  }
  std::uint32_t odd = bits >> 13 & 1;
  return sign |
         static_cast<std::uint16_t>((bits - (112u << 23) + 0xfff + odd) >> 13);
}

std::uint16_t floatToBrain(float x) {
  std::uint32_t bits = bitsOf(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// A double to a float that is rounded to odd: rounding that once more, to a
/// format of fewer bits, is as rounding the double.
static float toOdd(double x) {
  float f = static_cast<float>(x);
  std::uint32_t bits = bitsOf(f);
  double back = f;
  if (back == x || x != x || (bits & 0x7fffffff) == 0x7f800000 || bits & 1)
    return f;
  // The neighbour on the other side of x is odd.
  bool away = (back < x) == (x > 0);
  if ((bits & 0x7fffffff) == 0)
    return floatOf((x < 0 ? 0x80000000u : 0) | 1);
  return floatOf(away ? bits + 1 : bits - 1);
}

namespace {
// Values of 16 bits travel in the low bits of a vector register.
using Vector = __m128i;
Vector pack(std::uint16_t bits) { return _mm_cvtsi32_si128(bits); }

Vector truncateToBrain(float x) { return pack(floatToBrain(x)); }
Vector truncateDoubleToBrain(double x) { return pack(floatToBrain(toOdd(x))); }
Vector truncateToHalf(float x) { return pack(floatToHalf(x)); }
Vector truncateDoubleToHalf(double x) { return pack(floatToHalf(toOdd(x))); }
float extendHalf(Vector x) {
  return halfToFloat(static_cast<std::uint16_t>(_mm_extract_epi16(x, 0)));
}
} // namespace

std::vector<SmallFloatHelper> smallFloatHelpers() {
  auto address = [](auto *function) {
    return reinterpret_cast<void *>(function);
  };
  return {{"__truncsfbf2", address(truncateToBrain)},
          {"__truncdfbf2", address(truncateDoubleToBrain)},
          {"__truncsfhf2", address(truncateToHalf)},
          {"__truncdfhf2", address(truncateDoubleToHalf)},
          {"__extendhfsf2", address(extendHalf)}};
}

} // namespace steep::simt
