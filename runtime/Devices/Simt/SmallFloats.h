//===- SmallFloats.h - conversions of half and bfloat -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM calls these helpers where the processor has no instruction; they are
// exact, denormals included.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_SMALLFLOATS_H
#define STEEP_RUNTIME_DEVICES_SIMT_SMALLFLOATS_H

#include <cstdint>
#include <cstring>
#include <vector>

namespace steep::simt {

inline float floatOf(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
inline std::uint32_t bitsOf(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

float halfToFloat(std::uint16_t half);
std::uint16_t floatToHalf(float x);
inline float brainToFloat(std::uint16_t brain) {
  return floatOf(static_cast<std::uint32_t>(brain) << 16);
}
std::uint16_t floatToBrain(float x);

struct SmallFloatHelper {
  const char *name;
  void *function;
};
std::vector<SmallFloatHelper> smallFloatHelpers();

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_SMALLFLOATS_H
