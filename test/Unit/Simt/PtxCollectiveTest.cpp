//===- PtxCollectiveTest.cpp - warps, barriers, copies in PTX -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// That the reader hands each instruction its operands in the right order; what
// the operations themselves do is the emulator's own test.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Simt/PtxTest.h"

#include <gtest/gtest.h>

using namespace steep::simt::test;

namespace {

/// Runs a warp that leaves its result in %r0.
std::vector<std::uint64_t> warp(const std::string &body,
                                const std::string &globals = "",
                                unsigned threads = 32, bool check = true) {
  PtxRun run = runText(kernelText(body + "\nmul.wide.u32 %rd0, %t, 8;\n"
                                         "add.s64 %rd0, %rd0, %out;\n"
                                         "st.global.u32 [%rd0], %r0;",
                                  globals),
                       {}, threads, threads, 0, check);
  EXPECT_EQ(run.error, "");
  return run.values;
}

void expectEach(const std::string &body,
                std::uint32_t (*expected)(std::uint32_t),
                const std::string &globals = "", unsigned threads = 32) {
  std::vector<std::uint64_t> wanted;
  for (std::uint32_t i = 0; i < threads; ++i)
    wanted.push_back(expected(i));
  EXPECT_EQ(warp(body, globals, threads), wanted) << body;
}

TEST(PtxCollective, Shuffles) {
  using U = std::uint32_t;
  expectEach("shfl.sync.bfly.b32 %r0, %t, 3, 31, -1;",
             [](U i) -> U { return i ^ 3; });
  expectEach("shfl.sync.down.b32 %r0, %t, 1, 0x1807, -1;",
             [](U i) -> U { return i % 8 == 7 ? i : i + 1; });
  expectEach("shfl.sync.up.b32 %r0|%p1, %t, 2, 0, -1;\n"
             "@!%p1 mov.u32 %r0, 99;",
             [](U i) -> U { return i < 2 ? 99 : i - 2; });
  expectEach("shfl.sync.idx.b32 %r0, %t, 5, 31, -1;", [](U) -> U { return 5; });
}

TEST(PtxCollective, Votes) {
  using U = std::uint32_t;
  std::string small = "setp.lt.u32 %p1, %t, 3;\n";
  expectEach(small + "vote.sync.ballot.b32 %r0, %p1, -1;",
             [](U) -> U { return 7; });
  expectEach(small + "vote.sync.any.pred %p2, !%p1, -1;\n"
                     "selp.u32 %r0, 1, 0, %p2;",
             [](U) -> U { return 1; });
  expectEach(small + "vote.sync.all.pred %p2, %p1, -1;\n"
                     "selp.u32 %r0, 1, 0, %p2;",
             [](U) -> U { return 0; });
  expectEach("and.b32 %r1, %t, 1;\nmatch.any.sync.b32 %r0, %r1, -1;",
             [](U i) -> U { return i % 2 ? 0xaaaaaaaa : 0x55555555; });
  expectEach("match.all.sync.b32 %r0|%p1, 7, -1;",
             [](U) -> U { return 0xffffffff; });
  expectEach("redux.sync.add.s32 %r0, %t, -1;", [](U) -> U { return 496; });
  expectEach("neg.s32 %r1, %t;\nredux.sync.min.s32 %r0, %r1, -1;",
             [](U) -> U { return -31; });
  expectEach("neg.s32 %r1, %t;\nredux.sync.max.u32 %r0, %r1, -1;",
             [](U) -> U { return 0xffffffff; });
  expectEach("redux.sync.or.b32 %r0, %t, -1;", [](U) -> U { return 31; });
  // Which others are there is up to the hardware.
  expectEach("activemask.b32 %r0;\nmov.u32 %r1, %lanemask_eq;\n"
             "and.b32 %r0, %r0, %r1;",
             [](U i) -> U { return 1u << i; });
  expectEach("elect.sync %r0|%p1, -1;\n@!%p1 mov.u32 %r0, 77;",
             [](U i) -> U { return i == 0 ? 0 : 77; });
}

TEST(PtxCollective, Barriers) {
  using U = std::uint32_t;
  std::string odd = "and.b32 %r1, %t, 1;\nsetp.ne.u32 %p1, %r1, 0;\n";
  expectEach(
      odd + "barrier.cta.red.popc.aligned.u32 %r0, 0, %p1;",
      [](U) -> U { return 32; }, "", 64);
  expectEach(
      odd + "bar.red.or.pred %p2, 1, 64, %p1;\n"
            "selp.u32 %r0, 1, 0, %p2;",
      [](U) -> U { return 1; }, "", 64);
  // The second warp waits for what the first one only says that it has done.
  expectEach(
      "setp.ge.u32 %p1, %t, 32;\nmov.u32 %r0, 0;\n"
      "setp.eq.u32 %p2, %t, 0;\n@%p1 bra W;\n"
      "@%p2 st.shared.u32 [s], 5;\nbar.arrive 1, 64;\nbra E;\n"
      "W: bar.sync 1, 64;\nld.shared.u32 %r0, [s];\nE:",
      [](U i) -> U { return i < 32 ? 0 : 5; }, ".shared .b32 s;\n", 64);
  expectEach("mov.u32 %r0, 1;\nbar.warp.sync -1;", [](U) -> U { return 1; });
}

TEST(PtxCollective, Atomics) {
  std::string globals = ".global .u32 n = 5;\n.global .f32 x = 0f3F800000;\n"
                        ".shared .align 8 .b64 s;\n";
  auto one = [&](const std::string &body) { return warp(body, globals, 1)[0]; };
  EXPECT_EQ(one("atom.global.add.u32 %r0, [n], 3;"), 5u);
  EXPECT_EQ(one("atom.release.gpu.global.add.u32 %r1, [n], 3;\n"
                "ld.acquire.gpu.global.u32 %r0, [n];"),
            8u);
  EXPECT_EQ(one("red.global.max.s32 [n], 9;\nld.volatile.global.u32 %r0, "
                "[n];"),
            9u);
  EXPECT_EQ(one("atom.global.cas.b32 %r1, [n], 5, 6;\nld.global.u32 %r0, "
                "[n];"),
            6u);
  EXPECT_EQ(one("atom.global.exch.b32 %r1, [n], 4;\nld.global.u32 %r2, [n];\n"
                "mad.lo.u32 %r0, %r1, 10, %r2;"),
            54u);
  EXPECT_EQ(one("atom.global.inc.u32 %r1, [n], 5;\nld.global.u32 %r0, [n];"),
            0u);
  EXPECT_EQ(one("atom.global.add.f32 %f1, [x], 0f40000000;\n"
                "ld.global.b32 %r0, [x];"),
            0x40400000u);
  EXPECT_EQ(one("st.shared.u64 [s], 1;\natom.shared.or.b64 %rd1, [s], 6;\n"
                "ld.shared.u32 %r0, [s];"),
            7u);
  // All lanes at once.
  std::vector<std::uint64_t> sum =
      warp("red.relaxed.gpu.global.add.u32 [n], %t;\nbar.sync 0;\n"
           "membar.gl;\nld.relaxed.gpu.global.u32 %r0, [n];",
           globals);
  EXPECT_EQ(sum[3], 496u + 5);
}

TEST(PtxCollective, AsynchronousCopies) {
  std::string globals = ".shared .align 16 .b8 s[64];\n"
                        ".global .align 16 .u32 g[8] = {1, 2, 3, 4, 5, 6, 7, "
                        "8};\n";
  auto one = [&](const std::string &body) { return warp(body, globals, 1)[0]; };
  EXPECT_EQ(one("cp.async.cg.shared.global.L2::128B [s], [g], 16;\n"
                "cp.async.commit_group;\ncp.async.wait_group 0;\n"
                "ld.shared.u32 %r0, [s+12];"),
            4u);
  EXPECT_EQ(one("cp.async.ca.shared::cta.global [s], [g], 0x8, 4;\n"
                "cp.async.wait_all;\nld.shared.v2.u32 {%r1, %r2}, [s];\n"
                "mad.lo.u32 %r0, %r1, 10, %r2;"),
            10u);
}

TEST(PtxCollective, TransactionBarriers) {
  using U = std::uint32_t;
  std::string globals = ".shared .align 8 .b64 m;\n.shared .b32 s;\n";
  std::string init = "setp.eq.u32 %p1, %t, 0;\n"
                     "@%p1 mbarrier.init.shared::cta.b64 [m], 32;\n"
                     "fence.mbarrier_init.release.cluster;\nbar.sync 0;\n"
                     "@%p1 st.shared.u32 [s], 9;\n";
  expectEach(
      init + "mbarrier.arrive.shared::cta.b64 %rd1, [m];\n"
             "W: mbarrier.test_wait.shared::cta.b64 %p2, [m], %rd1;\n"
             "@!%p2 bra W;\nld.shared.u32 %r0, [s];",
      [](U) -> U { return 9; }, globals);
  expectEach(
      init + "mbarrier.arrive.release.cta.shared::cta.b64 _, [m], 1;\n"
             "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [m], 0;\n"
             "@%p2 bra D;\nbra.uni W;\nD: ld.shared.u32 %r0, [s];",
      [](U) -> U { return 9; }, globals);
}

TEST(PtxCollective, Fences) {
  using U = std::uint32_t;
  expectEach(
      "fence.acq_rel.cta;\nfence.sc.sys;\nmembar.cta;\n"
      "fence.proxy.async;\nfence.proxy.async.shared::cta;\n"
      "prefetch.global.L2 [%in];\nsetmaxnreg.inc.sync.aligned.u32 232;\n"
      "griddepcontrol.wait;\n"
      "createpolicy.fractional.L2::evict_first.b64 %rd1, 1.0;\n"
      "mov.u64 %rd2, s;\ncvta.shared.u64 %rd3, %rd2;\n"
      "isspacep.shared %p1, %rd3;\nisspacep.shared %p2, %out;\n"
      "selp.u32 %r1, 2, 0, %p1;\nselp.u32 %r2, 1, 0, %p2;\n"
      "or.b32 %r0, %r1, %r2;",
      [](U) -> U { return 2; }, ".shared .b32 s[4];\n");
}

TEST(PtxCollective, SpecialRegisters) {
  using U = std::uint32_t;
  expectEach("mov.u32 %r1, %laneid;\nmov.u32 %r2, %lanemask_lt;\n"
             "mov.u32 %r3, %ntid.x;\nmov.u32 %r4, WARP_SZ;\n"
             "popc.b32 %r2, %r2;\nsub.u32 %r0, %r1, %r2;\n"
             "mad.lo.u32 %r0, %r3, 100, %r0;\nadd.u32 %r0, %r0, %r4;",
             [](U) -> U { return 3232; });
}

TEST(PtxCollective, MatricesInSharedMemory) {
  using U = std::uint32_t;
  std::string globals = ".shared .align 16 .b8 s[128];\n";
  std::string fill = "shl.b32 %r1, %t, 2;\nmov.u32 %r2, s;\n"
                     "add.u32 %r2, %r2, %r1;\nst.shared.u32 [%r2], %t;\n"
                     "bar.sync 0;\nand.b32 %r3, %t, 7;\nshl.b32 %r3, %r3, 4;\n"
                     "mov.u32 %r4, s;\nadd.u32 %r4, %r4, %r3;\n";
  expectEach(
      fill + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r4];",
      [](U i) -> U { return i; }, globals);
  // Column i / 4 of the halves that row 4 k holds: its words are 4 k + i / 8.
  expectEach(
      fill + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r5}, "
             "[%r4];\nand.b32 %r0, %r5, 0xffff;",
      [](U i) -> U {
        U row = i % 4 * 2, column = i / 4;
        return column % 2 ? 0 : row * 4 + column / 2;
      },
      globals);
}

} // namespace
