//===- StepKernel.cpp - the oracle as a kernel of a compiled step ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The solver with the signature of a CPU kernel, one block a matrix. steepc
// links it, as bitcode, into artefacts whose spec asks for geo.row_diameter in
// the forms exact and repair. Slots, in order:
//
//   gradient F32 [rows, columns], radius F32 (D(S) <= 2 radius); S F32, the
//   certified lower and upper value of T(G) F64; work space; rows, columns,
//   form, tolerance F64, steps.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Core.cpp"

using namespace steep::oracle;

template <typename T> static T &slot(void *const *slots, int number) {
  return *static_cast<T *>(slots[number]);
}

extern "C" void steep_kernel_row_diameter(void *const *slots, int64_t begin,
                                          int64_t end) {
  if (begin >= end)
    return;
  Problem problem;
  problem.single = &slot<const float>(slots, 0);
  problem.eta = 2 * static_cast<double>(slot<const float>(slots, 1));
  problem.update = &slot<float>(slots, 2);
  problem.arena = slots[5];
  problem.rows = slot<const int64_t>(slots, 6);
  problem.columns = slot<const int64_t>(slots, 7);
  problem.options.form = static_cast<Form>(slot<const int64_t>(slots, 8));
  problem.options.tolerance = slot<const double>(slots, 9);
  problem.options.maxSteps = slot<const int64_t>(slots, 10);
  // steepc laid out the work space for this very size.
  problem.arenaBytes = STEEP_ORACLE_ISA::arenaBytes(
      problem.options.form, problem.rows, problem.columns);
  const Report report = STEEP_ORACLE_ISA::solve(problem);
  if (hasAnswer(report.status)) {
    slot<double>(slots, 3) = report.lower;
    slot<double>(slots, 4) = report.upper;
    return;
  }
  // A momentum that is not finite has no answer; like any arithmetic on it,
  // this shows.
  const double undefined = __builtin_nan("");
  for (int64_t i = 0; i < problem.rows * problem.columns; ++i)
    problem.update[i] = static_cast<float>(undefined);
  slot<double>(slots, 3) = slot<double>(slots, 4) = undefined;
}
