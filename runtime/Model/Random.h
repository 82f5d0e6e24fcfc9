//===- Random.h - portable normal numbers -----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A counter-based generator, so that a value depends on the seed, the name of
// the parameter and the position alone: not on threads, order or library.
//
//   mix(z)   SplitMix64's finaliser: z ^= z >> 30; z *= 0xbf58476d1ce4e5b9;
//            z ^= z >> 27; z *= 0x94d049bb133111eb; z ^= z >> 31
//   key      mix(seed + 0x9e3779b97f4a7c15) ^ FNV-1a-64(name)
//   bits(i)  mix(key + (i + 1) * 0x9e3779b97f4a7c15)
//   elements 2j and 2j+1: u = ((bits(2j) >> 11) + 1) * 2^-53 in (0, 1],
//            v = (bits(2j+1) >> 11) * 2^-53 in [0, 1), r = sqrt(-2 log u);
//            deviation * r * cos(2 pi v) and deviation * r * sin(2 pi v),
//            rounded to float
//
// log, cos and sin are computed in float64 by fixed sequences of IEEE
// operations (Random.cpp), since libraries differ in the last bit.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_RANDOM_H
#define STEEP_RUNTIME_MODEL_RANDOM_H

#include <cstdint>
#include <string>

namespace steep {

/// The generator's key for a parameter.
uint64_t normalKey(uint64_t seed, const std::string &name);

/// Writes elements begin .. end - 1 of the sequence of N(0, deviation^2)
/// numbers to out[0 ..]; `begin` must be even.
void initialiseNormal(float *out, int64_t begin, int64_t end, uint64_t key,
                      double deviation);

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_RANDOM_H
