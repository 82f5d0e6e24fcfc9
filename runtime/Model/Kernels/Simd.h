//===- Simd.h - vectors of the instruction set compiled for -----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the sources of this folder alone, which are compiled several times. They
// use no inline function or template of a shared header: the linker keeps one
// copy of such a function, and it might be the one for the widest machine.
// Everything here is in the namespace STEEP_ISA.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_KERNELS_SIMD_H
#define STEEP_RUNTIME_MODEL_KERNELS_SIMD_H

#include <stdint.h>

#ifndef STEEP_ISA
#error "STEEP_ISA names the namespace of this instruction set"
#endif

namespace steep {
namespace STEEP_ISA {

#if defined(__AVX512F__)
constexpr int lanes = 16;
constexpr int tileColumns = 4; ///< vectors a row of the register tile
#elif defined(__AVX__)
constexpr int lanes = 8;
constexpr int tileColumns = 2;
#else
constexpr int lanes = 4;
constexpr int tileColumns = 2;
#endif
constexpr int tileRows = 6; ///< 6 * tileColumns accumulators fit the registers

typedef float Vector __attribute__((vector_size(lanes * 4)));
/// A vector anywhere in an array of floats.
typedef float LooseVector
    __attribute__((vector_size(lanes * 4), aligned(4), may_alias));

static inline Vector load(const float *p) {
  return *reinterpret_cast<const LooseVector *>(p);
}
static inline void store(float *p, Vector v) {
  *reinterpret_cast<LooseVector *>(p) = v;
}

static inline float asFloat(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
static inline uint32_t asBits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// exp(x) to about one unit in the last place, in operations that every
/// compiler vectorises. Results below 2^-126 are 0, x above 88.37 counts as
/// 88.37, and a NaN stays one.
static inline float exponential(float x) {
  const float lowest = -87.33654f, highest = 88.37f;
  const float y = x > highest ? highest : (x < lowest ? lowest : x);
  // n = y / ln 2 to the nearest integer: adding 1.5 * 2^23 rounds, and leaves
  // the integer in the low bits.
  const float shifter = 12582912.0f;
  const float shifted = y * 1.44269504f + shifter;
  const float n = shifted - shifter;
  float r = y - n * 0.693359375f; // exact: the constant has 10 bits
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const float power = asFloat((asBits(shifted) << 23) + 0x3f800000u);
  return x < lowest ? 0.0f : p * power;
}

} // namespace STEEP_ISA
} // namespace steep

#endif // STEEP_RUNTIME_MODEL_KERNELS_SIMD_H
