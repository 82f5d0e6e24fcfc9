//===- Repair.h - rows pushed out, then pairs repaired ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RowNorm puts every row on a ball of radius 1/2, where no pair is longer than
// 1 and most are shorter. The repair starts from a ball of radius 0.6 and then
// shortens the pairs that are too long, all at once: row i moves by
//
//   f_i sum_j e_ij (x_j - x_i)/r_ij,   e_ij = max(0, r_ij - 1) m_j/(m_i + m_j),
//   f_i = max_j e_ij / sum_j e_ij,
//
// so that the lighter row of a pair moves more. What remains too long is
// answered by a division by the exact diameter. No optimality is claimed: the
// report says how good it is.
//
// Internal to the core.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_REPAIR_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_REPAIR_H

#include "runtime/Geometry/Oracle/Core.h"
#include "runtime/Geometry/Oracle/Sweep.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

class Repair {
public:
  void lay(Arena &arena, int64_t rows, int64_t stride);
  /// Writes rows x stride values to `x`, their diameter near 1.
  void run(const Reduced &gradient, int64_t repairs, double *x, Report &report);

private:
  bool repairOnce(const Reduced &gradient, double *x);

  Cloud<float> cloud;
  double *moves = nullptr; ///< sum_j e_ij/r_ij x_j
  double *weights = nullptr, *sums = nullptr, *most = nullptr;
};

} // namespace steep::oracle::STEEP_ORACLE_ISA

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_REPAIR_H
