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
/// `units` vectors of `width`. It lies in the same order in shared memory, in
/// rows with `stride` elements from one to the next, or swizzled.
///
/// Swizzled is what tensor cores read without conflicts and without padding:
/// columns are cut into spans of 128 bytes, a span's rows follow each other,
/// and the eight units of 16 bytes of row i are exchanged by xor with i % 8.
/// That is the layout "128-byte swizzle" of wgmma's descriptors.
struct OperandTile {
  OpOperand *operand = nullptr;
  bool alongDepth = false; ///< the depth is the contiguous dimension
  int64_t rows = 0, columns = 0, width = 1, units = 0;

  // In shared memory:
  Type element;
  bool swizzled = false;
  int64_t stride = 0;
  Value buffer;

  int64_t size() const { return swizzled ? rows * columns : rows * stride; }
  int64_t elementBytes() const { return element.getIntOrFloatBitWidth() / 8; }
  int64_t bytes() const { return size() * elementBytes(); }
};

/// Elements of a swizzled tile's spans and units.
constexpr int64_t spanOfSwizzle = 64, unitOfSwizzle = 8, rowsOfSwizzle = 8;

/// Emits a block's tile of a product. Operands go from memory to shared memory
/// by asynchronous copies, `stages - 1` steps of the depth ahead, one barrier a
/// step. Where they cannot (an operand that is computed or rounded on the way,
/// vectors of less than four bytes, one stage), they go through registers: the
/// next step's loads are under way while this one is computed. How a step is
/// computed is what derived classes know.
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
  /// `meanwhile` emits what begins the copies of a later step, and is called
  /// where they best begin.
  virtual Values start() = 0;
  virtual Values step(Value buffer, ValueRange sums,
                      llvm::function_ref<void()> meanwhile) = 0;
  virtual LogicalResult finish(ValueRange sums) = 0;
  /// What a thread does after writing its part of shared memory, before the
  /// barrier.
  virtual void publish() {}

  /// The layout of bf16 operands for tensor cores.
  void layOutRounded(OperandTile &tile);
  /// Results of a warp that has, at (row, column), `down` times `across` parts
  /// of 16x8 in the registers of mma.m16n8.
  LogicalResult emitParts(ValueRange sums, Value row, Value column,
                          int64_t down, int64_t across);

  /// Computes and writes the results that depend on the `sums` at `row` and the
  /// columns from `column + shift` on, numbers within the tile. On the diagonal
  /// of what is symmetric only those of the lower triangle.
  LogicalResult emitResults(Value row, Value column, int64_t shift, Value sums);
  /// The same for the mirror image of what is symmetric; `row` is a column of
  /// this tile, and columns are its rows. Does nothing for other products.
  LogicalResult emitMirrored(Value row, Value column, int64_t shift,
                             Value sums);

  Value constant(int64_t value);
  Value add(Value lhs, Value rhs);
  Value add(Value lhs, int64_t rhs);
  Value multiply(Value lhs, int64_t rhs);
  Value divide(Value lhs, int64_t rhs);
  Value remainder(Value lhs, int64_t rhs);
  /// The number of an element of an operand's tile.
  Value indexIn(const OperandTile &tile, Value row, Value column);
  /// The address of an element, `offset` elements beyond `index`.
  Value at(const OperandTile &tile, Value buffer, Value index, int64_t offset);

  OpBuilder &builder;
  KernelEntry &entry;
  const KernelShape &shape;
  ThreadEmitter &values;
  Location loc;
  int64_t m, n, k;     ///< of a block's tile
  int64_t depth;       ///< of the whole product
  int64_t buffers;     ///< of a step's operands in shared memory
  int64_t threads;     ///< of a block
  Value thread;        ///< which of them this is
  Value row0, column0; ///< where the tile starts
  OperandTile left, right;

private:
  // Operands.
  LogicalResult readOperand(OperandTile &tile, unsigned number);
  LogicalResult allocate();
  bool canCopy(const OperandTile &tile) const;

  // From memory to shared memory (ProductCopies.cpp).
  FailureOr<Values> emitPipeline();
  FailureOr<Values> emitThroughRegisters();
  ThreadPlace placeOf(const OperandTile &tile, Value start, int64_t unit);
  Value destination(const OperandTile &tile, Value buffer, int64_t unit);
  void copy(const OperandTile &tile, Value start, Value buffer);
  FailureOr<Values> fetch(const OperandTile &tile, Value start);
  void stash(const OperandTile &tile, ArrayRef<Value> units, Value buffer);

  // Results.
  void chooseTile();
  LogicalResult emitAll(ValueRange sums);
  LogicalResult emitPieces(Value row, Value column, int64_t shift, Value sums,
                           bool mirrored);
  LogicalResult emitAt(Value row, Value column, int64_t shift, int64_t width,
                       Value sums, Value mask);

  Value onDiagonal;           ///< of what is symmetric; else null
  bool emitsTriangle = false; ///< results of a tile on the diagonal
};

/// Sums by fused multiply-adds in binary32, 8x8 a thread.
std::unique_ptr<ProductEmitter> createFMAProduct(OpBuilder &builder,
                                                 KernelEntry &entry,
                                                 const KernelShape &shape,
                                                 ThreadEmitter &values);

/// Whether `config` is a tile that warpgroups can make by wgmma: bf16 operands,
/// 64 rows a group.
bool isWarpgroupTile(ConfigAttr config);

/// Sums by the tensor cores of sm_90a, which read both operands from shared
/// memory. The tile is one of warpgroups.
std::unique_ptr<ProductEmitter> createWarpgroupProduct(OpBuilder &builder,
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
