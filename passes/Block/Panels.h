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
// In a kernel the memory is an argument of rank 3; `linalg.unpack` makes the
// matrix of it, `linalg.pack` the reverse. What fills up the last panel is
// poison.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_PANELS_H
#define STEEP_PASSES_BLOCK_PANELS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace mlir::block {

/// The memory of a matrix in panels of `width` columns.
MemRefType getPanelType(MemRefType matrix, int64_t width);

/// The panels of `matrix`, as a tensor of rank 3.
Value createPack(OpBuilder &builder, Location loc, Value matrix, int64_t width);

/// The matrix of shape `type` whose panels are `panels`.
Value createUnpack(OpBuilder &builder, Location loc, Value panels,
                   RankedTensorType type);

/// The columns of a panel, or 0 where the op arranges memory otherwise.
int64_t getPanelWidth(linalg::PackOp op);
int64_t getPanelWidth(linalg::UnPackOp op);

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_PANELS_H
