//===- LaunchTest.cpp - launches: sizes, faults, time, threads ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include <numeric>

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

/// out[i] = in[i] + 1, for as many threads as there are.
const char *const kIncrement = R"(target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %o = mul i32 %cta, %n
  %i = add i32 %o, %tid
  %w = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %in, i64 %w
  %q = getelementptr i32, ptr addrspace(1) %out, i64 %w
  %v = load i32, ptr addrspace(1) %p
  %r = add i32 %v, 1
  store i32 %r, ptr addrspace(1) %q
  ret void
})";

TEST(Launch, RunsEveryBlockOnceOnAnyNumberOfThreads) {
  std::vector<std::uint32_t> values(37 * 96);
  std::iota(values.begin(), values.end(), 5);
  for (unsigned threads : {1, 2, 4, 0}) {
    Options options;
    options.threads = threads;
    auto program = load(kIncrement, options);
    Buffer<std::uint32_t> in(values), out(values.size());
    Outcome outcome =
        launch(*program, "k", sizes(37, 96), in.data(), out.data());
    ASSERT_TRUE(outcome.ok) << outcome.text;
    EXPECT_EQ(outcome.stats.blocks, 37u);
    EXPECT_EQ(outcome.stats.threads, 37u * 96);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(out[i], values[i] + 1);
  }
}

TEST(Launch, KnowsAllAxes) {
  std::string body;
  std::string declarations;
  const char *names[] = {"tid.x",   "tid.y",    "tid.z",    "ntid.x",
                         "ntid.y",  "ntid.z",   "ctaid.x",  "ctaid.y",
                         "ctaid.z", "nctaid.x", "nctaid.y", "nctaid.z"};
  std::string list;
  for (unsigned i = 0; i < 12; ++i) {
    std::string number = std::to_string(i);
    declarations += std::string("declare i32 @llvm.nvvm.read.ptx.sreg.") +
                    names[i] + "()\n";
    body += "  %r" + number + " = call i32 @llvm.nvvm.read.ptx.sreg." +
            names[i] + "()\n";
  }
  // The thread's number in the grid, by all of them; there it writes the
  // thread's own.
  body += R"(
  %tzy = mul i32 %r2, %r4
  %tyz = add i32 %tzy, %r1
  %tyx = mul i32 %tyz, %r3
  %thread = add i32 %tyx, %r0
  %bzy = mul i32 %r8, %r10
  %byz = add i32 %bzy, %r7
  %byx = mul i32 %byz, %r9
  %block = add i32 %byx, %r6
  %a = mul i32 %r3, %r4
  %threads = mul i32 %a, %r5
  %first = mul i32 %block, %threads
  %i = add i32 %first, %thread
  %w = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %w
  store i32 %i, ptr addrspace(1) %p
  ret void
})";
  auto program =
      load("target triple = \"nvptx64-nvidia-cuda\"\n" + declarations +
           "define ptx_kernel void @k(ptr addrspace(1) %out) {\n" + body);
  Sizes all;
  std::uint32_t grid[] = {3, 4, 5}, block[] = {2, 7, 3};
  std::copy(grid, grid + 3, all.grid);
  std::copy(block, block + 3, all.block);
  Buffer<std::uint32_t> out(60 * 42);
  Outcome outcome = launch(*program, "k", all, out.data());
  ASSERT_TRUE(outcome.ok) << outcome.text;
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], i);
}

TEST(Launch, RefusesWhatNoDeviceTakes) {
  auto program = load(kIncrement);
  Buffer<std::uint32_t> memory(1);
  auto message = [&](Sizes sizes) {
    return launch(*program, "k", sizes, memory.data(), memory.data()).text;
  };
  EXPECT_EQ(message(sizes(1, 1025)), "kernel 'k': block.x is 1025 (1 to 1024)");
  EXPECT_EQ(message(sizes(0, 32)), "kernel 'k': grid.x is 0 (1 to 2147483647)");
  Sizes flat = sizes(1, 64);
  flat.block[1] = 32;
  EXPECT_EQ(message(flat),
            "kernel 'k': the block has 2048 threads; at most: 1024");
  EXPECT_EQ(message(sizes(1, 32, 227 * 1024 + 1)),
            "kernel 'k': the block needs 232449 bytes of shared memory; at "
            "most: 232448");
}

TEST(Launch, KeepsToTheSizesThatTheKernelRequires) {
  auto program = load(R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() #0 { ret void }
define ptx_kernel void @l() #1 { ret void }
attributes #0 = { "nvvm.reqntid"="64,1,1" }
attributes #1 = { "nvvm.maxntid"="64" })");
  EXPECT_TRUE(launch(*program, "k", sizes(1, 64)).ok);
  EXPECT_EQ(launch(*program, "k", sizes(1, 32)).text,
            "kernel 'k': block.x is 32 and the kernel requires 64");
  EXPECT_TRUE(launch(*program, "l", sizes(1, 32)).ok);
  EXPECT_EQ(launch(*program, "l", sizes(1, 96)).text,
            "kernel 'l': the block has 96 threads; at most: 64");
}

TEST(Launch, ReportsAMemoryFaultWithoutChecks) {
  auto program = load(kIncrement);
  Buffer<std::uint32_t> memory(64);
  // Block 1000 is far behind the buffer, where nothing is mapped.
  Outcome outcome =
      launch(*program, "k", sizes(1000, 64), memory.data(), memory.data());
  EXPECT_FALSE(outcome.ok);
  EXPECT_NE(outcome.text.find("memory fault at address 0x"), std::string::npos)
      << outcome.text;
  // The machine is still good.
  EXPECT_TRUE(
      launch(*program, "k", sizes(1, 64), memory.data(), memory.data()).ok);
}

TEST(Launch, ReportsAFullStack) {
  auto program = load(R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %out, i64 %i) {
  %a = alloca [400000 x i8]
  call void @llvm.memset.p0.i64(ptr %a, i8 1, i64 400000, i1 true)
  %p = getelementptr i8, ptr %a, i64 %i
  %v = load volatile i8, ptr %p
  store i8 %v, ptr addrspace(1) %out
  ret void
})");
  Buffer<std::uint32_t> memory(64);
  Outcome outcome =
      launch(*program, "k", sizes(1, 32), memory.data(), std::uint64_t(5));
  EXPECT_FALSE(outcome.ok);
  EXPECT_NE(outcome.text.find("the thread's stack is full"), std::string::npos)
      << outcome.text;
}

TEST(Launch, EndsWhatNeverEnds) {
  Options options;
  options.timeoutMs = 100;
  auto program = load(R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %flag) {
  br label %loop
loop:
  %v = load volatile i32, ptr addrspace(1) %flag
  %on = icmp eq i32 %v, 1
  br i1 %on, label %end, label %loop
end:
  ret void
})",
                      options);
  Buffer<std::uint32_t> memory(1);
  Outcome outcome = launch(*program, "k", sizes(4, 64), memory.data());
  EXPECT_FALSE(outcome.ok);
  EXPECT_NE(outcome.text.find("STEEP_SIMT_TIMEOUT_MS"), std::string::npos)
      << outcome.text;
}

TEST(Launch, LetsALaneSpinUntilAnotherSetsItsFlag) {
  // Lane 0 spins on a flag of lane 31, which comes after it.
  auto program = load(R"(target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %flag) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %last = icmp eq i32 %tid, 31
  br i1 %last, label %set, label %loop
set:
  store atomic i32 1, ptr addrspace(1) %flag release, align 4
  ret void
loop:
  %v = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %on = icmp eq i32 %v, 1
  br i1 %on, label %end, label %loop
end:
  ret void
})");
  Buffer<std::uint32_t> memory(1);
  Outcome outcome = launch(*program, "k", sizes(1, 32), memory.data());
  EXPECT_TRUE(outcome.ok) << outcome.text;
}

TEST(Launch, SumsAtomicallyOverBlocksAndThreads) {
  std::string ir = R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %sum, ptr addrspace(1) %real, ptr addrspace(1) %wrap) {
  %a = atomicrmw add ptr addrspace(1) %sum, i32 3 monotonic
  %b = atomicrmw fadd ptr addrspace(1) %real, float 0.5 monotonic
  %c = atomicrmw uinc_wrap ptr addrspace(1) %wrap, i32 6 monotonic
  ret void
})";
  for (unsigned threads : {1, 3}) {
    Options options;
    options.threads = threads;
    auto program = load(ir, options);
    Buffer<std::uint32_t> sum(std::vector<std::uint32_t>{0}),
        wrap(std::vector<std::uint32_t>{0});
    Buffer<float> real(std::vector<float>{0});
    Outcome outcome = launch(*program, "k", sizes(11, 64), sum.data(),
                             real.data(), wrap.data());
    ASSERT_TRUE(outcome.ok) << outcome.text;
    EXPECT_EQ(sum[0], 3u * 11 * 64);
    EXPECT_EQ(real[0], 0.5f * 11 * 64);
    EXPECT_EQ(wrap[0], 11u * 64 % 7);
  }
}

} // namespace
