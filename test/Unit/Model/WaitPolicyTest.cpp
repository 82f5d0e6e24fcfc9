//===- WaitPolicyTest.cpp - how long idle OpenMP threads spin -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/WaitPolicy.h"

#include "runtime/Core/ThreadPool.h"
#include "runtime/Model/Parallel.h"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace steep;

static const char childMark[] = "STEEP_TEST_WAIT_POLICY";

// The program that limitSpinning starts is this one: with the mark it ends
// before there are tests.
[[maybe_unused]] static const bool isChild = [] {
  if (!std::getenv(childMark))
    return false;
  std::_Exit(std::getenv("GOMP_SPINCOUNT") && !std::getenv("OMP_WAIT_POLICY")
                 ? 42
                 : 2);
}();

/// The exit status of this program, started by limitSpinning with `arguments`.
static int startAgain(std::vector<std::string> arguments, bool mark) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    if (mark)
      setenv(childMark, "1", 1);
    std::vector<char *> pointers;
    for (std::string &argument : arguments)
      pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    limitSpinning(pointers.data());
    std::_Exit(1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
             ? WEXITSTATUS(status)
             : -1;
}

TEST(WaitPolicy, StartsTheProgramAgain) {
  EXPECT_EQ(startAgain({"ModelTests"}, /*mark=*/true), 42);
}

static double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// The model's threads and the step's take turns, and then nobody has work. Of
// the time in between, threads that went on spinning would take all. Run by the
// next test.
TEST(WaitPolicy, DISABLED_PoolsSleep) {
  ThreadScope scope(2);
  ThreadPool pool(2);
  const auto pause = std::chrono::milliseconds(20);
  constexpr int rounds = 20;
  const double before = cpuSeconds();
  for (int round = 0; round < rounds; ++round) {
    parallelRanges(2, [](int64_t, int64_t) {});
    pool.run(2, [](int64_t, int64_t) {});
    std::this_thread::sleep_for(pause);
  }
  const double idle = rounds * std::chrono::duration<double>(pause).count();
  EXPECT_LT(cpuSeconds() - before, 0.1 * idle);
}

TEST(WaitPolicy, PoolsDoNotSpinAgainstEachOther) {
  EXPECT_EQ(startAgain({"ModelTests", "--gtest_also_run_disabled_tests",
                        "--gtest_filter=WaitPolicy.DISABLED_PoolsSleep"},
                       /*mark=*/false),
            0);
}

TEST(WaitPolicy, LeavesTheUsersChoice) {
  const char *before = std::getenv("OMP_WAIT_POLICY");
  const std::string saved = before ? before : "";
  setenv("OMP_WAIT_POLICY", "active", 1);
  char name[] = "none";
  char *arguments[] = {name, nullptr};
  limitSpinning(arguments); // returns: nothing was started again
  EXPECT_STREQ(std::getenv("OMP_WAIT_POLICY"), "active");
  if (before)
    setenv("OMP_WAIT_POLICY", saved.c_str(), 1);
  else
    unsetenv("OMP_WAIT_POLICY");
}
