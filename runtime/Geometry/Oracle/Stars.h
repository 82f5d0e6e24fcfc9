//===- Stars.h - a preconditioner for the Newton system ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of real gradients are nearly parallel in their hundreds: tensions of one
// row to many others can then be exchanged for one another almost for nothing,
// and a diagonal does not see it. What it costs is mostly the resistance of the
// row itself, 1/degree, so every pair belongs to its lighter end, and the pairs
// of an end share a block
//
//   x_e . x_f / degree(end) + [e = f] (|x_e|^2 / degree(other) + z_e/w_e).
//
// Internal to the core.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_GEOMETRY_ORACLE_STARS_H
#define STEEP_RUNTIME_GEOMETRY_ORACLE_STARS_H

#include "runtime/Geometry/Oracle/Presolve.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// The pairs of the system and what the blocks are made of.
struct StarPairs {
  int64_t count;
  const int32_t *i, *j;
  const double *w, *z;
  const double *q; ///< |x_e|^2
  const double *degrees;
  const double *x;
  int64_t rows, stride;
};

/// Cholesky factors of the blocks; pairs beyond `most` of an end begin another
/// one.
class Stars {
public:
  static constexpr int64_t most = 32;

  void lay(Arena &arena, int64_t rows, int64_t mostPairs, int64_t mostStride);
  void factorize(const StarPairs &pairs);
  /// solution <- M^-1 rhs
  void solve(const double *rhs, double *solution) const;

private:
  void sort(const StarPairs &pairs);
  void factorizeBlock(const StarPairs &pairs, int64_t first, int64_t length,
                      int64_t end);
  template <typename Visit> void forEachBlock(Visit visit) const;

  int64_t ends = 0;
  int32_t *order = nullptr;  ///< pairs by their end
  int32_t *starts = nullptr; ///< where those of an end begin
  float *factors = nullptr;  ///< a row of `most` a pair; FP32 is enough
  double *scratch = nullptr; ///< most x stride
};

} // namespace steep::oracle::STEEP_ORACLE_ISA

#endif // STEEP_RUNTIME_GEOMETRY_ORACLE_STARS_H
