//===- ThreadEmitter.h - the program of one thread --------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_NVPTX_THREADEMITTER_H
#define STEEP_PASSES_NVPTX_THREADEMITTER_H

#include "passes/Block/Bodies.h"
#include "passes/NVPTX/KernelEntry.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <map>
#include <vector>

namespace mlir::block {

/// Where a tensor is asked for its value by one thread: one element, or `width`
/// consecutive ones along the dimension `along`, the first of which has the
/// index `index[along] + shift`. Indices are i64.
struct ThreadPlace : ElementPlace {
  int64_t shift = 0;
  /// Whether this thread has such elements at all (i1); null: it has.
  Value mask;

  std::pair<int64_t, int64_t> key() const { return {shift, width}; }
  void becomeScalar() { shift = width = 0; }
};

/// How a team of threads walks over a row: a chunk is `width` elements a
/// thread, and the threads' elements follow one another.
struct Walk {
  int64_t extent, width, threads;

  int64_t chunk() const { return width * threads; }
  int64_t whole() const { return extent / chunk(); }
  bool hasTail() const { return extent % chunk() != 0; }
  int64_t chunks() const { return whole() + hasTail(); }
  /// Whether a thread's share of the row stays in registers.
  bool isShort() const { return chunks() * width <= longestShare; }

  static constexpr int64_t longestShare = 64;
};

/// Emits what one thread does to compute parts of the values of a formed
/// kernel, on demand: a value is computed where a store, or a sum along the
/// row, needs it, straight from the tensors' definitions, which are never
/// tiled. What was computed is remembered, so a short row is read once and
/// stays in registers.
class ThreadEmitter {
public:
  /// A team is all threads that share a row: a warp, or all warps of a block.
  ThreadEmitter(OpBuilder &builder, KernelEntry &entry,
                const KernelShape &shape, bool wholeBlock);

  /// Computes what depends on no tensor, once.
  LogicalResult emitScalars();
  /// All results at one row (Rows), or all results of rank 0 (Single, `row`
  /// null).
  LogicalResult emitRow(Value row);
  /// All results at `width` columns from `column` on (Columns).
  LogicalResult emitColumns(Value column, Value mask);

  /// A scalar if the value is the same along the vector, else a vector.
  FailureOr<Value> evaluate(Value tensor, const ThreadPlace &place);
  LogicalResult write(Value value, Value memory, const ThreadPlace &place);
  /// The address in `memory` of the first element of `place`.
  Value pointTo(Value memory, const ThreadPlace &place);
  /// Says what `tensor` is at `place`, from here on.
  void remember(Value tensor, const ThreadPlace &place, Value value) {
    known.remember(tensor, place, value);
  }
  void enterScope() { known.enter(); }
  void leaveScope() { known.leave(); }

private:
  using Values = SmallVector<Value>;
  using Visitor = llvm::function_ref<void(Value, const ThreadPlace &)>;
  /// A sum along a row, and where its result is wanted.
  struct Sum {
    linalg::LinalgOp op;
    ThreadPlace place;
    bool dependsOnSums; ///< its terms need other sums
  };

  // Rows (DistributeRows.cpp uses emitRow).
  bool mayBeNarrow(const Sum &sum) const;
  LogicalResult emitGuarded(ArrayRef<Sum> sums, Value row);
  LogicalResult preload(Value row);

  // Stores (ThreadStores.cpp).
  bool hasRow(const KernelResult &result) const;
  ThreadPlace storePlace(const KernelResult &result, Value row,
                         const ThreadPlace &column);
  bool isEarly(Value value, const ThreadPlace &place) const;
  Value overwrittenBy(Value value, const ThreadPlace &place);
  void chooseEarly(ArrayRef<Sum> sums, Value row);
  LogicalResult emitEarlyStores(const ThreadPlace &column);
  LogicalResult finishEarlyStores();
  LogicalResult emitStores(Value row);
  LogicalResult emitStoresAt(ArrayRef<const KernelResult *> list, Value row,
                             const ThreadPlace &column);
  LogicalResult emitScalarStores(Value row);
  void emitTeamBarrier();

  // Walks and sums (ThreadSums.cpp).
  Walk walkOf(int64_t extent) const;
  Value tailMask(const Walk &walk);
  LogicalResult emitWalk(
      const Walk &walk, Values &carried,
      llvm::function_ref<LogicalResult(const ThreadPlace &, Values &)> body);
  void collectSums(Value value, const ThreadPlace &place,
                   SmallVectorImpl<Sum> &sums);
  LogicalResult emitSum(const Sum &sum);
  FailureOr<Value> emitNarrowSum(const Sum &sum);
  FailureOr<Value> reduceTeam(Value vector, Operation *combine);
  Value reduceVector(Value vector, Operation *combine);
  Value reduceWarps(Value value, Operation *combine);
  Value shuffle(Value value, int64_t mask);
  Value reduceRowsOfWarps(Value vector, Operation *combine);
  LogicalResult emitColumnSum(linalg::LinalgOp op, const ThreadPlace &place);
  Value identity(Operation *combine, Type type);
  ThreadPlace sumLoops(linalg::LinalgOp op, const ThreadPlace &place,
                       const ThreadPlace &column);
  static bool isSumOfSquares(linalg::LinalgOp op);

  // Values.
  FailureOr<Value> evaluateNew(Value tensor, const ThreadPlace &place);
  FailureOr<Values> evaluateBody(linalg::LinalgOp op, const ThreadPlace &loops,
                                 ValueRange accumulators);
  LogicalResult evaluateInner(linalg::LinalgOp op, Operation &inner,
                              IRMapping &mapping, const ThreadPlace &loops);
  LogicalResult checkInner(Operation &inner);
  bool evaluateNarrow(Operation &inner, IRMapping &mapping);
  bool evaluateQuotient(linalg::LinalgOp op, Operation &inner,
                        IRMapping &mapping, int64_t width);
  FailureOr<Value> evaluateScalar(Value scalar);
  FailureOr<Value> emitPower(Operation *op);
  FailureOr<Value> evaluateIndex(linalg::IndexOp op, const ThreadPlace &loops);
  void visitOperands(Value value, const ThreadPlace &place, Visitor visit);

  // Memory.
  static Value getViewed(Value memory);
  FailureOr<Value> read(Value memory, const ThreadPlace &place);
  Value address(Value memory, const ThreadPlace &place, int64_t lane,
                int64_t &alignment);
  Value underMask(Value mask, Type type, llvm::function_ref<Value()> make);

  // Places.
  FailureOr<ThreadPlace> operandPlace(AffineMap map, const ThreadPlace &loops);
  FailureOr<ThreadPlace> viewedPlace(Operation *view, const ThreadPlace &place);
  FailureOr<ThreadPlace> slicedPlace(tensor::ExtractSliceOp op,
                                     const ThreadPlace &place);
  FailureOr<ThreadPlace> expandedPlace(tensor::ExpandShapeOp op,
                                       const ThreadPlace &place);
  Value combineIndex(Value base, int64_t factor, Value step);
  Value constant(int64_t value);
  Value toVector(Value value, int64_t width);

  /// Floats of a thread that are loaded at once, at most, so that all loads of
  /// a row are under way together; with more, what only the stores need is
  /// loaded when they come (a row norm of 512 takes 54 registers then, not 62).
  static constexpr int64_t preloadedFloats = 32;
  /// Floats of a thread that are kept to be stored after the walk, at most.
  static constexpr int64_t keptFloats = 64;

  OpBuilder &builder;
  KernelEntry &entry;
  const KernelShape &shape;
  Location loc;
  bool wholeBlock;
  int64_t threads; ///< of a team
  Value member;    ///< which of them this is
  ScopedValues<ThreadPlace> known;
  IRMapping scalars;
  unsigned sharedBuffers = 0;
  /// Where in a chunk this thread's vector starts, by its width; which threads
  /// have elements in the last, partial chunk, by extent and width.
  std::map<int64_t, Value> firsts;
  std::map<std::pair<int64_t, int64_t>, Value> tailMasks;

  /// The results of a row that are written before its sums are known.
  struct EarlyStores {
    SmallVector<const KernelResult *> results;
    Value row;
    bool isPending = false;     ///< no walk has written them yet
    bool isInterleaved = false; ///< each chunk is written as it is summed

    bool has(Value value) const {
      return llvm::any_of(results, [&](const KernelResult *result) {
        return result->value == value;
      });
    }
  } early;

  /// While sums of squares are known to be right in binary32: the tensors whose
  /// squares they are, scalars made from them, and the binary32 values that
  /// binary64 ones were extended from.
  llvm::DenseSet<Value> guardedTensors, guarded;
  llvm::DenseMap<Value, Value> narrow;
};

} // namespace mlir::block

#endif // STEEP_PASSES_NVPTX_THREADEMITTER_H
