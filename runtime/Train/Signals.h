//===- Signals.h - a polite stop --------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_SIGNALS_H
#define STEEP_RUNTIME_TRAIN_SIGNALS_H

namespace steep {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP (unless nohup
/// ignores it) only sets a flag, which the
/// training loop polls; the second ends the process as if nobody caught it.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;

  /// The signal that came, or 0. May be called without an object: then 0.
  static int received();
};

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_SIGNALS_H
