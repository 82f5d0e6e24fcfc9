//===- Oracle.h - the row-diameter oracle -----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The step of steepest descent under a bound of the row diameter:
//
//   S = argmin <G, S>  over  D(S) <= eta, 1^T S = 0     (arXiv:2608.22253)
//
// with a certificate from both sides: an S that is feasible as it is stored,
// and a flow that balances the centred gradient. runtime/Geometry/Oracle/Core.h
// says how; this is its face for tensors.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_H

#include "runtime/Core/Tensor.h"
#include "runtime/Geometry/Oracle/Core.h"

#include <functional>

namespace steep {

struct OracleOptions {
  oracle::Form form = oracle::Form::Exact;
  double eta = 1;          ///< D(S) <= eta
  double tolerance = 1e-6; ///< relative gap to reach; exact only
  int64_t maxSteps = 200;  ///< Newton steps, or repairs
  /// Called with the certified bounds after every Newton step.
  std::function<void(const oracle::Report &)> observer;
};

struct OracleAnswer {
  Tensor update; ///< S, F32
  /// Bounds of T(G) at eta = 1, gap, decrease and diameter of S, counts. The
  /// status is Converged, StepLimit or Stalled.
  oracle::Report report;
};

/// Throws Error for what is no finite matrix of F32 or F64, for options that
/// make no sense, and for sizes that the form does not serve; the message then
/// names the limit and the alternatives. One thread, since a problem is small.
OracleAnswer solveRowDiameter(const Tensor &gradient,
                              const OracleOptions &options = {});

} // namespace steep

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_H
