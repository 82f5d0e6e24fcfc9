//===- Tiler.h - tiles of the values of a kernel ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_TILER_H
#define STEEP_PASSES_BLOCK_TILER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::block {

/// A rectangular part of a tensor, with unit strides.
struct Part {
  SmallVector<OpFoldResult> offsets, sizes;

  bool operator==(const Part &other) const;
  /// The whole of a tensor of static shape.
  static Part whole(Builder &b, ArrayRef<int64_t> shape);
  SmallVector<OpFoldResult> strides(Builder &b) const {
    return SmallVector<OpFoldResult>(offsets.size(), b.getIndexAttr(1));
  }
};

/// Makes parts of values by asking what makes the value for a part of its
/// result, back to the arguments of the kernel: fusion of producers into one
/// tile. Upstream's `scf::tileConsumerAndFuseProducersUsingSCF` starts at one
/// consumer and knows one loop nest; a kernel has several results, none of
/// which need be reachable from the others, and ops that have no tiling there
/// (padding by `tensor.insert_slice`).
class Tiler {
public:
  explicit Tiler(OpBuilder &builder) : builder(builder) {}

  /// Declares that `tensor` is overwritten by this tile: whoever reads it must
  /// read exactly `part`, and gets `current`, the part as it is now.
  void setInPlace(Value tensor, Part part, Value current) {
    inPlace.push_back({tensor, std::move(part), current});
  }

  /// The part of `value`, built at the builder's place. On failure an error
  /// was reported.
  FailureOr<Value> tile(Value value, const Part &part);

private:
  FailureOr<Value> tileLeaf(Value value, const Part &part);
  FailureOr<Value> tileExtractSlice(tensor::ExtractSliceOp op,
                                    const Part &part);
  FailureOr<Value> tileInsertSlice(tensor::InsertSliceOp op, const Part &part);
  FailureOr<Value> tileExpandShape(tensor::ExpandShapeOp op, const Part &part);
  FailureOr<Value> tileOp(OpResult result, const Part &part);
  LogicalResult tileOperands(Operation *tiled, ArrayRef<Operation *> slices);
  Value select(Location loc, Value condition, Value ifTrue, Value ifFalse);

  struct Known {
    Value value;
    Part part;
    Value tile;
  };
  OpBuilder &builder;
  SmallVector<Known> inPlace, known;
};

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_TILER_H
