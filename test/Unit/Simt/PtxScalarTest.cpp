//===- PtxScalarTest.cpp - one instruction, one value ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values by hand, from the PTX ISA. All cases of a table go into one kernel.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Simt/PtxTest.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace steep::simt::test;

namespace {

/// Registers 1, 2 and 3 of every kind hold a, b and c; the result is in
/// register 0 of the kind that the destination in `text` says.
struct Case {
  const char *text;
  std::uint64_t a, b, c, expected;
};

std::uint64_t f(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
std::uint64_t d(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
const float inf = INFINITY;
const std::uint64_t nan32 = 0x7fc00000, tiny = 1, m1 = 0xffffffff;

std::string bodyOf(const std::vector<Case> &cases) {
  std::string body;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::string text = cases[i].text, at = std::to_string(24 * i);
    for (int k = 1; k <= 3; ++k) {
      std::string n = std::to_string(k);
      body += "ld.global.b64 %rd" + n + ", [%in+" +
              std::to_string(24 * i + 8 * (k - 1)) + "];\ncvt.u32.u64 %r" + n +
              ", %rd" + n + ";\ncvt.u16.u64 %h" + n + ", %rd" + n +
              ";\nmov.b32 %f" + n + ", %r" + n + ";\nmov.b64 %d" + n + ", %rd" +
              n + ";\nsetp.ne.b32 %p" + n + ", %r" + n + ", 0;\n";
    }
    body += text + ";\n";
    if (text.find("%p0") != std::string::npos)
      body += "selp.u64 %rd0, 1, 0, %p0;\n";
    else if (text.find("%h0") != std::string::npos)
      body += "cvt.u64.u16 %rd0, %h0;\n";
    else if (text.find("%r0") != std::string::npos)
      body += "cvt.u64.u32 %rd0, %r0;\n";
    else if (text.find("%f0") != std::string::npos)
      body += "mov.b32 %r0, %f0;\ncvt.u64.u32 %rd0, %r0;\n";
    else if (text.find("%d0") != std::string::npos)
      body += "mov.b64 %rd0, %d0;\n";
    body += "st.global.b64 [%out+" + std::to_string(8 * i) + "], %rd0;\n";
  }
  return body;
}

void check(const std::vector<Case> &cases) {
  std::vector<std::uint64_t> in;
  for (const Case &each : cases)
    in.insert(in.end(), {each.a, each.b, each.c});
  PtxRun run =
      runText(kernelText(bodyOf(cases)), in, cases.size(), 1, 0, false);
  ASSERT_EQ(run.error, "");
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(run.values[i], cases[i].expected)
        << cases[i].text << std::hex << " of " << cases[i].a << ", "
        << cases[i].b << ", " << cases[i].c << ": got " << run.values[i];
}

TEST(PtxScalar, IntegerArithmetic) {
  check({
      {"add.s32 %r0, %r1, %r2", 0x7fffffff, 1, 0, 0x80000000},
      {"add.sat.s32 %r0, %r1, %r2", 0x7fffffff, 1, 0, 0x7fffffff},
      {"sub.u64 %rd0, %rd1, %rd2", 1, 2, 0, ~0ull},
      {"add.u16 %h0, %h1, %h2", 0xffff, 2, 0, 1},
      {"mul.lo.s32 %r0, %r1, %r2", 0x10001, 0x10001, 0, 0x20001},
      {"mul.hi.s32 %r0, %r1, %r2", m1 - 2, 5, 0, m1},
      {"mul.hi.u32 %r0, %r1, %r2", m1, m1, 0, 0xfffffffe},
      {"mul.hi.u64 %rd0, %rd1, %rd2", ~0ull, ~0ull, 0, ~1ull},
      {"mul.wide.s32 %rd0, %r1, %r2", m1, 3, 0, ~2ull},
      {"mul.wide.u32 %rd0, %r1, %r2", m1, 3, 0, 0x2fffffffd},
      {"mul.wide.s16 %r0, %h1, %h2", 0xffff, 3, 0, 0xfffffffd},
      {"mad.lo.u32 %r0, %r1, %r2, %r3", 7, 6, 5, 47},
      {"mad.wide.s32 %rd0, %r1, %r2, %rd3", m1, 4, 100, 96},
      {"mad.hi.u32 %r0, %r1, %r2, %r3", 0x80000000, 4, 5, 7},
      {"div.s32 %r0, %r1, %r2", m1 - 6, 2, 0, m1 - 2},
      {"rem.s32 %r0, %r1, %r2", m1 - 6, 2, 0, m1},
      {"div.u32 %r0, %r1, %r2", m1 - 6, 2, 0, 0x7ffffffc},
      {"div.u32 %r0, %r1, %r2", 5, 0, 0, m1},
      {"rem.u64 %rd0, %rd1, %rd2", 17, 5, 0, 2},
      {"min.s32 %r0, %r1, %r2", m1, 1, 0, m1},
      {"min.u32 %r0, %r1, %r2", m1, 1, 0, 1},
      {"max.s64 %rd0, %rd1, %rd2", ~0ull, 1, 0, 1},
      {"abs.s32 %r0, %r1", m1 - 4, 0, 0, 5},
      {"neg.s64 %rd0, %rd1", 5, 0, 0, ~4ull},
      {"sad.u32 %r0, %r1, %r2, %r3", 3, 10, 100, 107},
      {"dp4a.s32.s32 %r0, %r1, %r2, %r3", 0xff020304, 0x01010101, 10, 18},
      {"dp4a.u32.u32 %r0, %r1, %r2, %r3", 0xff020304, 0x01010101, 10, 274},
      {"add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, %r3, 5", m1, 1, 7, 13},
      {"sub.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, 5", 1, 2, 7, 1},
      {"sub.cc.u32 %r0, %r1, %r2; subc.u32 %r0, %r3, 5", 2, 1, 7, 2},
      {"mad.lo.cc.u32 %r0, %r1, %r2, %r2; madc.hi.u32 %r0, %r1, %r2, %r3", m1,
       2, 3, 5},
  });
}

TEST(PtxScalar, Bits) {
  check({
      {"shl.b32 %r0, %r1, %r2", 1, 31, 0, 0x80000000},
      {"shl.b32 %r0, %r1, %r2", 1, 32, 0, 0},
      {"shr.u32 %r0, %r1, %r2", m1, 300, 0, 0},
      {"shr.s32 %r0, %r1, %r2", 0x80000000, 40, 0, m1},
      {"shr.s64 %rd0, %rd1, %r2", 1ull << 63, 63, 0, ~0ull},
      {"shr.s32 %r0, %r1, %r2", 0x80000000, 4, 0, 0xf8000000},
      {"shf.l.wrap.b32 %r0, %r1, %r2, %r3", 0x80000001, 2, 33, 5},
      {"shf.l.clamp.b32 %r0, %r1, %r2, %r3", 0x12345678, 2, 50, 0x12345678},
      {"shf.r.wrap.b32 %r0, %r1, %r2, %r3", 16, 1, 4, 0x10000001},
      {"shf.r.clamp.b32 %r0, %r1, %r2, %r3", 16, 7, 40, 7},
      {"bfe.u32 %r0, %r1, 8, 8", 0xabcd1234, 0, 0, 0x12},
      {"bfe.s32 %r0, %r1, 4, 4", 0x80, 0, 0, 0xfffffff8},
      {"bfe.u32 %r0, %r1, %r2, %r3", 0xff, 4, 0, 0},
      {"bfe.s32 %r0, %r1, %r2, %r3", 0xff, 4, 0, 0},
      {"bfe.s32 %r0, %r1, %r2, %r3", 0x80000000, 28, 60, 0xfffffff8},
      {"bfe.u32 %r0, %r1, %r2, %r3", m1, 40, 8, 0},
      {"bfe.u64 %rd0, %rd1, 60, 8", ~0ull, 0, 0, 15},
      {"bfi.b32 %r0, %r1, %r2, 8, 4", 0x3f, 0x11111111, 0, 0x11111f11},
      {"bfi.b32 %r0, %r1, %r2, 28, 60", m1, 0, 0, 0xf0000000},
      {"prmt.b32 %r0, %r1, %r2, 0x7531", 0x33221100, 0x77665544, 0, 0x77553311},
      {"prmt.b32 %r0, %r1, %r2, %r3", 0x80, 0, 0x0088, 0x8080ffff},
      {"lop3.b32 %r0, %r1, %r2, %r3, 0xE8", 0xc, 0xa, 0x6, 0xe},
      {"lop3.b32 %r0, %r1, %r2, %r3, 0x96", 0xc, 0xa, 0x1, 0x7},
      {"popc.b32 %r0, %r1", 0xf0f, 0, 0, 8},
      {"popc.b64 %r0, %rd1", ~0ull, 0, 0, 64},
      {"clz.b32 %r0, %r1", 0, 0, 0, 32},
      {"clz.b64 %r0, %rd1", 1, 0, 0, 63},
      {"brev.b32 %r0, %r1", 1, 0, 0, 0x80000000},
      {"bfind.u32 %r0, %r1", 0x100, 0, 0, 8},
      {"bfind.u32 %r0, %r1", 0, 0, 0, m1},
      {"bfind.s32 %r0, %r1", 0xfffffeff, 0, 0, 8},
      {"bfind.shiftamt.u32 %r0, %r1", 0x100, 0, 0, 23},
      {"not.b32 %r0, %r1", 0xff, 0, 0, 0xffffff00},
      {"cnot.b32 %r0, %r1", 0, 0, 0, 1},
      {"xor.b64 %rd0, %rd1, %rd2", 5, 6, 0, 3},
      {"and.pred %p0, %p1, %p2", 1, 0, 0, 0},
      {"not.pred %p0, %p1", 1, 0, 0, 0},
      {"mov.b32 {%h0, %h4}, %r1; mov.b32 %r0, {%h4, %h0}", 0x12345678, 0, 0,
       0x5678},
      {"mov.b64 {%r4, %r5}, %rd1; mov.b64 %rd0, {%r5, %r4}", 0x1122334455667788,
       0, 0, 0x5566778811223344},
  });
}

TEST(PtxScalar, Comparisons) {
  check({
      {"setp.lt.s32 %p0, %r1, %r2", m1, 1, 0, 1},
      {"setp.lt.u32 %p0, %r1, %r2", m1, 1, 0, 0},
      {"setp.hs.u32 %p0, %r1, %r2", 1, 1, 0, 1},
      {"setp.lt.f32 %p0, %f1, %f2", nan32, f(1), 0, 0},
      {"setp.ltu.f32 %p0, %f1, %f2", nan32, f(1), 0, 1},
      {"setp.neu.f32 %p0, %f1, %f2", nan32, nan32, 0, 1},
      {"setp.num.f32 %p0, %f1, %f2", f(0), nan32, 0, 0},
      {"setp.eq.f32 %p0, %f1, %f2", f(-0.0f), f(0), 0, 1},
      {"setp.gt.ftz.f32 %p0, %f1, %f2", tiny, 0, 0, 0},
      {"setp.gt.f32 %p0, %f1, %f2", tiny, 0, 0, 1},
      {"setp.gt.f64 %p0, %d1, %d2", d(2), d(1), 0, 1},
      {"setp.lt.and.s32 %p0, %r1, %r2, !%p3", 1, 2, 0, 1},
      {"setp.lt.xor.s32 %p0, %r1, %r2, %p3", 1, 2, 1, 0},
      {"setp.lt.or.s32 %p4|%p0, %r1, %r2, %p3", 1, 2, 0, 0},
      {"setp.gt.bf16 %p0, %h1, %h2", 0x4000, 0x3f80, 0, 1},
      {"set.lt.u32.s32 %r0, %r1, %r2", m1, 1, 0, m1},
      {"set.lt.f32.s32 %f0, %r1, %r2", m1, 1, 0, f(1)},
      {"selp.b32 %r0, %r1, %r2, %p3", 5, 6, 0, 6},
      {"selp.f32 %f0, 0f3F800000, %f2, %p3", 5, 6, 1, f(1)},
      {"slct.u32.s32 %r0, %r1, %r2, %r3", 5, 6, m1, 6},
      {"slct.f32.f32 %f0, %f1, %f2, %f3", f(5), f(6), f(-0.0f), f(5)},
      {"testp.finite.f32 %p0, %f1", f(inf), 0, 0, 0},
      {"testp.subnormal.f32 %p0, %f1", tiny, 0, 0, 1},
      {"@%p1 mov.u32 %r0, 3; @!%p1 mov.u32 %r0, 4", 0, 0, 0, 4},
  });
}

TEST(PtxScalar, Floats) {
  float third = 1.0f / 3, eps = 0x1p-23f;
  check({
      {"add.rn.f32 %f0, %f1, %f2", f(1), f(0x1p-24f), 0, f(1)},
      {"add.rp.f32 %f0, %f1, %f2", f(1), f(0x1p-24f), 0, f(1 + eps)},
      {"sub.rz.f32 %f0, %f1, %f2", f(1), f(0x1p-30f), 0, f(1 - eps / 2)},
      {"add.f32 %f0, %f1, %f2", tiny, tiny, 0, 2},
      {"add.ftz.f32 %f0, %f1, %f2", tiny, tiny, 0, 0},
      {"add.sat.f32 %f0, %f1, %f2", f(1), f(1), 0, f(1)},
      {"mul.sat.f32 %f0, %f1, %f2", nan32, f(1), 0, 0},
      {"mul.rm.f32 %f0, %f1, %f2", f(1 + eps), f(-1 - eps), 0, f(-1 - 3 * eps)},
      // Rounded once: the exact square's last bit survives.
      {"fma.rn.f32 %f0, %f1, %f1, %f3", f(1 + eps), 0, f(-1 - 2 * eps),
       f(eps * eps)},
      {"mad.f32 %f0, %f1, %f2, %f3", f(2), f(3), f(4), f(10)},
      {"fma.rn.f64 %d0, %d1, %d2, %d3", d(2), d(3), d(4), d(10)},
      {"fma.rz.f32 %f0, %f1, %f2, %f3", f(1), f(0x1p-30f), f(1), f(1)},
      {"div.rn.f32 %f0, %f1, %f2", f(1), f(3), 0, f(third)},
      {"div.full.f32 %f0, %f1, %f2", f(1), f(3), 0, f(third)},
      {"div.approx.ftz.f32 %f0, %f1, %f2", f(8), f(2), 0, f(4)},
      {"div.rn.f64 %d0, %d1, %d2", d(1), d(3), 0, d(1.0 / 3)},
      {"sqrt.rn.f32 %f0, %f1", f(2), 0, 0, f(std::sqrt(2.0f))},
      {"sqrt.approx.ftz.f32 %f0, %f1", tiny, 0, 0, 0},
      {"rcp.rn.f32 %f0, %f1", f(3), 0, 0, f(third)},
      {"rcp.approx.ftz.f32 %f0, %f1", f(4), 0, 0, f(0.25f)},
      {"rsqrt.approx.f32 %f0, %f1", f(4), 0, 0, f(0.5f)},
      {"ex2.approx.f32 %f0, %f1", f(3), 0, 0, f(8)},
      {"ex2.approx.ftz.f32 %f0, %f1", f(-130), 0, 0, 0},
      {"lg2.approx.f32 %f0, %f1", f(8), 0, 0, f(3)},
      {"sin.approx.f32 %f0, %f1", f(0), 0, 0, f(0)},
      {"cos.approx.f32 %f0, %f1", f(0), 0, 0, f(1)},
      {"tanh.approx.f32 %f0, %f1", f(inf), 0, 0, f(1)},
      {"min.f32 %f0, %f1, %f2", nan32, f(1), 0, f(1)},
      {"min.f32 %f0, %f1, %f2", f(0), f(-0.0f), 0, f(-0.0f)},
      {"max.f32 %f0, %f1, %f2", f(-0.0f), f(0), 0, f(0)},
      {"max.f64 %d0, %d1, %d2", d(1), d(2), 0, d(2)},
      {"neg.f32 %f0, %f1", f(0), 0, 0, f(-0.0f)},
      {"abs.f32 %f0, %f1", f(-2), 0, 0, f(2)},
      {"abs.ftz.f32 %f0, %f1", 0x80000001, 0, 0, 0},
      {"neg.f16x2 %r0, %r1", 0x3c003c00, 0, 0, 0xbc00bc00},
      {"copysign.f32 %f0, %f1, %f2", f(-1), f(5), 0, f(-5)},
      {"add.f16x2 %r0, %r1, %r2", 0x3c004000, 0x3c003c00, 0, 0x40004200},
      {"mul.bf16 %h0, %h1, %h2", 0x4000, 0x4040, 0, 0x40c0},
      {"max.bf16x2 %r0, %r1, %r2", 0x3f804000, 0x40003f80, 0, 0x40004000},
      {"fma.rn.f16 %h0, %h1, %h2, %h3", 0x3c00, 0x4000, 0x3c00, 0x4200},
      // 15 * 21 = 315 is a tie between 314 and 316, unless a little is taken
      // off, which FP64 does not see.
      {"fma.rn.bf16 %h0, %h1, %h2, %h3", 0x4170, 0x41a8, 0, 0x439e},
      {"fma.rn.bf16 %h0, %h1, %h2, %h3", 0x4170, 0x41a8, 0x8001, 0x439d},
      {"fma.rn.relu.bf16 %h0, %h1, %h2, %h3", 0xbf80, 0x3f80, 0, 0},
      {"fma.rn.f32x2 %rd0, %rd1, %rd2, %rd3", f(2) << 32 | f(3),
       f(5) << 32 | f(7), f(1) << 32 | f(2), f(11) << 32 | f(23)},
      {"add.rn.f32x2 %rd0, %rd1, %rd2", f(2) << 32 | f(3), f(5) << 32 | f(7), 0,
       f(7) << 32 | f(10)},
      {"max.f32 %f0, %f1, %f2, %f3", f(1), f(2), f(3), f(3)},
      {"min.NaN.f32 %f0, %f1, %f2", nan32, f(2), 0, 0x7fffffff},
      {"mov.f32 %f0, 0f40490FDB", 0, 0, 0, 0x40490fdb},
      {"mov.f64 %d0, 0d400921FB54442D18", 0, 0, 0, 0x400921fb54442d18},
  });
}

TEST(PtxScalar, Conversions) {
  check({
      {"cvt.s64.s32 %rd0, %r1", m1, 0, 0, ~0ull},
      {"cvt.u64.u32 %rd0, %r1", m1, 0, 0, 0xffffffff},
      {"cvt.s32.s8 %r0, %r1", 0x1280, 0, 0, 0xffffff80},
      {"cvt.u16.u32 %h0, %r1", 0x12345, 0, 0, 0x2345},
      {"cvt.rn.f32.s32 %f0, %r1", m1, 0, 0, f(-1)},
      {"cvt.rn.f32.u32 %f0, %r1", m1, 0, 0, f(4294967296.0f)},
      {"cvt.rz.f32.u32 %f0, %r1", m1, 0, 0, f(4294967040.0f)},
      {"cvt.rn.f64.s64 %d0, %rd1", ~4ull, 0, 0, d(-5)},
      {"cvt.rn.f32.f64 %f0, %d1", d(1 + 0x1p-24), 0, 0, f(1)},
      {"cvt.rp.f32.f64 %f0, %d1", d(1 + 0x1p-24), 0, 0, f(1 + 0x1p-23f)},
      {"cvt.f64.f32 %d0, %f1", f(0.1f), 0, 0, d(0.1f)},
      {"cvt.rni.s32.f32 %r0, %f1", f(2.5f), 0, 0, 2},
      {"cvt.rni.s32.f32 %r0, %f1", f(3.5f), 0, 0, 4},
      {"cvt.rzi.s32.f32 %r0, %f1", f(-2.7f), 0, 0, m1 - 1},
      {"cvt.rmi.s32.f32 %r0, %f1", f(-2.1f), 0, 0, m1 - 2},
      {"cvt.rpi.f32.f32 %f0, %f1", f(2.1f), 0, 0, f(3)},
      {"cvt.rzi.u32.f32 %r0, %f1", f(-1), 0, 0, 0},
      {"cvt.rzi.s32.f32 %r0, %f1", f(1e10f), 0, 0, 0x7fffffff},
      {"cvt.rzi.s32.f32 %r0, %f1", nan32, 0, 0, 0},
      {"cvt.rzi.s32.f64 %r0, %d1", d(NAN), 0, 0, 1u << 31},
      {"cvt.rzi.s64.f64 %rd0, %d1", d(NAN), 0, 0, 1ull << 63},
      {"cvt.rzi.u64.f64 %rd0, %d1", d(1e19), 0, 0, 10000000000000000000ull},
      {"cvt.sat.f32.f32 %f0, %f1", f(2), 0, 0, f(1)},
      {"cvt.ftz.f32.f32 %f0, %f1", tiny, 0, 0, 0},
      {"cvt.rn.bf16.f32 %h0, %f1", 0x3f808000, 0, 0, 0x3f80},
      {"cvt.rn.bf16.f32 %h0, %f1", 0x3f818000, 0, 0, 0x3f82},
      {"cvt.rn.bf16.f32 %h0, %f1", 0x00018000, 0, 0, 0x0002},
      {"cvt.rz.bf16.f32 %h0, %f1", 0x3f81ffff, 0, 0, 0x3f81},
      {"cvt.rn.bf16.f32 %h0, %f1", 0x7f800001, 0, 0, 0x7fff},
      {"cvt.rz.bf16.f32 %h0, %f1", 0x7f7fffff, 0, 0, 0x7f7f},
      {"cvt.rz.f16.f32 %h0, %f1", f(-65535), 0, 0, 0xfbff},
      {"cvt.rz.f16x2.f32 %r0, %f1, %f2", f(1 + 0x1.8p-11f), f(1), 0,
       0x3c003c00},
      {"cvt.rn.relu.bf16.f32 %h0, %f1", f(-1), 0, 0, 0},
      {"cvt.rn.bf16x2.f32 %r0, %f1, %f2", f(1), f(2), 0, 0x3f804000},
      {"cvt.rn.f16x2.f32 %r0, %f1, %f2", f(1), f(2), 0, 0x3c004000},
      {"cvt.f32.bf16 %f0, %h1", 0x3f80, 0, 0, f(1)},
      {"cvt.f32.f16 %f0, %h1", 0x3c01, 0, 0, f(1 + 0x1p-10f)},
      {"cvt.rn.f16.f32 %h0, %f1", f(1e6f), 0, 0, 0x7c00},
      {"cvt.rna.tf32.f32 %r0, %f1", 0x3f801000, 0, 0, 0x3f802000},
      {"cvt.rn.f16.s16 %h0, %h1", 3, 0, 0, 0x4200},
      {"cvt.rn.bf16.u32 %h0, %r1", 0x1010000, 0, 0, 0x4b80},
      {"cvt.rn.bf16.u32 %h0, %r1", 0x1010001, 0, 0, 0x4b81},
      {"cvt.rn.f16.f64 %h0, %d1", d(1 + 0x1p-11), 0, 0, 0x3c00},
      {"cvt.rn.f16.f64 %h0, %d1", d(1 + 0x1p-11 + 0x1p-50), 0, 0, 0x3c01},
  });
}

} // namespace
