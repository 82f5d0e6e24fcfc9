//===- Scalars.c - scalar intrinsics of the GPU ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled to bitcode and inlined into kernels. The intrinsic
// llvm.nvvm.add.rn.f is the function scalar_add_rn_f.
//
// Exact operations (rn, rz, rm, rp) round as IEEE 754 says. Approximate ones
// are computed in double and rounded once, so they are closer to the truth
// than the hardware's. Minimum and maximum: PTX ISA, -0 < +0 and a NaN loses.
//
//===----------------------------------------------------------------------===//
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

#define INLINE static inline __attribute__((always_inline))
#define SCALAR __attribute__((const))

INLINE u32 bits(float x) {
  u32 u;
  __builtin_memcpy(&u, &x, 4);
  return u;
}
INLINE float fromBits(u32 u) {
  float x;
  __builtin_memcpy(&x, &u, 4);
  return x;
}
INLINE u64 bits64(double x) {
  u64 u;
  __builtin_memcpy(&u, &x, 8);
  return u;
}
INLINE double fromBits64(u64 u) {
  double x;
  __builtin_memcpy(&x, &u, 8);
  return x;
}

/// Denormals become zeros of their sign.
INLINE float flush(float x) {
  return bits(x) & 0x7f800000u ? x : fromBits(bits(x) & 0x80000000u);
}
INLINE float saturate(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

//===----------------------------------------------------------------------===//
// Directed rounding of f32, from an exact value hi + lo
//===----------------------------------------------------------------------===//

typedef enum { Nearest, ToZero, Down, Up } Rounding;
typedef struct {
  double hi, lo;
} Exact;

INLINE float stepDown(float x) {
  if (x == 0)
    return fromBits(0x80000001u);
  return fromBits(bits(x) + (x > 0 ? -1u : 1u));
}
INLINE float stepUp(float x) { return -stepDown(-x); }

INLINE float roundTo(Exact x, Rounding rounding) {
  float f = (float)x.hi;
  if (rounding == Nearest || f != f)
    return f;
  double rest = x.hi - (double)f;
  if (__builtin_isinf(x.hi))
    return f;
  if (rest == 0)
    rest = x.lo;
  int down = rounding == Down || (rounding == ToZero && x.hi > 0);
  int up = rounding == Up || (rounding == ToZero && x.hi < 0);
  if (rest < 0 && down)
    return stepDown(f);
  if (rest > 0 && up)
    return stepUp(f);
  return f;
}

INLINE Exact twoSum(double a, double b) {
  double s = a + b, t = s - a;
  Exact e = {s, (a - (s - t)) + (b - t)};
  return e;
}
INLINE float exactSum(double a, double b, Rounding rounding) {
  Exact e = twoSum(a, b);
  // x + -x is -0 only when rounding down.
  if (e.hi == 0 && e.lo == 0 && rounding == Down && (a != 0 || b != 0))
    return -0.0f;
  return roundTo(e, rounding);
}
INLINE float addTo(float x, float y, Rounding r) { return exactSum(x, y, r); }
INLINE float mulTo(float x, float y, Rounding r) {
  Exact e = {(double)x * y, 0};
  return roundTo(e, r);
}
INLINE float fmaTo(float x, float y, float z, Rounding r) {
  return exactSum((double)x * y, z, r);
}
INLINE float divTo(float x, float y, Rounding r) {
  double q = (double)x / y;
  double rest = __builtin_fma(-q, y, x);
  Exact e = {q, y < 0 ? -rest : rest};
  return roundTo(e, r);
}
INLINE float sqrtTo(float x, Rounding r) {
  double s = __builtin_sqrt((double)x);
  Exact e = {s, __builtin_fma(-s, s, x)};
  return roundTo(e, r);
}

//===----------------------------------------------------------------------===//
// f32 arithmetic
//===----------------------------------------------------------------------===//

#define UNARY(NAME, E)                                                         \
  SCALAR float scalar_##NAME##_f(float x) { return E; }                        \
  SCALAR float scalar_##NAME##_ftz_f(float x) {                                \
    x = flush(x);                                                              \
    return flush(E);                                                           \
  }
#define UNARY_F32(NAME, E)                                                     \
  SCALAR float scalar_##NAME##_f32(float x) { return E; }                      \
  SCALAR float scalar_##NAME##_ftz_f32(float x) {                              \
    x = flush(x);                                                              \
    return flush(E);                                                           \
  }
#define BINARY(NAME, E)                                                        \
  SCALAR float scalar_##NAME##_f(float x, float y) { return E; }               \
  SCALAR float scalar_##NAME##_ftz_f(float x, float y) {                       \
    x = flush(x);                                                              \
    y = flush(y);                                                              \
    return flush(E);                                                           \
  }
#define TERNARY(NAME, E)                                                       \
  SCALAR float scalar_##NAME##_f(float x, float y, float z) { return E; }      \
  SCALAR float scalar_##NAME##_ftz_f(float x, float y, float z) {              \
    x = flush(x);                                                              \
    y = flush(y);                                                              \
    z = flush(z);                                                              \
    return flush(E);                                                           \
  }
#define ROUNDED(MODE, ROUNDING)                                                \
  BINARY(add_##MODE, addTo(x, y, ROUNDING))                                    \
  BINARY(mul_##MODE, mulTo(x, y, ROUNDING))                                    \
  BINARY(div_##MODE, divTo(x, y, ROUNDING))                                    \
  TERNARY(fma_##MODE, fmaTo(x, y, z, ROUNDING))                                \
  UNARY(rcp_##MODE, divTo(1, x, ROUNDING))                                     \
  UNARY(sqrt_##MODE, sqrtTo(x, ROUNDING))

BINARY(add_rn, x + y)
BINARY(mul_rn, x *y)
BINARY(div_rn, x / y)
TERNARY(fma_rn, __builtin_fmaf(x, y, z))
UNARY(rcp_rn, 1 / x)
UNARY(sqrt_rn, __builtin_sqrtf(x))
ROUNDED(rz, ToZero)
ROUNDED(rm, Down)
ROUNDED(rp, Up)
BINARY(add_rn_sat, saturate(x + y))
TERNARY(fma_rn_sat, saturate(__builtin_fmaf(x, y, z)))
SCALAR float scalar_add_rn_ftz_sat_f(float x, float y) {
  return saturate(flush(flush(x) + flush(y)));
}
SCALAR float scalar_fma_rn_ftz_sat_f(float x, float y, float z) {
  return saturate(flush(__builtin_fmaf(flush(x), flush(y), flush(z))));
}
SCALAR float scalar_sqrt_f(float x) { return __builtin_sqrtf(x); }

BINARY(div_approx, x / y)
SCALAR float scalar_div_full(float x, float y) { return x / y; }
SCALAR float scalar_div_full_ftz(float x, float y) {
  return flush(flush(x) / flush(y));
}
UNARY(rcp_approx, 1 / x)
UNARY(rsqrt_approx, (float)(1 / __builtin_sqrt((double)x)))
UNARY(sqrt_approx, __builtin_sqrtf(x))
UNARY(lg2_approx, (float)__builtin_log2((double)x))
UNARY(sin_approx, (float)__builtin_sin((double)x))
UNARY(cos_approx, (float)__builtin_cos((double)x))
UNARY(ex2_approx, (float)__builtin_exp2((double)x))
UNARY_F32(ex2_approx, (float)__builtin_exp2((double)x))
UNARY_F32(tanh_approx, (float)__builtin_tanh((double)x))
UNARY(floor, __builtin_floorf(x))
UNARY(ceil, __builtin_ceilf(x))
UNARY(trunc, __builtin_truncf(x))
UNARY(round, __builtin_rintf(x))
UNARY(saturate, saturate(x))
UNARY(fabs, __builtin_fabsf(x))
UNARY_F32(fabs, __builtin_fabsf(x))

INLINE float least(float x, float y) {
  if (x != x)
    return y;
  if (y != y)
    return x;
  if (x == y)
    return fromBits(bits(x) | bits(y)); // -0 if either is.
  return x < y ? x : y;
}
INLINE float greatest(float x, float y) {
  if (x != x)
    return y;
  if (y != y)
    return x;
  if (x == y)
    return fromBits(bits(x) & bits(y));
  return x > y ? x : y;
}
INLINE float quietNaN(void) { return fromBits(0x7fffffffu); }
BINARY(fmin, least(x, y))
BINARY(fmax, greatest(x, y))
BINARY(fmin_nan, x != x || y != y ? quietNaN() : least(x, y))
BINARY(fmax_nan, x != x || y != y ? quietNaN() : greatest(x, y))
SCALAR float scalar_fmin_ftz_nan_f(float x, float y) {
  return x != x || y != y ? quietNaN() : least(flush(x), flush(y));
}
SCALAR float scalar_fmax_ftz_nan_f(float x, float y) {
  return x != x || y != y ? quietNaN() : greatest(flush(x), flush(y));
}
// llvm.minnum and llvm.maxnum, which NVPTX makes min.f32 and max.f32.
SCALAR float scalar_minnum_f32(float x, float y) { return least(x, y); }
SCALAR float scalar_maxnum_f32(float x, float y) { return greatest(x, y); }

//===----------------------------------------------------------------------===//
// f64
//===----------------------------------------------------------------------===//

INLINE double leastDouble(double x, double y) {
  if (x != x)
    return y;
  if (y != y)
    return x;
  if (x == y)
    return fromBits64(bits64(x) | bits64(y));
  return x < y ? x : y;
}
INLINE double greatestDouble(double x, double y) {
  if (x != x)
    return y;
  if (y != y)
    return x;
  if (x == y)
    return fromBits64(bits64(x) & bits64(y));
  return x > y ? x : y;
}
#define UNARY_D(NAME, E)                                                       \
  SCALAR double scalar_##NAME##_d(double x) { return E; }
#define BINARY_D(NAME, E)                                                      \
  SCALAR double scalar_##NAME##_d(double x, double y) { return E; }
BINARY_D(add_rn, x + y)
BINARY_D(mul_rn, x *y)
BINARY_D(div_rn, x / y)
BINARY_D(fmin, leastDouble(x, y))
BINARY_D(fmax, greatestDouble(x, y))
UNARY_D(rcp_rn, 1 / x)
UNARY_D(rcp_approx_ftz, 1 / x)
UNARY_D(sqrt_rn, __builtin_sqrt(x))
UNARY_D(rsqrt_approx, 1 / __builtin_sqrt(x))
UNARY_D(rsqrt_approx_ftz, 1 / __builtin_sqrt(x))
UNARY_D(lg2_approx, __builtin_log2(x))
UNARY_D(floor, __builtin_floor(x))
UNARY_D(ceil, __builtin_ceil(x))
UNARY_D(trunc, __builtin_trunc(x))
UNARY_D(round, __builtin_rint(x))
UNARY_D(saturate, x > 0 ? (x < 1 ? x : 1) : 0)
SCALAR double scalar_fabs_f64(double x) { return __builtin_fabs(x); }
SCALAR double scalar_fma_rn_d(double x, double y, double z) {
  return __builtin_fma(x, y, z);
}
SCALAR double scalar_minnum_f64(double x, double y) {
  return leastDouble(x, y);
}
SCALAR double scalar_maxnum_f64(double x, double y) {
  return greatestDouble(x, y);
}

//===----------------------------------------------------------------------===//
// Conversions: out of range saturates; NaN is 0, or 2^63 in 64 bits
//===----------------------------------------------------------------------===//

#define TO_INT(NAME, INT, FLOAT, ROUND, LOW, HIGH, NAN_VALUE)                  \
  SCALAR INT scalar_##NAME(FLOAT x) {                                          \
    FLOAT y = ROUND(x);                                                        \
    if (y != y)                                                                \
      return (INT)(NAN_VALUE);                                                 \
    if (y <= (FLOAT)(LOW))                                                     \
      return (INT)(LOW);                                                       \
    if (y >= (FLOAT)(HIGH))                                                    \
      return (INT)(HIGH);                                                      \
    return (INT)y;                                                             \
  }
INLINE float nearestF(float x) { return __builtin_rintf(x); }
INLINE float zeroF(float x) { return __builtin_truncf(x); }
INLINE float downF(float x) { return __builtin_floorf(x); }
INLINE float upF(float x) { return __builtin_ceilf(x); }
INLINE float nearestFtz(float x) { return __builtin_rintf(flush(x)); }
INLINE float zeroFtz(float x) { return __builtin_truncf(flush(x)); }
INLINE float downFtz(float x) { return __builtin_floorf(flush(x)); }
INLINE float upFtz(float x) { return __builtin_ceilf(flush(x)); }
INLINE double nearestD(double x) { return __builtin_rint(x); }
INLINE double zeroD(double x) { return __builtin_trunc(x); }
INLINE double downD(double x) { return __builtin_floor(x); }
INLINE double upD(double x) { return __builtin_ceil(x); }

#define TO_INTS(MODE, R, FTZ)                                                  \
  TO_INT(f2i_##MODE##FTZ, int32_t, float, R, INT32_MIN, INT32_MAX, 0)          \
  TO_INT(f2ui_##MODE##FTZ, u32, float, R, 0, UINT32_MAX, 0)                    \
  TO_INT(f2ll_##MODE##FTZ, i64, float, R, INT64_MIN, INT64_MAX, INT64_MIN)     \
  TO_INT(f2ull_##MODE##FTZ, u64, float, R, 0, UINT64_MAX, 1ull << 63)
TO_INTS(rn, nearestF, )
TO_INTS(rz, zeroF, )
TO_INTS(rm, downF, )
TO_INTS(rp, upF, )
TO_INTS(rn, nearestFtz, _ftz)
TO_INTS(rz, zeroFtz, _ftz)
TO_INTS(rm, downFtz, _ftz)
TO_INTS(rp, upFtz, _ftz)
#define TO_INTS_D(MODE, R)                                                     \
  TO_INT(d2i_##MODE, int32_t, double, R, INT32_MIN, INT32_MAX, INT32_MIN)      \
  TO_INT(d2ui_##MODE, u32, double, R, 0, UINT32_MAX, 1u << 31)                 \
  TO_INT(d2ll_##MODE, i64, double, R, INT64_MIN, INT64_MAX, INT64_MIN)         \
  TO_INT(d2ull_##MODE, u64, double, R, 0, UINT64_MAX, 1ull << 63)
TO_INTS_D(rn, nearestD)
TO_INTS_D(rz, zeroD)
TO_INTS_D(rm, downD)
TO_INTS_D(rp, upD)

INLINE float narrow(double x, Rounding r) {
  Exact e = {x, 0};
  return roundTo(e, r);
}
#define FROM_32(MODE, ROUNDING)                                                \
  SCALAR float scalar_i2f_##MODE(int32_t x) { return narrow(x, ROUNDING); }    \
  SCALAR float scalar_ui2f_##MODE(u32 x) { return narrow(x, ROUNDING); }       \
  SCALAR double scalar_i2d_##MODE(int32_t x) { return x; }                     \
  SCALAR double scalar_ui2d_##MODE(u32 x) { return x; }                        \
  SCALAR float scalar_d2f_##MODE(double x) { return narrow(x, ROUNDING); }     \
  SCALAR float scalar_d2f_##MODE##_ftz(double x) {                             \
    return flush(narrow(x, ROUNDING));                                         \
  }
FROM_32(rn, Nearest)
FROM_32(rz, ToZero)
FROM_32(rm, Down)
FROM_32(rp, Up)
SCALAR float scalar_ll2f_rn(i64 x) { return (float)x; }
SCALAR float scalar_ull2f_rn(u64 x) { return (float)x; }
SCALAR double scalar_ll2d_rn(i64 x) { return (double)x; }
SCALAR double scalar_ull2d_rn(u64 x) { return (double)x; }

/// To the 16 bits of a bfloat; NaN is the canonical one.
INLINE uint16_t toBrain(float x, int truncates) {
  u32 u = bits(x);
  if (x != x)
    return 0x7fff;
  if (!truncates)
    u += 0x7fff + (u >> 16 & 1);
  return (uint16_t)(u >> 16);
}
INLINE __bf16 brain(uint16_t u) {
  __bf16 x;
  __builtin_memcpy(&x, &u, 2);
  return x;
}
INLINE float positive(float x) { return x > 0 ? x : x != x ? x : 0; }
SCALAR __bf16 scalar_f2bf16_rn(float x) { return brain(toBrain(x, 0)); }
SCALAR __bf16 scalar_f2bf16_rz(float x) { return brain(toBrain(x, 1)); }
SCALAR __bf16 scalar_f2bf16_rn_relu(float x) {
  return brain(toBrain(positive(x), 0));
}
SCALAR __bf16 scalar_f2bf16_rz_relu(float x) {
  return brain(toBrain(positive(x), 1));
}
SCALAR _Float16 scalar_f2f16_rn(float x) { return (_Float16)x; }
SCALAR _Float16 scalar_f2f16_rn_relu(float x) { return (_Float16)positive(x); }
SCALAR int16_t scalar_f2h_rn(float x) {
  _Float16 h = (_Float16)x;
  int16_t i;
  __builtin_memcpy(&i, &h, 2);
  return i;
}

/// tf32: 10 bits of mantissa in the upper bits of a float.
SCALAR u32 scalar_f2tf32_rna(float x) {
  return x != x || __builtin_isinf(x) ? bits(x)
                                      : (bits(x) + 0x1000u) & ~0x1fffu;
}
SCALAR u32 scalar_f2tf32_rn(float x) {
  u32 u = bits(x);
  return x != x || __builtin_isinf(x) ? u
                                      : (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu;
}
SCALAR u32 scalar_f2tf32_rz(float x) {
  return x != x || __builtin_isinf(x) ? bits(x) : bits(x) & ~0x1fffu;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

SCALAR int32_t scalar_d2i_hi(double x) { return (int32_t)(bits64(x) >> 32); }
SCALAR int32_t scalar_d2i_lo(double x) { return (int32_t)bits64(x); }
SCALAR double scalar_lohi_i2d(int32_t lo, int32_t hi) {
  return fromBits64((u64)(u32)hi << 32 | (u32)lo);
}
SCALAR int32_t scalar_mulhi_i(int32_t a, int32_t b) {
  return (int32_t)((i64)a * b >> 32);
}
SCALAR u32 scalar_mulhi_ui(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
SCALAR i64 scalar_mulhi_ll(i64 a, i64 b) {
  return (i64)((__int128)a * b >> 64);
}
SCALAR u64 scalar_mulhi_ull(u64 a, u64 b) {
  return (u64)((unsigned __int128)a * b >> 64);
}
INLINE int32_t low24(int32_t a) { return (int32_t)((u32)a << 8) >> 8; }
SCALAR int32_t scalar_mul24_i(int32_t a, int32_t b) {
  return (int32_t)((u32)low24(a) * (u32)low24(b));
}
SCALAR u32 scalar_mul24_ui(u32 a, u32 b) {
  return (a & 0xffffffu) * (b & 0xffffffu);
}
SCALAR u32 scalar_sad_i(int32_t a, int32_t b, u32 c) {
  return c + (a < b ? (u32)b - (u32)a : (u32)a - (u32)b);
}
SCALAR u32 scalar_sad_ui(u32 a, u32 b, u32 c) {
  return c + (a < b ? b - a : a - b);
}
SCALAR u32 scalar_prmt(u32 a, u32 b, u32 selector) {
  u64 source = (u64)b << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    u32 pick = selector >> (4 * i) & 15;
    u32 byte = (u32)(source >> (8 * (pick & 7))) & 255;
    if (pick & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
