//===- SupervisorTest.cpp - tests of the emulated GPU's child process -----===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Devices/Supervisor.h"

#include "test/Unit/Core/TestSupport.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace steep;

TEST(Supervisor, ReturnsTheChildsStatus) {
  pid_t parent = ::getpid();
  EXPECT_EQ(runSupervised([] { return 0; }, 60), 0);
  EXPECT_EQ(runSupervised([] { return 7; }, 60), 7);
  EXPECT_EQ(runSupervised([=] { return ::getpid() == parent ? 1 : 2; }, 60), 2);
}

TEST(Supervisor, SaysWhichSignalEndedIt) {
  EXPECT_ERROR(runSupervised([] { return ::raise(SIGKILL); }, 60),
               "ended with signal 9 (Killed)");
}

TEST(Supervisor, EndsWhatGivesNoSignOfLife) {
  auto forEver = [] {
    for (;;)
      std::this_thread::sleep_for(std::chrono::seconds(1));
    return 0;
  };
  EXPECT_ERROR(runSupervised(forEver, 1), "no sign of life for 1 seconds");
}

TEST(Supervisor, WaitsWhileThereAreSignsOfLife) {
  auto busy = [] {
    for (int i = 0; i < 15; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      signOfLife();
    }
    return 3;
  };
  EXPECT_EQ(runSupervised(busy, 1), 3);
}

TEST(Supervisor, IsForTheEmulatedGpuAlone) {
  pid_t parent = ::getpid();
  auto where = [=] { return ::getpid() == parent ? 1 : 2; };
  EXPECT_EQ(runForDevice("host", where), 1);
  EXPECT_EQ(runForDevice("cuda:1", where), 1);
  EXPECT_EQ(runForDevice("simt", where), 2);
  ::setenv("STEEP_SIMT_WATCHDOG", "soon", 1);
  EXPECT_ERROR(runForDevice("simt", where), "STEEP_SIMT_WATCHDOG");
  ::unsetenv("STEEP_SIMT_WATCHDOG");
}
