//===- WaitPolicyTest.cpp - how long idle OpenMP threads spin -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/WaitPolicy.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(WaitPolicy, StartsTheProgramAgain) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    setenv(childMark, "1", 1);
    char name[] = "ModelTests";
    char *arguments[] = {name, nullptr};
    limitSpinning(arguments);
    std::_Exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
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
