//===- StepKernel.cpp - what the host does in a compiled step -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The solver and the measurements with the signature of a CPU kernel, one block
// a matrix. steepc links them, as bitcode, into artefacts whose spec asks for
// them. Slots of the solver, for geo.row_diameter in the forms exact and
// repair, in order:
//
//   gradient F32 [rows, columns], radius F32 (D(S) <= 2 radius); S F32, the
//   certified lower and upper value of T(G) F64; work space; rows, columns,
//   form, tolerance F64, steps.
//
// Of a measurement: matrix F32, perhaps the states F32; one or two results F64;
// work space; its bytes, rows, columns, perhaps the number of states.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Core.cpp"
#include "runtime/Geometry/Oracle/Measures.cpp"

using namespace steep::oracle;
using namespace steep::oracle::STEEP_ORACLE_ISA;

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

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// Slots of a measurement with `results` numbers of `inputs` matrices.
template <int inputs, int results> struct MeasureSlots {
  void *const *slots;
  Measure measure() const {
    constexpr int numbers = inputs + results + 1;
    return {&slot<const float>(slots, 0),
            slot<const int64_t>(slots, numbers + 1),
            slot<const int64_t>(slots, numbers + 2), slots[numbers - 1],
            slot<const int64_t>(slots, numbers)};
  }
  double &result(int number) const {
    return slot<double>(slots, inputs + number);
  }
};

extern "C" void steep_kernel_measure_diameter(void *const *slots, int64_t begin,
                                              int64_t end) {
  const MeasureSlots<1, 1> s{slots};
  if (begin < end)
    s.result(0) = measureDiameter(s.measure());
}

extern "C" void steep_kernel_measure_separation(void *const *slots,
                                                int64_t begin, int64_t end) {
  const MeasureSlots<1, 2> s{slots};
  if (begin >= end)
    return;
  const double separation = measureSeparation(s.measure());
  const double diameter = measureDiameter(s.measure());
  s.result(0) = separation;
  s.result(1) = diameter > 0 ? separation / diameter : __builtin_nan("");
}

extern "C" void steep_kernel_measure_covering(void *const *slots, int64_t begin,
                                              int64_t end) {
  const MeasureSlots<1, 2> s{slots};
  if (begin >= end)
    return;
  double &lower = s.result(0), &upper = s.result(1);
  measureCovering(s.measure(), lower, upper);
  // D/2 <= rad <= sqrt(k/(2 (k+1))) D, by Jung's theorem; NaN stays.
  const Measure measure = s.measure();
  const double diameter = measureDiameter(measure);
  const double k = static_cast<double>(
      measure.rows - 1 < measure.columns ? measure.rows - 1 : measure.columns);
  const double jung = __builtin_sqrt(k / (2 * (k + 1))) * (1 + 1e-12);
  lower = lower < diameter / 2 ? diameter / 2 : lower;
  upper = upper > jung * diameter ? jung * diameter : upper;
}

extern "C" void steep_kernel_measure_hilbert(void *const *slots, int64_t begin,
                                             int64_t end) {
  const MeasureSlots<2, 1> s{slots};
  if (begin < end)
    s.result(0) = measureHilbert(s.measure(), &slot<const float>(slots, 1),
                                 slot<const int64_t>(slots, 7));
}

extern "C" void steep_kernel_measure_nuclear(void *const *slots, int64_t begin,
                                             int64_t end) {
  const MeasureSlots<1, 1> s{slots};
  if (begin < end)
    s.result(0) = measureNuclear(s.measure());
}
