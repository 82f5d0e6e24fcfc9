//===- Panels.h - matrices that lie in panels of columns --------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An m x n matrix in panels of w columns is an array [ceil(n / w)][m][w]: a
// panel's rows follow one another. It is what a product wants of both of its
// operands: the right one is read by rows of a panel; so is the left one where
// it is transposed or symmetric; and otherwise a few rows of a panel are one
// piece of memory. So a matrix that products make and read is never packed.
//
// A matrix of BF16 that is read by rows of a panel has its rows in pairs
// besides, [ceil(n / w)][ceil(m / 2)][w][2]: what one instruction multiplies
// lies together.
//
// In a kernel the memory is an argument of rank 3 or 4; `linalg.unpack` makes
// the matrix of it, `linalg.pack` the reverse. What fills up the last panel is
// poison.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_PANELS_H
#define STEEP_PASSES_BLOCK_PANELS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace mlir::block {

/// How a matrix lies in memory.
struct PanelLayout {
  /// Columns of a panel, or 0 where the matrix is row-major.
  int64_t width = 0;
  /// Whether two rows of a panel lie together, element by element.
  bool pairs = false;

  explicit operator bool() const { return width != 0; }
};

/// The memory of a matrix in panels.
MemRefType getPanelType(MemRefType matrix, PanelLayout layout);

/// The panels of `matrix`, as a tensor of rank 3, or 4 with pairs.
Value createPack(OpBuilder &builder, Location loc, Value matrix,
                 PanelLayout layout);

/// The matrix of shape `type` whose panels are `panels`.
Value createUnpack(OpBuilder &builder, Location loc, Value panels,
                   RankedTensorType type, PanelLayout layout);

/// The layout that an op makes or reads; none where it is another arrangement.
PanelLayout getPanelLayout(linalg::PackOp op);
PanelLayout getPanelLayout(linalg::UnPackOp op);

/// Whether both operands of a product are BF16 as AMX reads them: in panels of
/// `width` columns, the left one along its rows, the right one in pairs.
bool liesForAMX(linalg::LinalgOp product, int64_t width);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_PANELS_H
