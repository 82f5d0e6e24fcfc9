//===- ProductEmitter.h - a block's tile of a matrix product ----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_NVPTX_PRODUCTEMITTER_H
#define STEEP_PASSES_NVPTX_PRODUCTEMITTER_H

#include "passes/NVPTX/ThreadEmitter.h"

namespace mlir::block {

/// An operand's part that a block needs for one step of the depth: `rows` times
/// `columns` elements in the order of memory, of which every thread moves
/// `units` vectors of `width`.
struct OperandTile {
  OpOperand *operand = nullptr;
  bool alongDepth = false; ///< the depth is the contiguous dimension
  int64_t rows = 0, columns = 0, width = 1, units = 0;

  // In shared memory:
  Type element;
  bool transposed = false; ///< against the order of memory
  int64_t stride = 0;      ///< elements from row to row
  Value buffer;

  int64_t sharedRows() const { return transposed ? columns : rows; }
  int64_t size() const { return sharedRows() * stride; }
};

/// Emits a block's tile of a product: operands go from memory through
/// registers to shared memory, so that the next step's loads are under way
/// while this one is computed. With two buffers a step has one barrier, with
/// one it has two, and may be twice as deep. How a step is computed is what
/// derived classes know.
class ProductEmitter {
public:
  ProductEmitter(OpBuilder &builder, KernelEntry &entry,
                 const KernelShape &shape, ThreadEmitter &values);
  virtual ~ProductEmitter() = default;

  LogicalResult emit();

protected:
  using Values = SmallVector<Value>;

  /// Chooses how an operand lies in shared memory.
  virtual void layOut(OperandTile &tile) = 0;
  /// Sums that start from zero; what one step adds to them; where they go.
  virtual Values start() = 0;
  virtual Values step(Value buffer, ValueRange sums) = 0;
  virtual LogicalResult finish(ValueRange sums) = 0;

  /// Computes and writes the results that depend on the `sums` at `row` and the
  /// columns from `column + shift` on, numbers within the tile.
  LogicalResult emitResults(Value row, Value column, int64_t shift, Value sums);
  /// The same for the tile on the other side of the diagonal, whose rows are
  /// this tile's columns, where there is one.
  LogicalResult emitMirrored(Value row, Value column, int64_t shift,
                             Value sums);

  Value constant(int64_t value);
  Value add(Value lhs, Value rhs);
  Value add(Value lhs, int64_t rhs);
  Value multiply(Value lhs, int64_t rhs);
  Value divide(Value lhs, int64_t rhs);
  Value remainder(Value lhs, int64_t rhs);
  /// The address of an element of an operand's tile.
  Value at(const OperandTile &tile, Value buffer, Value index, int64_t offset);

  OpBuilder &builder;
  KernelEntry &entry;
  const KernelShape &shape;
  ThreadEmitter &values;
  Location loc;
  int64_t m, n, k;     ///< of a block's tile
  int64_t depth;       ///< of the whole product
  int64_t buffers;     ///< of a step's operands in shared memory: `stages`
  int64_t threads;     ///< of a block
  Value thread;        ///< which of them this is
  Value row0, column0; ///< where the tile starts
  OperandTile left, right;

private:
  LogicalResult readOperands();
  LogicalResult readOperand(OperandTile &tile, unsigned number);
  void chooseTile();
  FailureOr<Values> fetch(const OperandTile &tile, Value start);
  void stash(const OperandTile &tile, ArrayRef<Value> units, Value buffer);
  LogicalResult emitAt(Value row, Value column, int64_t shift, int64_t width,
                       Value sums);

  Value onDiagonal; ///< of what is symmetric; else null
};

/// Sums by fused multiply-adds in binary32, 8x8 a thread.
std::unique_ptr<ProductEmitter> createFMAProduct(OpBuilder &builder,
                                                 KernelEntry &entry,
                                                 const KernelShape &shape,
                                                 ThreadEmitter &values);

/// Sums by tensor cores, of bf16 operands or of tf32 operands in two parts.
std::unique_ptr<ProductEmitter> createMMAProduct(OpBuilder &builder,
                                                 KernelEntry &entry,
                                                 const KernelShape &shape,
                                                 ThreadEmitter &values);

} // namespace mlir::block

#endif // STEEP_PASSES_NVPTX_PRODUCTEMITTER_H
