//===- RowDiameter.h - what the row-diameter oracle costs -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes that the host solver of the row-diameter oracle serves, and the memory
// that it works in: what a compiler must know before there is a run. The solver
// is the runtime's; a test holds both to the same numbers.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_SCHEDULES_ROWDIAMETER_H
#define STEEP_LIB_SCHEDULES_ROWDIAMETER_H

#include <cstdint>
#include <string>

namespace steep::schedules {

enum class RowDiameterForm : int64_t { Exact = 0, Repair = 1 };

struct RowDiameterLimits {
  int64_t rows, columns;
};
RowDiameterLimits rowDiameterLimits(RowDiameterForm form);

/// Bytes of the solver's work space: O(V^2 + V d) for exact, O(V d) for repair;
/// -1 where the form does not serve the size.
int64_t rowDiameterBytes(RowDiameterForm form, int64_t rows, int64_t columns);

/// Bytes of the work space of a measurement by the host: O(V d).
int64_t measureBytes(int64_t rows, int64_t columns);

/// sqrt((k+1)/(2k)), k = min(rows - 1, columns): what projected RowNorm reaches
/// of the exact oracle's decrease, whatever the gradient (arXiv:2608.22253, by
/// Jung's theorem). 1 for a single row.
double jungRatio(int64_t rows, int64_t columns);

} // namespace steep::schedules

#endif // STEEP_LIB_SCHEDULES_ROWDIAMETER_H
