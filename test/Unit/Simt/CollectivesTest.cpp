//===- CollectivesTest.cpp - shuffles, votes, matches, reductions ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include <functional>
#include <numeric>

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

using Words = std::vector<std::uint32_t>;

Words lanes() {
  Words values(32);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

Words each(std::function<std::uint32_t(unsigned)> value) {
  Words values(32);
  for (unsigned i = 0; i < 32; ++i)
    values[i] = value(i);
  return values;
}

/// Every lane gives 100 + its number.
Words shuffle(const std::string &mode, int b, int c) {
  return runPerThread(
      perThread("declare i32 @llvm.nvvm.shfl.sync." + mode +
                    ".i32(i32, i32, i32, i32)",
                "%v = add i32 %x, 100\n%r = call i32 @llvm.nvvm.shfl.sync." +
                    mode + ".i32(i32 -1, i32 %v, i32 " + std::to_string(b) +
                    ", i32 " + std::to_string(c) + ")"),
      lanes());
}

TEST(Shuffle, Butterfly) {
  EXPECT_EQ(shuffle("bfly", 16, 31),
            each([](unsigned l) { return 100 + (l ^ 16); }));
  EXPECT_EQ(shuffle("bfly", 1, 31),
            each([](unsigned l) { return 100 + (l ^ 1); }));
}

TEST(Shuffle, DownStopsAtTheEndOfItsSegment) {
  EXPECT_EQ(shuffle("down", 4, 31),
            each([](unsigned l) { return 100 + (l + 4 < 32 ? l + 4 : l); }));
  // Segments of 8: the mask 24 in bits 8 to 12, the clamp 7 below.
  EXPECT_EQ(shuffle("down", 3, 24 << 8 | 7),
            each([](unsigned l) { return 100 + (l % 8 + 3 < 8 ? l + 3 : l); }));
}

TEST(Shuffle, UpStopsAtTheBeginningOfItsSegment) {
  EXPECT_EQ(shuffle("up", 4, 0),
            each([](unsigned l) { return 100 + (l >= 4 ? l - 4 : l); }));
  EXPECT_EQ(shuffle("up", 3, 24 << 8),
            each([](unsigned l) { return 100 + (l % 8 >= 3 ? l - 3 : l); }));
}

TEST(Shuffle, Index) {
  EXPECT_EQ(shuffle("idx", 5, 31), each([](unsigned) { return 105u; }));
  EXPECT_EQ(shuffle("idx", 2, 28 << 8 | 3),
            each([](unsigned l) { return 100 + l / 4 * 4 + 2; }));
}

TEST(Shuffle, SaysWhetherTheSourceIsInRange) {
  for (const char *mode : {"bfly", "down", "up", "idx"}) {
    std::string name = std::string("@llvm.nvvm.shfl.sync.") + mode + ".i32p";
    // Up clamps at 0, the others at 15: the upper lanes of down, index and
    // butterfly are out of range.
    bool up = mode == std::string("up");
    Words got = runPerThread(
        perThread("declare {i32, i1} " + name + "(i32, i32, i32, i32)",
                  "%s = call {i32, i1} " + name + "(i32 -1, i32 %x, i32 " +
                      (up ? "20" : "8") + ", i32 " + (up ? "0" : "15") +
                      R"()
  %v = extractvalue {i32, i1} %s, 0
  %p = extractvalue {i32, i1} %s, 1
  %p32 = zext i1 %p to i32
  %hi = shl i32 %p32, 8
  %r = or i32 %hi, %v)"),
        lanes());
    Words expected = each([&](unsigned l) -> std::uint32_t {
      unsigned source = up                            ? l - 20
                        : mode == std::string("bfly") ? l ^ 8
                        : mode == std::string("down") ? l + 8
                                                      : 8;
      bool in = up ? l >= 20 : source <= 15;
      return (in ? 256 : 0) | (in ? source : l);
    });
    EXPECT_EQ(got, expected) << mode;
  }
}

TEST(Shuffle, Floats) {
  for (const char *mode : {"bfly", "down", "up", "idx"}) {
    std::string name = std::string("@llvm.nvvm.shfl.sync.") + mode + ".f32";
    Words got = runPerThread(
        perThread("declare float " + name +
                      "(i32, float, i32, i32)\ndeclare {float, i1} " + name +
                      "p(i32, float, i32, i32)",
                  "%f = uitofp i32 %x to float\n%g = call float " + name +
                      "(i32 -1, float %f, i32 0, i32 " +
                      (mode == std::string("up") ? "0" : "31") +
                      ")\n%s = call {float, i1} " + name +
                      "p(i32 -1, float %g, i32 0, i32 " +
                      (mode == std::string("up") ? "0" : "31") +
                      R"()
  %h = extractvalue {float, i1} %s, 0
  %r = fptoui float %h to i32)"),
        lanes());
    Words expected = mode == std::string("idx") ? Words(32, 0) : lanes();
    EXPECT_EQ(got, expected) << mode;
  }
}

TEST(Shuffle, OfPartOfAWarp) {
  // Lanes below 8 shuffle among themselves; the others do not take part.
  Words got = runPerThread(
      perThread("declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)",
                R"(  %low = icmp ult i32 %x, 8
  br i1 %low, label %then, label %join
then:
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 255, i32 %x, i32 4, i32 31)
  br label %join
join:
  %r = phi i32 [%s, %then], [77, %0])"),
      lanes());
  EXPECT_EQ(got, each([](unsigned l) { return l < 8 ? l ^ 4 : 77; }));
}

Words vote(const std::string &mode, const std::string &condition) {
  bool ballot = mode == "ballot";
  std::string type = ballot ? "i32" : "i1";
  return runPerThread(
      perThread("declare " + type + " @llvm.nvvm.vote." + mode +
                    ".sync(i32, i1)",
                "%c = icmp " + condition + "\n%v = call " + type +
                    " @llvm.nvvm.vote." + mode + ".sync(i32 -1, i1 %c)\n" +
                    (ballot ? "%r = add i32 %v, 0" : "%r = zext i1 %v to i32")),
      lanes());
}

TEST(Vote, AllAnyUniformBallot) {
  EXPECT_EQ(vote("all", "ult i32 %x, 32"), Words(32, 1));
  EXPECT_EQ(vote("all", "ult i32 %x, 31"), Words(32, 0));
  EXPECT_EQ(vote("any", "eq i32 %x, 7"), Words(32, 1));
  EXPECT_EQ(vote("any", "ugt i32 %x, 99"), Words(32, 0));
  EXPECT_EQ(vote("uni", "ult i32 %x, 32"), Words(32, 1));
  EXPECT_EQ(vote("uni", "ugt i32 %x, 99"), Words(32, 1));
  EXPECT_EQ(vote("uni", "ult i32 %x, 5"), Words(32, 0));
  EXPECT_EQ(vote("ballot", "ult i32 %x, 5"), Words(32, 31));
}

TEST(Match, Any) {
  for (const char *type : {"i32", "i64"})
    EXPECT_EQ(runPerThread(
                  perThread(std::string("declare i32 @llvm.nvvm.match.any.") +
                                "sync." + type + "(i32, " + type + ")",
                            std::string("%m = urem i32 %x, 4\n") +
                                "%w = zext i32 %m to i64\n%b = shl i64 %w, 32\n"
                                "%t = trunc i64 %b to i32\n%o = or i32 %t, %m\n"
                                "%r = call i32 @llvm.nvvm.match.any.sync." +
                                type + "(i32 -1, " + type +
                                (type == std::string("i32") ? " %o)" : " %b)")),
                  lanes()),
              each([](unsigned l) { return 0x11111111u << (l % 4); }))
        << type;
}

TEST(Match, All) {
  for (const char *type : {"i32", "i64"})
    for (int shift : {0, 5}) {
      std::string body = "%s = lshr i32 %x, " + std::to_string(shift) +
                         "\n%w = zext i32 %s to i64\n%m = call {i32, i1} "
                         "@llvm.nvvm.match.all.sync." +
                         type + "p(i32 -1, " + type +
                         (type == std::string("i32") ? " %s)" : " %w)") +
                         R"(
  %v = extractvalue {i32, i1} %m, 0
  %p = extractvalue {i32, i1} %m, 1
  %p32 = zext i1 %p to i32
  %r = xor i32 %v, %p32)";
      Words got = runPerThread(perThread(std::string("declare {i32, i1} ") +
                                             "@llvm.nvvm.match.all.sync." +
                                             type + "p(i32, " + type + ")",
                                         body),
                               lanes());
      // All lanes have 0 after a shift by 5; the mask is all ones, then.
      EXPECT_EQ(got, Words(32, shift == 5 ? 0xfffffffe : 0)) << type;
    }
}

TEST(Reduce, AllOperations) {
  struct Case {
    const char *name;
    std::uint32_t expected;
  };
  // Values 10, 11, ..., 41 with the sign bit on lane 3's.
  Words values =
      each([](unsigned l) { return l == 3 ? 0x80000000u + 13 : 10 + l; });
  std::uint32_t sum = 0, all = ~0u, any = 0, odd = 0;
  for (std::uint32_t v : values) {
    sum += v;
    all &= v;
    any |= v;
    odd ^= v;
  }
  for (Case c : {Case{"add", sum},
                 {"umin", 10},
                 {"umax", 0x80000000u + 13},
                 {"min", 0x80000000u + 13},
                 {"max", 41},
                 {"and", all},
                 {"or", any},
                 {"xor", odd}})
    EXPECT_EQ(
        runPerThread(
            perThread(std::string("declare i32 @llvm.nvvm.redux.sync.") +
                          c.name + "(i32, i32)",
                      std::string("%r = call i32 @llvm.nvvm.redux.sync.") +
                          c.name + "(i32 %x, i32 -1)"),
            values),
        Words(32, c.expected))
        << c.name;
}

TEST(Elect, OneLaneIsIt) {
  Words got = runPerThread(
      perThread("declare {i32, i1} @llvm.nvvm.elect.sync(i32)",
                R"(  %e = call {i32, i1} @llvm.nvvm.elect.sync(i32 -1)
  %p = extractvalue {i32, i1} %e, 1
  %p32 = zext i1 %p to i32
  %v = extractvalue {i32, i1} %e, 0
  %s = shl i32 %p32, 8
  %r = or i32 %s, %v)"),
      lanes());
  unsigned leaders = 0;
  for (unsigned l = 0; l < 32; ++l) {
    EXPECT_EQ(got[l] & 255, got[0] & 255);
    if (got[l] & 256) {
      ++leaders;
      EXPECT_EQ(got[l] & 255, l);
    }
  }
  EXPECT_EQ(leaders, 1u);
}

TEST(ActiveMask, HoldsTheLane) {
  Words got = runPerThread(perThread("declare i32 @llvm.nvvm.activemask()",
                                     R"(
  %a = call i32 @llvm.nvvm.activemask()
  %s = lshr i32 %a, %x
  %r = and i32 %s, 1)"),
                           lanes());
  EXPECT_EQ(got, Words(32, 1));
}

TEST(WarpBarrier, OrdersSharedMemory) {
  Options options;
  options.check = true;
  Words got = runPerThread(
      perThread("@s = internal addrspace(3) global [32 x i32] undef\n"
                "declare void @llvm.nvvm.bar.warp.sync(i32)",
                R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %x
  store i32 %x, ptr addrspace(3) %p
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %y = xor i32 %x, 31
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %y
  %r = load i32, ptr addrspace(3) %q)"),
      lanes(), options);
  EXPECT_EQ(got, each([](unsigned l) { return 31 - l; }));
}

TEST(Registers, AreThoseOfTheLane) {
  std::string names[] = {"laneid",      "warpid",      "warpsize",
                         "ntid.x",      "lanemask.eq", "lanemask.lt",
                         "lanemask.le", "lanemask.gt", "lanemask.ge"};
  std::function<std::uint32_t(unsigned)> values[] = {
      [](unsigned t) { return t % 32; },
      [](unsigned t) { return t / 32; },
      [](unsigned) { return 32u; },
      [](unsigned) { return 64u; },
      [](unsigned t) { return 1u << t % 32; },
      [](unsigned t) { return (1u << t % 32) - 1; },
      [](unsigned t) { return (2ull << t % 32) - 1; },
      [](unsigned t) { return ~((2ull << t % 32) - 1); },
      [](unsigned t) { return ~((1ull << t % 32) - 1); }};
  for (unsigned i = 0; i < 9; ++i) {
    Words got = runPerThread(
        perThread("declare i32 @llvm.nvvm.read.ptx.sreg." + names[i] + "()",
                  "%r = call i32 @llvm.nvvm.read.ptx.sreg." + names[i] + "()"),
        Words(64));
    for (unsigned t = 0; t < 64; ++t)
      EXPECT_EQ(got[t], values[i](t)) << names[i] << " of thread " << t;
  }
}

} // namespace
