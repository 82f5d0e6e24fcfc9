//===- Signals.cpp - a polite stop ----------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Signals.h"

#include <csignal>

using namespace steep;

static volatile std::sig_atomic_t receivedSignal = 0;
static struct sigaction oldInterrupt, oldTerminate, oldHangUp;

// Only async-signal-safe calls: sigaction and a flag.
static void onSignal(int signal) {
  receivedSignal = signal;
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGINT, &standard, nullptr);
  sigaction(SIGTERM, &standard, nullptr);
  if (oldHangUp.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &standard, nullptr);
}

StopSignals::StopSignals() {
  receivedSignal = 0;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART; // no write is cut short
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &oldInterrupt);
  sigaction(SIGTERM, &action, &oldTerminate);
  sigaction(SIGHUP, &action, &oldHangUp);
  if (oldHangUp.sa_handler == SIG_IGN) // nohup
    sigaction(SIGHUP, &oldHangUp, nullptr);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &oldInterrupt, nullptr);
  sigaction(SIGTERM, &oldTerminate, nullptr);
  sigaction(SIGHUP, &oldHangUp, nullptr);
  receivedSignal = 0;
}

int StopSignals::received() { return receivedSignal; }
