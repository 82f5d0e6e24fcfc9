//===- TileEmitter.h - values of a kernel at places in memory ---*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_CPU_TILEEMITTER_H
#define STEEP_PASSES_CPU_TILEEMITTER_H

#include "passes/Block/Bodies.h"
#include "passes/Block/Panels.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::block {

/// An element of a matrix, or `width` elements along the dimension `along`.
struct TilePlace : ElementPlace {
  int64_t key() const { return width; }
  void becomeScalar() { width = 0; }
};

/// A tensor in memory: row-major, or a matrix in panels. With pairs, the two
/// elements of a pair are neighbours in the last of three dimensions.
struct TileMemory {
  Value memref;
  PanelLayout layout = {};

  Type elementType() const {
    return cast<MemRefType>(memref.getType()).getElementType();
  }
};

/// A result of a kernel and the memory that it is written to.
struct TileOutput {
  Value value;
  Value memref;
  PanelLayout layout = {};

  RankedTensorType type() const {
    return cast<RankedTensorType>(value.getType());
  }
};

/// Takes the stores out of a kernel. On failure an error was reported.
FailureOr<SmallVector<TileOutput>> collectTileOutputs(func::FuncOp func);

/// Evaluates the tensors of a kernel where a loop nest wants them, straight
/// from memory: for kernels that are not tiled.
///
/// An index is the sum of a base, which a loop makes, and a number. An index of
/// a column has a panel and an offset in it; those of `base + number` are the
/// panel of the base and its offset plus the number, so whoever forms an index
/// sees to it that this stays within one panel.
class TileEmitter {
public:
  using Values = SmallVector<Value>;

  TileEmitter(OpBuilder &builder, func::FuncOp func)
      : builder(builder), func(func), loc(func.getLoc()) {}

  /// Reads the numbers of the kernel that are in memory, before its blocks.
  void readScalars();

  // Indices. Constants are made at the top of the kernel, others where their
  // base is.
  Value constant(int64_t value);
  Value index(Value base, int64_t number);
  /// Says that `base` is a column of this panel, at this place in it.
  void setPanel(Value base, int64_t width, Value panel, Value offset) {
    panels[{base, width}] = {panel, offset};
  }
  /// Says which pair of rows begins at `base`.
  void setPair(Value base, Value pair) { pairs[base] = pair; }
  /// The rows of a group, as many as a vector has lanes: what is read along
  /// them is transposed in registers.
  void setGroup(Value base, int64_t size) {
    groupBase = base;
    groupSize = size;
  }

  // Values.
  FailureOr<Value> evaluate(Value tensor, const TilePlace &place);
  Value toVector(Value value, int64_t width);
  Value load(const TileMemory &memory, const TilePlace &place);
  void store(Value value, const TileMemory &memory, const TilePlace &place);
  /// Asks for what `place` will be read from, or written to; it may be behind
  /// the memory.
  void prefetch(const TileMemory &memory, const TilePlace &place,
                bool isWrite = false);
  /// The address of the element at `place`, or of its pair, for instructions
  /// that no op stands for.
  Value pointer(const TileMemory &memory, const TilePlace &place);
  /// The elements of two rows from `place` on in turn. In memory without pairs
  /// they are brought together.
  Value loadPairs(const TileMemory &memory, const TilePlace &place);
  void storePairs(Value first, Value second, const TileMemory &memory,
                  const TilePlace &place);
  /// `count` rows from `place` on.
  Values loadRows(const TileMemory &memory, const TilePlace &place,
                  int64_t count);
  void storeRows(ValueRange rows, const TileMemory &memory,
                 const TilePlace &place);
  /// Where a tensor lies, if it is one of the kernel's arguments.
  std::optional<TileMemory> findMemory(Value tensor);
  /// The memory that an argument is, as loads and stores want it.
  TileMemory getMemory(Value memref, PanelLayout layout);

  /// A loop whose body forgets what it knows when it is left.
  LogicalResult buildFor(Value begin, Value end, int64_t step,
                         llvm::function_ref<LogicalResult(Value)> body);

  /// What is known of values at places.
  ScopedValues<TilePlace> known;

private:
  struct Index {
    Value base;
    int64_t number = 0;
  };
  Index split(Value index) const;
  void setAfter(Value base, OpBuilder &b) const;
  std::pair<Value, Value> panelOf(Value index, int64_t width);
  Value pairOf(Value row);
  Value scaled(Value index, int64_t factor);
  Values addressPairs(const TileMemory &memory, const TilePlace &place);
  Values address(const TileMemory &memory, ArrayRef<Value> index);

  FailureOr<Value> evaluateNew(Value tensor, const TilePlace &place);
  FailureOr<Values> evaluateBody(linalg::LinalgOp op, const TilePlace &loops);
  FailureOr<Value> evaluateScalar(Value scalar);
  Value loadAcross(Value tensor, const TileMemory &memory,
                   const TilePlace &place);

  OpBuilder &builder;
  func::FuncOp func;
  Location loc;
  llvm::DenseMap<int64_t, Value> constants;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> sums;
  llvm::DenseMap<Value, Index> indices;
  llvm::DenseMap<std::pair<Value, int64_t>, std::pair<Value, Value>> panels;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> multiples;
  llvm::DenseMap<Value, Value> pairs;
  llvm::DenseMap<Value, Value> collapsed;
  llvm::DenseMap<Value, Value> pointers;
  Value groupBase;
  int64_t groupSize = 0;
};

/// The transpose of n vectors of n elements, n a power of two, in registers.
SmallVector<Value> transposeSquare(OpBuilder &builder, Location loc,
                                   SmallVector<Value> rows);

/// Vectors that cover `size` elements: where each starts, and its width. Whole
/// ones of `lanes`, then of halving widths, which every target has.
SmallVector<std::pair<int64_t, int64_t>> cutIntoVectors(int64_t size,
                                                        int64_t lanes);

} // namespace mlir::block

#endif // STEEP_PASSES_CPU_TILEEMITTER_H
