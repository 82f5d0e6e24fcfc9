//===- WaitPolicy.cpp - how long idle OpenMP threads spin -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/WaitPolicy.h"

#include <cstdlib>
#include <unistd.h>

/// Rounds of libgomp's waiting loop, of one pause instruction each (10 to 70
/// ns).
static const char spinCount[] = "2000";

void steep::limitSpinning(char **argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT"))
    return;
  if (setenv("GOMP_SPINCOUNT", spinCount, 1) != 0)
    return;
  execv("/proc/self/exe", argv);
  unsetenv("GOMP_SPINCOUNT"); // not executed: the setting has no effect
}
