//===- Supervisor.cpp - a child process for the emulated GPU --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Devices/Supervisor.h"

#include "runtime/Core/Error.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace steep {

/// In memory that parent and child share.
static std::atomic<uint64_t> *lifeSigns = nullptr;

void signOfLife() {
  if (lifeSigns)
    lifeSigns->fetch_add(1);
}

static volatile sig_atomic_t child = 0;
static void handOn(int signal) {
  if (child > 0)
    ::kill(child, signal);
}

namespace {
/// Hands on what asks to stop, while it lives.
class SignalsHandedOn {
public:
  SignalsHandedOn() {
    struct sigaction action = {};
    action.sa_handler = handOn;
    for (int i = 0; i < count; ++i)
      ::sigaction(signals[i], &action, &before[i]);
  }
  SignalsHandedOn(const SignalsHandedOn &) = delete;
  ~SignalsHandedOn() {
    for (int i = 0; i < count; ++i)
      ::sigaction(signals[i], &before[i], nullptr);
  }

private:
  static constexpr int count = 3;
  static constexpr int signals[count] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before[count];
};
} // namespace

[[noreturn]] static void runBody(const std::function<int()> &body) {
  // Nobody would read what a child says whose parent is gone.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = body();
  std::fflush(nullptr);
  ::_exit(status);
}

/// Waits for the child; false where it gave no sign of life for too long.
static bool waitFor(pid_t process, int seconds, int &status) {
  using Clock = std::chrono::steady_clock;
  uint64_t seen = 0;
  Clock::time_point last = Clock::now();
  for (int milliseconds = 1;;) {
    pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process)
      return true;
    if (ended < 0 && errno != EINTR)
      fail("lost the process of the emulated GPU: {}", std::strerror(errno));
    uint64_t now = lifeSigns->load();
    if (now != seen) {
      seen = now;
      last = Clock::now();
    }
    if (Clock::now() - last > std::chrono::seconds(seconds))
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    milliseconds = milliseconds < 50 ? milliseconds + 1 : 50;
  }
}

int runSupervised(const std::function<int()> &body, int seconds) {
  void *memory = ::mmap(nullptr, sizeof *lifeSigns, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("cannot share memory with a child: {}", std::strerror(errno));
  lifeSigns = new (memory) std::atomic<uint64_t>(0);
  std::fflush(nullptr);
  pid_t process = ::fork();
  if (process < 0)
    fail("cannot start a process for the emulated GPU: {}",
         std::strerror(errno));
  if (process == 0)
    runBody(body);
  child = process;
  int status = 0;
  bool alive;
  {
    SignalsHandedOn signals;
    alive = waitFor(process, seconds, status);
  }
  if (!alive) {
    ::kill(process, SIGKILL);
    ::waitpid(process, &status, 0);
  }
  child = 0;
  lifeSigns = nullptr;
  ::munmap(memory, sizeof *lifeSigns);
  if (!alive)
    fail("the emulated GPU gave no sign of life for {} seconds and was ended "
         "(STEEP_SIMT_WATCHDOG sets how long)",
         seconds);
  if (WIFSIGNALED(status))
    fail("the process of the emulated GPU ended with signal {} ({}); --check "
         "looks for the reason",
         WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status);
}

int runForDevice(const std::string &device, const std::function<int()> &body) {
  if (device != "simt")
    return body();
  int seconds = 300;
  if (const char *text = std::getenv("STEEP_SIMT_WATCHDOG"))
    seconds = std::atoi(text);
  if (seconds < 1)
    fail("STEEP_SIMT_WATCHDOG: a number of seconds, at least 1, is expected");
  return runSupervised(body, seconds);
}

} // namespace steep
