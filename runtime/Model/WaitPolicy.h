//===- WaitPolicy.h - how long idle OpenMP threads spin ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between two parallel loops libgomp's threads spin for milliseconds before
// they sleep. A compiled optimizer step runs on its own pool (ThreadPool.h)
// between two passes of the model, and would share the processors with them.
// libgomp reads its settings when it is loaded, so that a program has to start
// itself again to change them.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_WAITPOLICY_H
#define STEEP_RUNTIME_MODEL_WAITPOLICY_H

namespace steep {

/// To be called first in main(). Where neither OMP_WAIT_POLICY nor
/// GOMP_SPINCOUNT is set, sets GOMP_SPINCOUNT to about a tenth of a millisecond
/// (enough from one loop of the model to the next) and executes the program
/// again with the same arguments; returns where there is nothing to do or that
/// fails.
void limitSpinning(char **argv);

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_WAITPOLICY_H
