//===- Watchdog.h - work in a process of its own ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TOOLS_STEEP_SIMT_WATCHDOG_H
#define STEEP_TOOLS_STEEP_SIMT_WATCHDOG_H

#include <functional>

namespace steep {

/// Runs `work` in a child process and returns the exit status that it returned
/// there. A kernel may write wherever it likes without --check, and may never
/// end: throws Error where the child crashes, or does not end within `seconds`
/// (it is killed then). To be called before any thread is started.
int runWatched(const std::function<int()> &work, unsigned seconds);

} // namespace steep

#endif // STEEP_TOOLS_STEEP_SIMT_WATCHDOG_H
