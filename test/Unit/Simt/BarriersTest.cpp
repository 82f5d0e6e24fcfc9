//===- BarriersTest.cpp - barriers of a block, and mbarriers --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimtTest.h"

using namespace steep::simt;
using namespace steep::simt::test;

namespace {

using Words = std::vector<std::uint32_t>;

Options checked(std::uint64_t seed = 0) {
  Options options;
  options.check = true;
  options.seed = seed;
  return options;
}

/// Each thread writes its number to shared memory, meets the others, and reads
/// what the thread opposite has written.
std::string exchange(const std::string &declarations,
                     const std::string &barrier) {
  return perThread("@s = internal addrspace(3) global [128 x i32] undef\n" +
                       declarations,
                   R"(  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
)" + barrier + R"(
  %other = xor i32 %tid, 127
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %other
  %r = load i32, ptr addrspace(3) %q)");
}

void expectExchanged(const std::string &ir) {
  for (std::uint64_t seed : {0, 1, 2}) {
    Words got = runPerThread(ir, Words(128), checked(seed));
    for (unsigned t = 0; t < 128; ++t)
      ASSERT_EQ(got[t], t ^ 127) << "seed " << seed;
  }
}

TEST(Barrier, OfAllThreads) {
  for (std::string kind : {"aligned.all", "all"})
    expectExchanged(
        exchange("declare void @llvm.nvvm.barrier.cta.sync." + kind + "(i32)",
                 "call void @llvm.nvvm.barrier.cta.sync." + kind + "(i32 0)"));
}

TEST(Barrier, OfACount) {
  for (std::string kind : {"aligned.count", "count"})
    expectExchanged(exchange(
        "declare void @llvm.nvvm.barrier.cta.sync." + kind + "(i32, i32)",
        "call void @llvm.nvvm.barrier.cta.sync." + kind + "(i32 3, i32 128)"));
}

TEST(Barrier, ProducersArriveAndConsumersWait) {
  // Warps 0 and 1 write and only arrive; warps 2 and 3 wait and read.
  std::string ir = perThread(
      R"(@s = internal addrspace(3) global [64 x i32] undef
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32))",
      R"(  %half = and i32 %tid, 63
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %half
  %producer = icmp ult i32 %tid, 64
  br i1 %producer, label %produce, label %consume
produce:
  store i32 %tid, ptr addrspace(3) %p
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 128)
  br label %join
consume:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 128)
  %v = load i32, ptr addrspace(3) %p
  br label %join
join:
  %r = phi i32 [500, %produce], [%v, %consume])");
  for (std::uint64_t seed : {0, 1, 2, 3}) {
    Words got = runPerThread(ir, Words(128), checked(seed));
    for (unsigned t = 0; t < 128; ++t)
      ASSERT_EQ(got[t], t < 64 ? 500 : t - 64);
  }
}

TEST(Barrier, Reductions) {
  struct Case {
    const char *name;
    const char *condition;
    std::uint32_t expected;
  };
  for (Case c : {Case{"popc", "ult i32 %tid, 40", 40},
                 {"and", "ult i32 %tid, 128", 1},
                 {"and", "ult i32 %tid, 127", 0},
                 {"or", "eq i32 %tid, 77", 1},
                 {"or", "ugt i32 %tid, 200", 0}})
    for (std::string kind : {"aligned.all", "all", "aligned.count", "count"}) {
      bool counts = c.name == std::string("popc");
      bool counted = kind.find("count") != std::string::npos;
      std::string type = counts ? "i32" : "i1";
      std::string name =
          " @llvm.nvvm.barrier.cta.red." + std::string(c.name) + "." + kind;
      std::string result =
          "%v = call " + type + name +
          (counted ? "(i32 2, i32 128, i1 %c)\n" : "(i32 2, i1 %c)\n");
      Words got = runPerThread(
          perThread("declare " + type + name +
                        (counted ? "(i32, i32, i1)" : "(i32, i1)"),
                    "%c = icmp " + std::string(c.condition) + "\n" + result +
                        (counts ? "%r = add i32 %v, 0"
                                : "%r = zext i1 %v to "
                                  "i32")),
          Words(128));
      EXPECT_EQ(got, Words(128, c.expected)) << name;
    }
}

TEST(Barrier, NamesWhatIsWrongWithACount) {
  auto program = load(perThread(
      "declare void @llvm.nvvm.barrier.cta.sync.count(i32, i32)",
      "call void @llvm.nvvm.barrier.cta.sync.count(i32 1, i32 33)\n%r = add "
      "i32 0, 0"));
  Buffer<std::uint32_t> in(64), out(64);
  Outcome outcome = launch(*program, "k", sizes(1, 64), in.data(), out.data());
  EXPECT_FALSE(outcome.ok);
  EXPECT_NE(outcome.text.find("33 threads: expected a multiple of 32"),
            std::string::npos)
      << outcome.text;
}

//===----------------------------------------------------------------------===//
// mbarrier
//===----------------------------------------------------------------------===//

/// Thread 0 initialises @b for `count` arrivals; all meet; then `body`.
std::string withTransactionBarrier(const std::string &declarations, int count,
                                   const std::string &body) {
  return perThread(
      R"(@s = internal addrspace(3) global [128 x i32] undef
@b = internal addrspace(3) global i64 undef, align 8
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
)" + declarations,
      R"(  %first = icmp eq i32 %tid, 0
  br i1 %first, label %init, label %ready
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @b, i32 )" +
          std::to_string(count) + R"()
  br label %ready
ready:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
)" + body);
}

const char *const kExchange = R"(
  %other = xor i32 %tid, 127
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %other
  %r = load i32, ptr addrspace(3) %q)";

TEST(TransactionBarrier, WaitsForATokensPhase) {
  for (std::string wait : {"test.wait.shared", "test.wait.scope.cta.space.cta",
                           "try.wait.scope.cta.space.cta"})
    expectExchanged(withTransactionBarrier(
        "declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))\n"
        "declare i1 @llvm.nvvm.mbarrier." +
            wait + "(ptr addrspace(3), i64)",
        128,
        R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @b)
  br label %loop
loop:
  %done = call i1 @llvm.nvvm.mbarrier.)" +
            wait + R"((ptr addrspace(3) @b, i64 %t)
  br i1 %done, label %after, label %loop
after:)" + kExchange));
}

TEST(TransactionBarrier, WaitsForAParity) {
  for (std::string wait :
       {"test.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)",
        "try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)",
        "try.wait.parity.tl.scope.cta.space.cta(ptr addrspace(3), i32, i32)"}) {
    bool timed = wait.find(".tl.") != std::string::npos;
    std::string name = wait.substr(0, wait.find('('));
    expectExchanged(withTransactionBarrier(
        "declare i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr "
        "addrspace(3), i32)\ndeclare i1 @llvm.nvvm.mbarrier." +
            wait,
        256,
        R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  %t = call i64 @llvm.nvvm.mbarrier.arrive.scope.cta.space.cta(ptr addrspace(3) @b, i32 2)
  br label %loop
loop:
  %done = call i1 @llvm.nvvm.mbarrier.)" +
            name + "(ptr addrspace(3) @b, i32 0" + (timed ? ", i32 1000" : "") +
            R"()
  br i1 %done, label %after, label %loop
after:)" + kExchange));
  }
}

TEST(TransactionBarrier, WaitsInOnePieceOfAssembly) {
  expectExchanged(withTransactionBarrier(
      "declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))", 128,
      R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @b)
  call void asm sideeffect "{\0A\09.reg .pred       P1; \0A\09LAB_WAIT: \0A\09mbarrier.try_wait.parity.shared.b64 P1, [$0], $1, $2; \0A\09@P1 bra.uni DONE; \0A\09bra.uni     LAB_WAIT; \0A\09DONE: \0A\09}", "r,n,n"(ptr addrspace(3) @b, i32 0, i32 10000000))" +
          std::string(kExchange)));
}

TEST(TransactionBarrier, WaitsForBytesToo) {
  // Thread 0 expects 64 bytes with its arrival; thread 127 delivers them.
  expectExchanged(withTransactionBarrier(
      R"(declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.complete.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64))",
      128, R"(
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  br i1 %first, label %expecting, label %plain
expecting:
  call void @llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta(ptr addrspace(3) @b, i32 32)
  %t0 = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3) @b, i32 32)
  br label %arrived
plain:
  %t1 = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @b)
  br label %arrived
arrived:
  %t = phi i64 [%t0, %expecting], [%t1, %plain]
  %last = icmp eq i32 %tid, 127
  br i1 %last, label %deliver, label %loop
deliver:
  call void @llvm.nvvm.mbarrier.complete.tx.scope.cta.space.cta(ptr addrspace(3) @b, i32 64)
  br label %loop
loop:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @b, i64 %t)
  br i1 %done, label %after, label %loop
after:)" + std::string(kExchange)));
}

Outcome runBroken(const std::string &ir) {
  auto program = load(ir, checked());
  Buffer<std::uint32_t> in(128), out(128);
  return launch(*program, "k", sizes(1, 128), in.data(), out.data());
}

TEST(TransactionBarrier, SaysWhoWaitsForNobody) {
  Outcome outcome = runBroken(withTransactionBarrier(
      "declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))\n"
      "declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)",
      129, R"(
  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @b)
  br label %loop
loop:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @b, i64 %t)
  br i1 %done, label %after, label %loop
after:
  %r = add i32 0, 0)"));
  EXPECT_FALSE(outcome.ok);
  EXPECT_NE(outcome.text.find("128 of 128 threads"), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("mbarrier.test.wait"), std::string::npos);
}

TEST(TransactionBarrier, MustBeInitialised) {
  Outcome outcome = runBroken(perThread(
      R"(@b = internal addrspace(3) global i64 undef, align 8
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3)))",
      R"(
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @b, i32 128)
  call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @b)
  %t = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @b)
  %r = add i32 0, 0)"));
  EXPECT_NE(outcome.text.find("no initialised mbarrier"), std::string::npos)
      << outcome.text;
}

} // namespace
