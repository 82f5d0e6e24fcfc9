//===- Watchdog.cpp - work in a process of its own ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/steep-simt/Watchdog.h"

#include "runtime/Core/Error.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/// Waits for the signal that a child has ended. False when time is up.
static bool waitForEnd(pid_t child, int &status, unsigned seconds) {
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  time_t end = start.tv_sec + seconds;
  while (waitpid(child, &status, WNOHANG) == 0) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec >= end)
      return false;
    timespec second = {1, 0};
    sigtimedwait(&ended, nullptr, &second);
  }
  return true;
}

int steep::runWatched(const std::function<int()> &work, unsigned seconds) {
  // Blocked, so that the signal is kept until it is waited for.
  sigset_t ended, before;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, &before);
  std::fflush(nullptr);
  pid_t parent = getpid(), child = fork();
  if (child < 0)
    fail("cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    rlimit none = {0, 0}; // A crash is told, not dumped.
    setrlimit(RLIMIT_CORE, &none);
    int status = work();
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  if (!waitForEnd(child, status, seconds)) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    fail("the kernel did not end within {} s (--timeout)", seconds);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (!WIFSIGNALED(status))
    return WEXITSTATUS(status);
  int signal = WTERMSIG(status);
  bool access = signal == SIGSEGV || signal == SIGBUS;
  fail("the kernel {}: {}{}", access ? "crashed" : "was ended",
       strsignal(signal),
       access ? " (--check says where it reaches beyond its buffers)" : "");
}
