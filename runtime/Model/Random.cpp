//===- Random.cpp - portable normal numbers -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file is compiled with -ffp-contract=off: a fused multiply-add where the
// machine has one would change the last bits.
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Random.h"

#include <cmath>
#include <cstring>

using namespace steep;

static constexpr uint64_t golden = 0x9e3779b97f4a7c15ull;

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint64_t steep::normalKey(uint64_t seed, const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3ull;
  return mix(seed + golden) ^ hash;
}

/// log(u) for u in [2^-53, 1]: u = 2^e m with m in [sqrt(1/2), sqrt(2)), and
/// log m = 2 atanh((m - 1)/(m + 1)) as a series to s^23 (|s| < 0.172).
static double portableLog(double u) {
  uint64_t bits;
  std::memcpy(&bits, &u, sizeof bits);
  int exponent = int(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2)
    sum = sum * s2 + 1.0 / k;
  return exponent * 0.6931471805599453 + 2 * s * sum;
}

/// cos(2 pi v) and sin(2 pi v) for v in [0, 1): a quarter turn is taken out
/// exactly, the rest (at most an eighth of a turn) is a Taylor series.
static void portableCosSin(double v, double &cosine, double &sine) {
  const int quarter = int(v * 4 + 0.5);
  const double angle = (v - quarter * 0.25) * 6.283185307179586;
  const double square = angle * angle;
  double c = 1, s = 1;
  for (int k = 18; k >= 2; k -= 2) {
    c = 1 - c * square * (1.0 / (k * (k - 1)));
    s = 1 - s * square * (1.0 / (k * (k + 1)));
  }
  s *= angle;
  switch (quarter & 3) {
  case 0:
    cosine = c, sine = s;
    break;
  case 1:
    cosine = -s, sine = c;
    break;
  case 2:
    cosine = -c, sine = -s;
    break;
  default:
    cosine = s, sine = -c;
    break;
  }
}

void steep::initialiseNormal(float *out, int64_t begin, int64_t end,
                             uint64_t key, double deviation) {
  auto bits = [key](int64_t i) {
    return mix(key + (uint64_t(i) + 1) * golden);
  };
  for (int64_t i = begin; i < end; i += 2) {
    const double u = (double(bits(i) >> 11) + 1) * 0x1p-53;
    const double v = double(bits(i + 1) >> 11) * 0x1p-53;
    double cosine, sine;
    portableCosSin(v, cosine, sine);
    const double radius = deviation * std::sqrt(-2 * portableLog(u));
    out[i - begin] = float(radius * cosine);
    if (i + 1 < end)
      out[i + 1 - begin] = float(radius * sine);
  }
}
