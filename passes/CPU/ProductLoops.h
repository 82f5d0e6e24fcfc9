//===- ProductLoops.h - the loops of a matrix product -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_CPU_PRODUCTLOOPS_H
#define STEEP_PASSES_CPU_PRODUCTLOOPS_H

#include "dialects/Block/Block.h"
#include "passes/CPU/TileEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::block {

/// The product of a kernel, or null.
linalg::LinalgOp findProduct(func::FuncOp func);

/// Emits a kernel whose result is made of one product of matrices.
///
/// A block owns `tile` of the result. Its sums are formed over one slab of the
/// depth after the other, if `tile` says how deep a slab is, and lie in the
/// result in between; within a slab it goes down the rows by `micro`, and for
/// each over the panels of columns; the sums of `micro` are registers for all
/// of the slab. The first slab starts from what the product starts from, and
/// the last one evaluates what is made of the product before anything is
/// stored.
///
/// Of a symmetric product only the parts at and below the diagonal are
/// computed, and then copied to their places above it, so both elements of a
/// pair are one sum.
///
/// Where the config says `amx`, whole parts of `micro` are summed up in AMX's
/// registers, then stored to a buffer in the first-level cache, from which what
/// is made of them is evaluated; what is left at the borders is computed with
/// vectors, as is a depth below that of one instruction.
class ProductLoops {
public:
  /// `dotBF16` says whether the target multiplies pairs of BF16 and adds them
  /// to FP32.
  ProductLoops(func::FuncOp func, ConfigAttr config, linalg::LinalgOp product,
               ArrayRef<TileOutput> outputs, bool dotBF16);

  LogicalResult emit();

private:
  using Values = TileEmitter::Values;
  /// A slab of the depth.
  struct Slab {
    Value start;
    int64_t size;
    bool isFirst, isLast;
  };
  /// What is in registers at once.
  struct Tile {
    Value row;
    int64_t rows;
    Value column;
    int64_t columns;
  };
  struct Side {
    int64_t size, block, step;
    int64_t blocks() const { return llvm::divideCeil(size, block); }
    int64_t whole() const { return size - size % step; }
  };
  /// Adds some terms from the given one on.
  using DepthBody =
      llvm::function_ref<FailureOr<Values>(Value, int64_t, Values)>;

  LogicalResult check();
  LogicalResult checkOperands();
  bool hasSlabs();
  LogicalResult emitBlock(Value block);
  LogicalResult emitSlabs();
  LogicalResult emitSlab(const Slab &slab);
  LogicalResult emitRow(const Slab &slab, Value row, int64_t count);
  LogicalResult emitTile(const Slab &slab, const Tile &tile);
  LogicalResult emitVectors(const Slab &slab, const Tile &tile);
  FailureOr<Values> startSums(const Slab &slab, ArrayRef<TilePlace> places);
  FailureOr<Values> addSlab(const Slab &slab, const Tile &tile,
                            ArrayRef<TilePlace> places, Values sums);
  FailureOr<Values> addPanel(Value first, Value panel, int64_t size,
                             ArrayRef<TilePlace> places, Values sums);
  FailureOr<Values> addTerm(Value k, ArrayRef<TilePlace> places, Values sums);
  FailureOr<Values> addPair(Value k, ArrayRef<TilePlace> places, Values sums);
  TilePlace operandAt(unsigned operand, const TilePlace &place, Value k);
  FailureOr<Value> readLeftPair(const TilePlace &at);
  Value multiplyAdd(Value x, Value y, Value sum);
  Value multiplyPairs(Value left, Value right, Value sum);
  FailureOr<Values> buildDepth(int64_t size, Values sums, DepthBody body);
  void askAhead(ArrayRef<Value> terms, int64_t i, ArrayRef<TilePlace> places);
  void askForNextPanel(Value start, int64_t i, Value panel,
                       ArrayRef<TilePlace> places);
  void askForResult(const Slab &slab, const Tile &tile, Value step,
                    int64_t steps);
  LogicalResult finish(ArrayRef<TilePlace> places, ValueRange sums,
                       std::optional<unsigned> stored = std::nullopt);
  void storeResult(unsigned output, size_t number, ArrayRef<TilePlace> places,
                   ArrayRef<Values> results);

  // AMX.
  bool usesAMX() const { return !config.getAmx().empty(); }
  LogicalResult checkAMX();
  void prepareAMX();
  void configureAMX();
  void callAMX(StringRef name, ArrayRef<int64_t> parts, ValueRange memory = {});
  void moveTile(StringRef name, int64_t part, const TileMemory &memory,
                const TilePlace &place);
  bool canUseAMX(const Slab &slab, const Tile &tile) const;
  void moveSums(StringRef name, const TileMemory &memory, Value row,
                Value column);
  void addTerms(const Slab &slab, const Tile &tile);
  void askForMirror(const Slab &slab, const Tile &tile, Value step);
  LogicalResult emitOnAMX(const Slab &slab, const Tile &tile);
  LogicalResult finishAMX(const Slab &slab, const Tile &tile,
                          const TileMemory &sums);
  bool startsAtZero() const;

  // Symmetric results.
  bool canMirror() const;
  /// The rows that are copied in squares of vectors, which must not cross
  /// panels, and how many at a time; the others element by element.
  int64_t squares() const {
    return columns.step % lanes == 0 ? rows.size - rows.size % lanes : 0;
  }
  int64_t rowsOfGroup() const { return columns.step; }
  LogicalResult emitTriangle(const Slab &slab);
  LogicalResult emitBelow(const Slab &slab, bool mirrors, Value first,
                          Value end, Value size);
  LogicalResult emitDiagonal(const Slab &slab, Value first, int64_t size);
  void mirrorRows(Value row, Value rowEnd, Value column, Value columnEnd);
  void mirrorDiagonal(Value first);
  void mirrorLastRows();

  // Control flow.
  LogicalResult buildIf(Value condition,
                        llvm::function_ref<LogicalResult()> body);
  Value add(Value x, Value y);
  Value extent(Value first, const Side &side, int64_t whole);
  Value isLastBlock(Value block, const Side &side);
  bool readsAcross(unsigned operand) const;

  func::FuncOp func;
  ConfigAttr config;
  linalg::LinalgOp product;
  ArrayRef<TileOutput> outputs;
  OpBuilder builder;
  TileEmitter values;
  Location loc;
  int64_t lanes, depth, slabSize;
  Side rows, columns;
  unsigned depthLoop;
  bool isSymmetric;
  bool dotBF16;
  /// Whether terms are added two at a time: operands are BF16.
  bool isPaired = false;
  SmallVector<TileMemory> memories; // of the outputs
  /// The FP32 result in which sums lie between slabs.
  unsigned sumsOutput = 0;
  /// The panels that the left operand is read along, or 0.
  int64_t leftPanel = 0;
  /// On AMX: where sums lie when they leave its registers, and what the
  /// registers are configured from.
  TileMemory sumsBuffer;
  Value tileConfig;
  /// The output that is the product itself, to which sums are stored at once.
  std::optional<unsigned> plainOutput;
  /// Of the current block: its place in the grid and its first row and column.
  Value rowBlock, columnBlock, firstRow, firstColumn;
};

/// Emits a kernel that makes each element of its results by itself. A block
/// owns `rows` rows.
LogicalResult emitElementwise(func::FuncOp func, ConfigAttr config,
                              ArrayRef<TileOutput> outputs);

/// The forall over a grid of `blocks`, whose body is empty.
scf::ForallOp createGrid(OpBuilder &builder, func::FuncOp func, int64_t blocks);

} // namespace mlir::block

#endif // STEEP_PASSES_CPU_PRODUCTLOOPS_H
