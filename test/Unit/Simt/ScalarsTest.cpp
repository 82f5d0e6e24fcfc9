//===- ScalarsTest.cpp - scalar intrinsics --------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel calls every scalar intrinsic once or more; operands and expected
// results are bits, worked out by hand.
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include "runtime/Devices/Simt/SmallFloats.h"

#include <cmath>
#include <limits>
#include <map>

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

using Bits = std::uint64_t;

Bits f(float x) { return bitsOf(x); }
Bits d(double x) {
  Bits bits;
  std::memcpy(&bits, &x, 8);
  return bits;
}
Bits i(std::int64_t x) { return static_cast<Bits>(x); }
const float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();
const float kTiny = 0x1p-140f; // A denormal.
const float kUlp = 0x1p-23f;

struct Case {
  const char *name;
  /// The result's type and the operands': f float, d double, h half, b bfloat,
  /// s i16, i i32, l i64.
  const char *types;
  std::vector<Bits> operands;
  Bits expected;
};

/// In units of the last place of a float: approximate functions.
struct Near {
  const char *name;
  float operand;
  double expected;
};

const char *typeName(char c) {
  switch (c) {
  case 'f':
    return "float";
  case 'd':
    return "double";
  case 'h':
    return "half";
  case 'b':
    return "bfloat";
  case 's':
    return "i16";
  case 'i':
    return "i32";
  default:
    return "i64";
  }
}

/// Operands from in, 8 bytes each, results to out, 8 bytes each.
std::vector<Bits> evaluate(const std::vector<Case> &cases) {
  std::map<std::string, std::string> declarations;
  std::string body;
  std::vector<Bits> operands;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const Case &one = cases[c];
    std::string id = std::to_string(c), types, values;
    for (std::size_t a = 0; a < one.operands.size(); ++a) {
      std::string type = typeName(one.types[a + 1]);
      std::string name = "%v" + id + "." + std::to_string(a);
      body += "  %p" + name.substr(1) +
              " = getelementptr i64, ptr addrspace(1) %in, i64 " +
              std::to_string(operands.size()) + "\n  " + name + " = load " +
              type + ", ptr addrspace(1) %p" + name.substr(1) + "\n";
      types += (a ? ", " : "") + type;
      values += (a ? ", " : "") + type + " " + name;
      operands.push_back(one.operands[a]);
    }
    std::string function = std::string(one.name).rfind("llvm.", 0) == 0
                               ? one.name
                               : std::string("llvm.nvvm.") + one.name;
    std::string result = typeName(one.types[0]);
    declarations[function] =
        "declare " + result + " @" + function + "(" + types + ")\n";
    body += "  %r" + id + " = call " + result + " @" + function + "(" + values +
            ")\n  %q" + id +
            " = getelementptr i64, ptr addrspace(1) %out, i64 " + id +
            "\n  store " + result + " %r" + id + ", ptr addrspace(1) %q" + id +
            "\n";
  }
  std::string ir = "target triple = \"nvptx64-nvidia-cuda\"\n";
  for (const auto &[name, text] : declarations)
    ir += text;
  auto program = load(ir +
                      "define ptx_kernel void @k(ptr addrspace(1) %in, "
                      "ptr addrspace(1) %out) {\n" +
                      body + "  ret void\n}\n");
  if (!program)
    return {};
  Buffer<Bits> in(operands), out(std::vector<Bits>(cases.size(), 0));
  Outcome outcome = launch(*program, "k", sizes(1, 1), in.data(), out.data());
  EXPECT_TRUE(outcome.ok) << outcome.text;
  return out.values();
}

void expectExact(const std::vector<Case> &cases) {
  std::vector<Bits> got = evaluate(cases);
  ASSERT_EQ(got.size(), cases.size());
  for (std::size_t c = 0; c < cases.size(); ++c) {
    char type = cases[c].types[0];
    Bits mask = type == 'i' || type == 'f'   ? 0xffffffff
                : type == 'd' || type == 'l' ? ~Bits(0)
                                             : 0xffff;
    EXPECT_EQ(got[c], cases[c].expected & mask)
        << cases[c].name << " of " << cases[c].operands[0];
  }
}

TEST(Scalars, ArithmeticOfFloatsInAllRoundings) {
  // 1 + 2^-24 is a tie, and above it anything is nearer to 1 + 2^-23.
  std::vector<Case> cases;
  struct Rounding {
    const char *name;
    float tie, negativeTie;
  };
  for (Rounding r : {Rounding{"rn", 1, -1},
                     {"rz", 1, -1},
                     {"rm", 1, -1 - kUlp},
                     {"rp", 1 + kUlp, -1}}) {
    static std::vector<std::string> names;
    names.reserve(256);
    auto name = [&](std::string operation, const char *suffix) {
      names.push_back(operation + "." + r.name + suffix);
      return names.back().c_str();
    };
    std::string rounding = r.name;
    bool up = rounding == "rp", down = rounding == "rm";
    for (const char *suffix : {".f", ".ftz.f"}) {
      bool flushes = suffix[1] == 'f' && suffix[2] == 't';
      cases.push_back(
          {name("add", suffix), "fff", {f(1), f(0x1p-24f)}, f(r.tie)});
      cases.push_back({name("add", suffix),
                       "fff",
                       {f(-1), f(-0x1p-24f)},
                       f(r.negativeTie)});
      cases.push_back({name("add", suffix),
                       "fff",
                       {f(kTiny), f(kTiny)},
                       f(flushes ? 0 : 2 * kTiny)});
      cases.push_back({name("mul", suffix),
                       "fff",
                       {f(1 + 0x1p-12f), f(1 + 0x1p-12f)},
                       f(1 + 0x1p-11f + (up ? kUlp : 0))});
      cases.push_back({name("fma", suffix),
                       "ffff",
                       {f(1 + 0x1p-12f), f(1 + 0x1p-12f), f(-1)},
                       f(0x1p-11f + 0x1p-24f)});
      cases.push_back(
          {name("fma", suffix), "ffff", {f(1), f(0x1p-24f), f(1)}, f(r.tie)});
      // 1 / 3 = 0x3eaaaaaa.aaaa..., which the nearest is above.
      Bits third = rounding == "rn" || up ? 0x3eaaaaab : 0x3eaaaaaa;
      cases.push_back({name("div", suffix), "fff", {f(1), f(3)}, third});
      cases.push_back({name("div", suffix), "fff", {f(6), f(-2)}, f(-3)});
      cases.push_back({name("rcp", suffix), "ff", {f(3)}, third});
      // sqrt(2) = 0x3fb504f3.33f..., which the nearest is below.
      cases.push_back({name("sqrt", suffix),
                       "ff",
                       {f(2)},
                       Bits(up ? 0x3fb504f4 : 0x3fb504f3)});
      cases.push_back({name("sqrt", suffix), "ff", {f(9)}, f(3)});
      cases.push_back(
          {name("add", suffix), "fff", {f(5), f(-5)}, f(down ? -0.0f : 0.0f)});
    }
    // The largest float times two.
    cases.push_back({name("mul", ".f"),
                     "fff",
                     {f(0x1.fffffep127f), f(2)},
                     f(rounding == "rz" || down ? 0x1.fffffep127f : kInf)});
  }
  expectExact(cases);
}

TEST(Scalars, OtherArithmeticOfFloats) {
  expectExact({
      {"sqrt.f", "ff", {f(2)}, 0x3fb504f3},
      {"add.rn.sat.f", "fff", {f(0.75f), f(0.5f)}, f(1)},
      {"add.rn.sat.f", "fff", {f(-0.75f), f(0.5f)}, f(0)},
      {"add.rn.ftz.sat.f", "fff", {f(kTiny), f(0.5f)}, f(0.5f)},
      {"fma.rn.sat.f", "ffff", {f(2), f(3), f(4)}, f(1)},
      {"fma.rn.ftz.sat.f", "ffff", {f(2), f(0.125f), f(0)}, f(0.25f)},
      {"saturate.f", "ff", {f(-3)}, f(0)},
      {"saturate.f", "ff", {f(kNaN)}, f(0)},
      {"saturate.ftz.f", "ff", {f(0.5f)}, f(0.5f)},
      {"div.approx.f", "fff", {f(6), f(3)}, f(2)},
      {"div.approx.ftz.f", "fff", {f(kTiny), f(3)}, f(0)},
      {"div.full", "fff", {f(6), f(3)}, f(2)},
      {"div.full.ftz", "fff", {f(6), f(3)}, f(2)},
      {"fabs.f32", "ff", {f(-2)}, f(2)},
      {"fabs.ftz.f32", "ff", {f(-kTiny)}, f(0)},
      {"floor.f", "ff", {f(-1.5f)}, f(-2)},
      {"ceil.f", "ff", {f(-1.5f)}, f(-1)},
      {"trunc.f", "ff", {f(-1.5f)}, f(-1)},
      {"round.f", "ff", {f(2.5f)}, f(2)},
      {"floor.ftz.f", "ff", {f(-kTiny)}, f(-0.0f)},
      {"ceil.ftz.f", "ff", {f(1.5f)}, f(2)},
      {"trunc.ftz.f", "ff", {f(1.5f)}, f(1)},
      {"round.ftz.f", "ff", {f(3.5f)}, f(4)},
      {"fmin.f", "fff", {f(0), f(-0.0f)}, f(-0.0f)},
      {"fmin.f", "fff", {f(kNaN), f(3)}, f(3)},
      {"fmin.ftz.f", "fff", {f(kTiny), f(3)}, f(0)},
      {"fmin.nan.f", "fff", {f(kNaN), f(3)}, 0x7fffffff},
      {"fmin.ftz.nan.f", "fff", {f(2), f(3)}, f(2)},
      {"fmax.f", "fff", {f(-0.0f), f(0)}, f(0)},
      {"fmax.f", "fff", {f(2), f(kNaN)}, f(2)},
      {"fmax.ftz.f", "fff", {f(-kTiny), f(-3)}, f(-0.0f)},
      {"fmax.nan.f", "fff", {f(2), f(kNaN)}, 0x7fffffff},
      {"fmax.ftz.nan.f", "fff", {f(2), f(3)}, f(3)},
      {"llvm.minnum.f32", "fff", {f(0), f(-0.0f)}, f(-0.0f)},
      {"llvm.maxnum.f32", "fff", {f(kNaN), f(1)}, f(1)},
      {"llvm.sqrt.f32", "ff", {f(2)}, 0x3fb504f3},
      {"llvm.fma.f32", "ffff", {f(2), f(3), f(4)}, f(10)},
  });
}

TEST(Scalars, ApproximateFunctionsAreNear) {
  std::vector<Near> near = {
      {"rcp.approx.ftz.f", 3, 1.0 / 3},
      {"rsqrt.approx.f", 2, std::sqrt(0.5)},
      {"rsqrt.approx.ftz.f", 3, 1 / std::sqrt(3.0)},
      {"sqrt.approx.f", 2, std::sqrt(2.0)},
      {"sqrt.approx.ftz.f", 2, std::sqrt(2.0)},
      {"lg2.approx.f", 10, std::log2(10.0)},
      {"lg2.approx.ftz.f", 10, std::log2(10.0)},
      {"ex2.approx.f32", 1.5f, std::exp2(1.5)},
      {"ex2.approx.ftz.f32", 1.5f, std::exp2(1.5)},
      {"sin.approx.f", 1, std::sin(1.0)},
      {"sin.approx.ftz.f", 1, std::sin(1.0)},
      {"cos.approx.f", 1, std::cos(1.0)},
      {"cos.approx.ftz.f", 1, std::cos(1.0)},
      {"tanh.approx.f32", 1, std::tanh(1.0)},
  };
  std::vector<Case> cases;
  for (const Near &one : near)
    cases.push_back({one.name, "ff", {f(one.operand)}, 0});
  std::vector<Bits> got = evaluate(cases);
  ASSERT_EQ(got.size(), near.size());
  for (std::size_t c = 0; c < near.size(); ++c)
    EXPECT_NEAR(floatOf(got[c]), near[c].expected,
                1e-7 * std::fabs(near[c].expected))
        << near[c].name;
}

TEST(Scalars, Doubles) {
  expectExact({
      {"add.rn.d", "ddd", {d(1), d(2)}, d(3)},
      {"mul.rn.d", "ddd", {d(3), d(2)}, d(6)},
      {"div.rn.d", "ddd", {d(1), d(4)}, d(0.25)},
      {"fma.rn.d", "dddd", {d(2), d(3), d(4)}, d(10)},
      {"rcp.rn.d", "dd", {d(8)}, d(0.125)},
      {"rcp.approx.ftz.d", "dd", {d(8)}, d(0.125)},
      {"sqrt.rn.d", "dd", {d(9)}, d(3)},
      {"rsqrt.approx.d", "dd", {d(4)}, d(0.5)},
      {"rsqrt.approx.ftz.d", "dd", {d(4)}, d(0.5)},
      {"lg2.approx.d", "dd", {d(8)}, d(3)},
      {"floor.d", "dd", {d(-1.5)}, d(-2)},
      {"ceil.d", "dd", {d(-1.5)}, d(-1)},
      {"trunc.d", "dd", {d(-1.5)}, d(-1)},
      {"round.d", "dd", {d(0.5)}, d(0)},
      {"saturate.d", "dd", {d(7)}, d(1)},
      {"fabs.f64", "dd", {d(-7)}, d(7)},
      {"fmin.d", "ddd", {d(0), d(-0.0)}, d(-0.0)},
      {"fmax.d", "ddd", {d(-0.0), d(0)}, d(0)},
      {"llvm.minnum.f64", "ddd", {d(NAN), d(1)}, d(1)},
      {"llvm.maxnum.f64", "ddd", {d(2), d(1)}, d(2)},
  });
}

TEST(Scalars, ConversionsSaturate) {
  const std::int64_t least32 = std::numeric_limits<std::int32_t>::min(),
                     most32 = std::numeric_limits<std::int32_t>::max(),
                     least64 = std::numeric_limits<std::int64_t>::min(),
                     most64 = std::numeric_limits<std::int64_t>::max();
  std::vector<Case> cases = {
      {"f2i.rn", "if", {f(3e9f)}, i(most32)},
      {"f2i.rn", "if", {f(-kInf)}, i(least32)},
      {"f2i.rn", "if", {f(kNaN)}, 0},
      {"d2i.rn", "id", {d(kNaN)}, 1u << 31},
      {"d2ui.rz", "id", {d(kNaN)}, 1u << 31},
      {"f2ui.rn", "if", {f(-1)}, 0},
      {"f2ui.rn", "if", {f(1e10f)}, 0xffffffff},
      {"f2ll.rn", "lf", {f(kNaN)}, i(least64)},
      {"f2ll.rn", "lf", {f(1e20f)}, i(most64)},
      {"f2ull.rn", "lf", {f(kNaN)}, Bits(1) << 63},
      {"f2ull.rn", "lf", {f(1e20f)}, ~Bits(0)},
      {"d2i.rn", "id", {d(1e300)}, i(most32)},
      {"d2ll.rn", "ld", {d(-1e300)}, i(least64)},
      {"d2f.rn", "fd", {d(1 + 0x1p-25)}, f(1)},
      {"d2f.rp", "fd", {d(1 + 0x1p-25)}, f(1 + kUlp)},
      {"d2f.rz", "fd", {d(-1 - 0x1p-25)}, f(-1)},
      {"d2f.rm", "fd", {d(-1 - 0x1p-25)}, f(-1 - kUlp)},
      {"d2f.rn.ftz", "fd", {d(0x1p-140)}, f(0)},
      {"d2f.rz.ftz", "fd", {d(1.5)}, f(1.5f)},
      {"d2f.rm.ftz", "fd", {d(1.5)}, f(1.5f)},
      {"d2f.rp.ftz", "fd", {d(1.5)}, f(1.5f)},
      {"i2f.rn", "fi", {i(16777217)}, f(16777216)},
      {"i2f.rz", "fi", {i(-16777217)}, f(-16777216)},
      {"i2f.rm", "fi", {i(-16777217)}, f(-16777218)},
      {"i2f.rp", "fi", {i(16777217)}, f(16777218)},
      {"ui2f.rn", "fi", {i(0xffffffff)}, f(4294967296.0f)},
      {"ui2f.rz", "fi", {i(0xffffffff)}, f(0x1.fffffep31f)},
      {"ui2f.rm", "fi", {i(16777217)}, f(16777216)},
      {"ui2f.rp", "fi", {i(16777217)}, f(16777218)},
      {"ll2f.rn", "fl", {i(-5)}, f(-5)},
      {"ull2f.rn", "fl", {~Bits(0)}, f(0x1p64f)},
      {"ll2d.rn", "dl", {i(-5)}, d(-5)},
      {"ull2d.rn", "dl", {i(5)}, d(5)},
  };
  static std::vector<std::string> names;
  names.reserve(256);
  struct Mode {
    const char *name;
    int half, negative; ///< Of 2.5 and of -2.5.
  };
  for (Mode mode :
       {Mode{"rn", 2, -2}, {"rz", 2, -2}, {"rm", 2, -3}, {"rp", 3, -2}}) {
    auto name = [&](std::string start, std::string end) {
      names.push_back(start + mode.name + end);
      return names.back().c_str();
    };
    for (const char *end : {"", ".ftz"}) {
      cases.push_back({name("f2i.", end), "if", {f(2.5f)}, i(mode.half)});
      cases.push_back({name("f2i.", end), "if", {f(-2.5f)}, i(mode.negative)});
      cases.push_back({name("f2ui.", end), "if", {f(2.5f)}, i(mode.half)});
      cases.push_back({name("f2ll.", end), "lf", {f(-2.5f)}, i(mode.negative)});
      cases.push_back({name("f2ull.", end), "lf", {f(2.5f)}, i(mode.half)});
    }
    cases.push_back({name("d2i.", ""), "id", {d(-2.5)}, i(mode.negative)});
    cases.push_back({name("d2ui.", ""), "id", {d(2.5)}, i(mode.half)});
    cases.push_back({name("d2ll.", ""), "ld", {d(-2.5)}, i(mode.negative)});
    cases.push_back({name("d2ull.", ""), "ld", {d(2.5)}, i(mode.half)});
    cases.push_back({name("i2d.", ""), "di", {i(-7)}, d(-7)});
    cases.push_back({name("ui2d.", ""), "di", {i(7)}, d(7)});
  }
  expectExact(cases);
}

TEST(Scalars, SmallFloats) {
  expectExact({
      // 1 + 2^-8 is a tie between 1 and the next bfloat, 1 + 2^-7.
      {"f2bf16.rn", "bf", {f(1 + 0x1p-8f)}, 0x3f80},
      {"f2bf16.rn", "bf", {f(1 + 3 * 0x1p-8f)}, 0x3f82},
      {"f2bf16.rn", "bf", {f(kNaN)}, 0x7fff},
      {"f2bf16.rn", "bf", {1}, 0},
      {"f2bf16.rn", "bf", {0x18000}, 2}, // A denormal of it, rounded.
      {"f2bf16.rz", "bf", {f(1 + 3 * 0x1p-8f)}, 0x3f81},
      {"f2bf16.rn.relu", "bf", {f(-2)}, 0},
      {"f2bf16.rz.relu", "bf", {f(2)}, 0x4000},
      {"f2h.rn", "sf", {f(65504)}, 0x7bff},
      {"f2h.rn", "sf", {f(65520)}, 0x7c00},
      {"f2h.rn", "sf", {f(0x1p-24f)}, 1},
      {"f2h.rn", "sf", {f(0x1p-25f)}, 0},
      {"f2h.rn", "sf", {f(-1.5f)}, 0xbe00},
      {"f2tf32.rna", "if", {f(1 + 0x1p-11f)}, f(1 + 0x1p-10f)},
      {"f2tf32.rn", "if", {f(1 + 0x1p-11f)}, f(1)},
      {"f2tf32.rz", "if", {f(-1 - 0x1.fp-11f)}, f(-1)},
  });
}

TEST(Scalars, PairsHaveTheSecondOperandBelow) {
  auto program = load(R"(target triple = "nvptx64-nvidia-cuda"
declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float, float)
declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rz(float, float)
declare <2 x half> @llvm.nvvm.ff2f16x2.rn(float, float)
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %a = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float 1.0, float 2.0)
  store <2 x bfloat> %a, ptr addrspace(1) %out
  %q = getelementptr i32, ptr addrspace(1) %out, i64 1
  %b = call <2 x half> @llvm.nvvm.ff2f16x2.rn(float 1.0, float 2.0)
  store <2 x half> %b, ptr addrspace(1) %q
  %r = getelementptr i32, ptr addrspace(1) %out, i64 2
  %c = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rz(float 1.0, float 2.0)
  store <2 x bfloat> %c, ptr addrspace(1) %r
  ret void
})");
  Buffer<std::uint32_t> out(3);
  ASSERT_TRUE(launch(*program, "k", sizes(1, 1), out.data()).ok);
  EXPECT_EQ(out[0], 0x3f804000u);
  EXPECT_EQ(out[1], 0x3c004000u);
  EXPECT_EQ(out[2], 0x3f804000u);
}

TEST(Scalars, PlainConversionsOfSmallFloatsAreExact) {
  auto program = load(R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %f = load float, ptr addrspace(1) %in
  %b = fptrunc float %f to bfloat
  %h = fptrunc float %f to half
  store bfloat %b, ptr addrspace(1) %out
  %q = getelementptr i16, ptr addrspace(1) %out, i64 1
  store half %h, ptr addrspace(1) %q
  %d = fpext float %f to double
  %e = fmul double %d, 1.0
  %b2 = fptrunc double %e to bfloat
  %r = getelementptr i16, ptr addrspace(1) %out, i64 2
  store bfloat %b2, ptr addrspace(1) %r
  %h2 = fptrunc double %e to half
  %s = getelementptr i16, ptr addrspace(1) %out, i64 3
  store half %h2, ptr addrspace(1) %s
  %back = fpext half %h to float
  store float %back, ptr addrspace(1) %in
  ret void
})");
  struct {
    float value;
    std::uint16_t brain, half;
  } cases[] = {{1.5f, 0x3fc0, 0x3e00},
               {0x1p-130f, 0x0008, 0},
               {0x1.8p-24f, 0x33c0, 2},
               {-0x1p-14f, 0xb880, 0x8400}};
  for (auto one : cases) {
    Buffer<float> in(std::vector<float>{one.value});
    Buffer<std::uint16_t> out(4);
    ASSERT_TRUE(launch(*program, "k", sizes(1, 1), in.data(), out.data()).ok);
    EXPECT_EQ(out.values(), (std::vector<std::uint16_t>{one.brain, one.half,
                                                        one.brain, one.half}))
        << one.value;
    EXPECT_EQ(in[0], halfToFloat(one.half));
  }
}

TEST(Scalars, FloatsToIntegersSaturateWithoutAnIntrinsic) {
  std::vector<std::uint32_t> got = runPerThread(
      perThread("", R"(  %f = bitcast i32 %x to float
  %r = fptosi float %f to i32)"),
      {static_cast<std::uint32_t>(f(3e9f)), static_cast<std::uint32_t>(f(kNaN)),
       static_cast<std::uint32_t>(f(-2.75f))});
  EXPECT_EQ(got, (std::vector<std::uint32_t>{0x7fffffff, 0,
                                             static_cast<std::uint32_t>(-2)}));
}

/// Not-a-number is what cvt makes of it, which differs by the types' sizes.
TEST(Scalars, NotANumberToIntegersWithoutAnIntrinsic) {
  auto convert = [](const char *conversion) {
    return runPerThread(
        perThread("", std::string("  %f = bitcast i32 %x to float\n"
                                  "  %d = fpext float %f to double\n") +
                          conversion),
        {static_cast<std::uint32_t>(f(kNaN))})[0];
  };
  EXPECT_EQ(convert("  %r = fptosi float %f to i32"), 0u);
  EXPECT_EQ(convert("  %r = fptosi double %d to i32"), 1u << 31);
  EXPECT_EQ(convert("  %r = fptoui double %d to i32"), 1u << 31);
  EXPECT_EQ(convert("  %l = fptosi float %f to i64\n"
                    "  %h = lshr i64 %l, 32\n  %r = trunc i64 %h to i32"),
            1u << 31);
}

TEST(Scalars, Integers) {
  expectExact({
      {"d2i.hi", "id", {0x123456789abcdef0}, 0x12345678},
      {"d2i.lo", "id", {0x123456789abcdef0}, 0x9abcdef0},
      {"lohi.i2d", "dii", {0x9abcdef0, 0x12345678}, 0x123456789abcdef0},
      {"mulhi.i", "iii", {i(-2), i(3)}, i(-1)},
      {"mulhi.ui", "iii", {0xffffffff, 0xffffffff}, 0xfffffffe},
      {"mulhi.ll", "lll", {i(-2), i(3)}, i(-1)},
      {"mulhi.ull", "lll", {~Bits(0), ~Bits(0)}, ~Bits(1)},
      {"mul24.i", "iii", {0xffffff, 5}, i(-5)},
      {"mul24.ui", "iii", {0x1000002, 5}, 10},
      {"sad.i", "iiii", {i(-3), 4, 10}, 17},
      {"sad.ui", "iiii", {3, 8, 10}, 15},
      {"prmt", "iiii", {0x03020100, 0x07060504, 0x7531}, 0x07050301},
      {"prmt", "iiii", {0x80, 0, 0x8888}, 0xffffffff},
      {"llvm.ctpop.i32", "ii", {0xff00}, 8},
  });
}

} // namespace
