//===- Supervisor.h - a child process for the emulated GPU ------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel with a wild pointer takes the process down that emulates it, and one
// that waits for what never comes takes for ever. So whatever opens the device
// `simt` runs in a child, and the parent says in one line what became of it.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SUPERVISOR_H
#define STEEP_RUNTIME_DEVICES_SUPERVISOR_H

#include <functional>
#include <string>

namespace steep {

/// Runs `body` in a child process and returns its status. Throws Error where a
/// signal ended it, or where it gave no sign of life for `seconds`: it is ended
/// then. Signals that ask the parent to stop are handed on. The calling process
/// must have one thread only.
int runSupervised(const std::function<int()> &body, int seconds);

/// The same for device names that need it; any other runs `body` here.
int runForDevice(const std::string &device, const std::function<int()> &body);

/// A sign of life from the child; nothing elsewhere.
void signOfLife();

} // namespace steep

#endif // STEEP_RUNTIME_DEVICES_SUPERVISOR_H
