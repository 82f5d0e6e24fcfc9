//===- VectorEmitter.h - vector code of one tile ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_VECTOREMITTER_H
#define STEEP_PASSES_BLOCK_VECTOREMITTER_H

#include "dialects/Block/Block.h"
#include "passes/Block/Bodies.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <map>
#include <vector>

namespace mlir::block {

/// Where a tensor is asked for its value: one element, or `width` consecutive
/// elements along the dimension `along`.
struct Place : ElementPlace {
  /// What the index along the vector is known to lie in, [begin, end).
  int64_t begin = 0, end = 0;

  int64_t key() const { return width; }
  void becomeScalar() { width = begin = end = 0; }
};

/// A result of the tile and the part of the block's tensor that it replaces.
struct TileStore {
  Operation *insert; // tensor.insert_slice or tensor.parallel_insert_slice
  Value value;       // what it inserts
  Value dest;        // tensor.extract_slice of the place it inserts to
  Value current;     // that place as it is now

  RankedTensorType type() const {
    return cast<RankedTensorType>(value.getType());
  }
};

/// Emits the vector code of one tile: the `linalg` ops between the slices that
/// the tile reads and those that it writes.
///
/// The code is driven by what is written: a value is computed for a chunk of
/// columns when a store, or a sum along the row, needs that chunk. So values
/// between the ops of a tile never exist as tensors, and the code walks over a
/// row once for every sum that later values wait for (a norm), and once more
/// for the rest; everything written is written in the last walk, so that the
/// walks before it read what was there. `linalg::vectorize` instead makes one
/// vector a tile and op, and needs buffers between the walks.
class VectorEmitter {
public:
  VectorEmitter(OpBuilder &builder, Location loc, int64_t chunk);

  /// Emits code at the builder's place, replaces what the stores insert.
  LogicalResult emit(MutableArrayRef<TileStore> stores);

private:
  using Values = SmallVector<Value>;
  /// A sum along the vector dimension, to a scalar.
  struct RowReduction {
    linalg::LinalgOp op;
    Place place;                      // of its results
    unsigned level;                   // the walk in which it is summed
    SmallVector<Operation *> combine; // for each result, what combines
    Values accumulators;              // whole chunks, in a walk
    Values totals;                    // shorter pieces
  };
  using Visitor = llvm::function_ref<void(Value, const Place &)>;

  // Planning.
  bool isScalarStore(const TileStore &store) const;
  LogicalResult checkStores(ArrayRef<TileStore> stores);
  FailureOr<unsigned> plan(Value value, const Place &place);
  FailureOr<unsigned> planReduction(linalg::LinalgOp op, const Place &place,
                                    unsigned level);
  void findBreaks(Value value, const Place &place, int64_t shift,
                  SmallVectorImpl<int64_t> &breaks);
  void visitOperands(Value value, const Place &place, Visitor visit);

  // Walks.
  LogicalResult emitRows(MutableArrayRef<TileStore> stores);
  LogicalResult emitWalk(ArrayRef<RowReduction *> sums,
                         ArrayRef<TileStore *> stores, int64_t extent);
  LogicalResult emitSegment(ArrayRef<RowReduction *> sums,
                            ArrayRef<TileStore *> stores, int64_t begin,
                            int64_t end);
  LogicalResult emitChunk(ArrayRef<RowReduction *> sums,
                          ArrayRef<TileStore *> stores, const Place &column);
  Place storePlace(const TileStore &store, const Place &column);

  // Sums along a row.
  Place sumLoops(const RowReduction &sum, const Place &column);
  void startSum(RowReduction &sum);
  Value startOf(Operation *combine, Value result, int64_t width);
  LogicalResult accumulate(RowReduction &sum, const Place &column);
  LogicalResult finishSum(RowReduction &sum);
  Value reduce(Value vector, Operation *combine);

  // Values (VectorValues.cpp).
  FailureOr<Value> evaluate(Value tensor, const Place &place);
  FailureOr<Value> evaluateNew(Value tensor, const Place &place);
  FailureOr<Value> evaluateExtractSlice(tensor::ExtractSliceOp op,
                                        const Place &place);
  FailureOr<Value> evaluateInsertSlice(tensor::InsertSliceOp op,
                                       const Place &place);
  FailureOr<Values> evaluateBody(linalg::LinalgOp op, const Place &loops,
                                 ValueRange accumulators);
  LogicalResult evaluateInner(Operation &op, IRMapping &mapping, int64_t width);
  FailureOr<Value> evaluateScalar(Value scalar);
  LogicalResult emitColumnSum(linalg::LinalgOp op, const Place &place);
  FailureOr<Value> accumulateColumn(linalg::LinalgOp op, const Place &loops,
                                    Value accumulator);
  FailureOr<Value> read(Value tensor, const Place &place);
  Value write(Value vector, Value tensor, const Place &place);
  Value toVector(Value value, int64_t width);

  // Places (VectorValues.cpp).
  Place operandPlace(AffineMap map, const Place &loops);
  Place expandedPlace(tensor::ExpandShapeOp op, const Place &place);
  Block *entryBlock();
  Value constant(int64_t value);
  Value addIndex(Value index, int64_t offset);
  TileStore *storeOf(Value tensor);

  OpBuilder &builder;
  Location loc;
  int64_t chunk;
  MutableArrayRef<TileStore> stores;
  std::vector<std::unique_ptr<RowReduction>> sums;
  bool hasColumnSum = false, hasLongTerms = false;
  bool hasSeveralColumns = false;
  std::map<ScopedValues<Place>::Key, unsigned> planned;
  ScopedValues<Place> known;
  std::map<int64_t, Value> constants;
};

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_VECTOREMITTER_H
