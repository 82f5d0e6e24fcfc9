//===- CopiesTest.cpp - cp.async ------------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

#include <cmath>
#include <numeric>

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

/// A warp's lanes copy `bytes` each to shared memory and back from there to
/// out, as i32s; `wait` stands between.
std::string copy(const std::string &name, const std::string &size, int bytes,
                 const std::string &wait) {
  std::string pointers = "(ptr addrspace(3), ptr addrspace(1)";
  std::string words = std::to_string(bytes / 4);
  return R"(target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [512 x i8] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.cp.async.)" +
         name + pointers + (size.empty() ? "" : ", i32") + R"()
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.cp.async.wait.all()
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %o = mul i32 %tid, )" +
         std::to_string(bytes) + R"(
  %i = zext i32 %o to i64
  %from = getelementptr i8, ptr addrspace(1) %in, i64 %i
  %to = getelementptr i8, ptr addrspace(3) @s, i64 %i
  %back = getelementptr i8, ptr addrspace(1) %out, i64 %i
  call void @llvm.nvvm.cp.async.)" +
         name + "(ptr addrspace(3) %to, ptr addrspace(1) %from" +
         (size.empty() ? "" : ", i32 " + size) + ")\n" + wait +
         "\n  %v = load <" + words +
         " x i32>, ptr addrspace(3) %to, align 4\n  store <" + words +
         " x i32> %v, ptr addrspace(1) %back, align 4\n  ret void\n}\n";
}

const char *const kWaitGroup = "call void @llvm.nvvm.cp.async.commit.group()\n"
                               "call void @llvm.nvvm.cp.async.wait.group(i32 "
                               "0)";

std::vector<std::uint32_t> runCopy(const std::string &ir, int bytes,
                                   bool check = true) {
  Options options;
  options.check = check;
  auto program = load(ir, options);
  std::vector<std::uint32_t> values(32 * bytes / 4);
  std::iota(values.begin(), values.end(), 1000);
  Buffer<std::uint32_t> in(values), out(values.size());
  Outcome outcome = launch(*program, "k", sizes(1, 32), in.data(), out.data());
  EXPECT_TRUE(outcome.ok) << outcome.text;
  return out.values();
}

TEST(AsyncCopy, OfAllSizes) {
  for (auto [name, bytes] :
       {std::pair<const char *, int>{"ca.shared.global.4", 4},
        {"ca.shared.global.8", 8},
        {"ca.shared.global.16", 16},
        {"cg.shared.global.16", 16}})
    for (const char *wait :
         {kWaitGroup, "call void @llvm.nvvm.cp.async.wait.all()"}) {
      auto got = runCopy(copy(name, "", bytes, wait), bytes);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], 1000 + i) << name;
    }
}

TEST(AsyncCopy, FillsTheRestWithZeros) {
  for (auto [name, bytes] :
       {std::pair<const char *, int>{"ca.shared.global.4.s", 4},
        {"ca.shared.global.8.s", 8},
        {"ca.shared.global.16.s", 16},
        {"cg.shared.global.16.s", 16}})
    for (int size : {0, 4}) {
      auto got =
          runCopy(copy(name, std::to_string(size), bytes, kWaitGroup), bytes);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], i % (bytes / 4) * 4 < unsigned(size) ? 1000 + i : 0)
            << name << " " << size;
    }
}

TEST(AsyncCopy, IsNotThereBeforeItIsWaitedFor) {
  // Without a wait, after waiting for all but one group, and uncommitted.
  for (const char *wait :
       {"",
        "call void @llvm.nvvm.cp.async.commit.group()\ncall void "
        "@llvm.nvvm.cp.async.wait.group(i32 1)",
        "call void @llvm.nvvm.cp.async.wait.group(i32 0)"}) {
    auto got = runCopy(copy("ca.shared.global.16", "", 16, wait), 16, false);
    for (std::uint32_t word : got)
      ASSERT_EQ(word, 0xffffffffu);
  }
}

TEST(AsyncCopy, ArrivesAtAnMbarrier) {
  for (std::string kind : {"noinc.shared", "shared"}) {
    std::string count = kind == "shared" ? "32" : "64";
    std::string ir = R"(target triple = "nvptx64-nvidia-cuda"
@s = internal addrspace(3) global [32 x i32] undef, align 16
@b = internal addrspace(3) global i64 undef, align 8
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.mbarrier.arrive.)" +
                     kind + R"((ptr addrspace(3))
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @b, i32 )" +
                     count + R"()
  br label %ready
ready:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %i = zext i32 %tid to i64
  %from = getelementptr i32, ptr addrspace(1) %in, i64 %i
  %to = getelementptr i32, ptr addrspace(3) @s, i64 %i
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr addrspace(1) %from)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.)" +
                     kind + R"((ptr addrspace(3) @b)
  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @b)
  br label %loop
loop:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @b, i64 %t)
  br i1 %done, label %after, label %loop
after:
  %j = xor i64 %i, 31
  %other = getelementptr i32, ptr addrspace(3) @s, i64 %j
  %v = load i32, ptr addrspace(3) %other
  %back = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %v, ptr addrspace(1) %back
  ret void
})";
    auto got = runCopy(ir, 4);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], 1000 + (i ^ 31)) << kind;
  }
}

} // namespace
