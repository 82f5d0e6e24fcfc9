//===- GeoDetail.h - what the ops of the dialect share ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiling of ops whose matrices all have one shape: an op is tiled by slicing
// every matrix alike. Included by the files of this folder only.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_GEODETAIL_H
#define STEEP_DIALECTS_GEO_GEODETAIL_H

#include "mlir/Interfaces/TilingInterface.h"

namespace mlir::geo::detail {

/// The first `loops` dimensions of the op's matrices.
SmallVector<Range> getIterationDomain(OpBuilder &b, Operation *op,
                                      unsigned loops);

/// Clones `op` on the slices of its matrices at `offsets`; a dimension without
/// offset is taken whole.
FailureOr<TilingResult> tile(OpBuilder &b, Operation *op,
                             ArrayRef<OpFoldResult> offsets,
                             ArrayRef<OpFoldResult> sizes);

LogicalResult getResultTilePosition(OpBuilder &b, Operation *op,
                                    unsigned resultNumber,
                                    ArrayRef<OpFoldResult> offsets,
                                    ArrayRef<OpFoldResult> sizes,
                                    SmallVector<OpFoldResult> &resultOffsets,
                                    SmallVector<OpFoldResult> &resultSizes);

/// Fails where the tile of the result cuts through a dimension that the op
/// needs whole.
LogicalResult
getDomainTileFromResultTile(Operation *op, ArrayRef<OpFoldResult> offsets,
                            ArrayRef<OpFoldResult> sizes,
                            SmallVectorImpl<OpFoldResult> &domainOffsets,
                            SmallVectorImpl<OpFoldResult> &domainSizes);

FailureOr<TilingResult> generateResultTileValue(OpBuilder &b, Operation *op,
                                                unsigned resultNumber,
                                                ArrayRef<OpFoldResult> offsets,
                                                ArrayRef<OpFoldResult> sizes);

} // namespace mlir::geo::detail

#endif // STEEP_DIALECTS_GEO_GEODETAIL_H
