//===- KernelGraph.h - which ops share a kernel -----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops of an update that work on tensors, what each of them needs of what it
// reads, and the kernels that follow from it. Pure analysis: nothing is
// changed.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_KERNELGRAPH_H
#define STEEP_PASSES_BLOCK_KERNELGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::block {

/// For every dimension of a tensor, the loop of an op that runs along it, or -1
/// where the op wants all of the dimension whatever the loops.
using Access = SmallVector<int64_t, 4>;

/// An op that does work on tensors, and how its work may be cut into blocks.
struct Work {
  Operation *op = nullptr;
  /// Loops that blocks may be cut along, and their sizes: loop gridLoops[i]
  /// runs along dimension i of every result. A kernel may use fewer of them.
  SmallVector<int64_t, 2> gridLoops, gridSizes;
  /// How the operands and the results are indexed, by their numbers.
  SmallVector<Access> operands, results;
  /// A product of matrices: wants tiles of two dimensions, and to be the only
  /// one of its kernel.
  bool isContraction = false;
  /// Done by a function of the host: shares its kernel with nothing.
  bool isHost = false;
  /// Copies a matrix for products alone, and so shares its kernel with nothing:
  /// it is to arrange the matrix as they want it.
  bool isOperandCopy = false;
};

/// A value in memory or of another op that some op reads.
struct Read {
  Value value;
  /// Empty where all of the value is needed, or only a part by its position.
  Access access;
  /// Whether a slice or a reshaped form is read.
  bool throughView = false;
};

struct Kernel {
  SmallVector<Operation *> ops;
  /// Sizes of the result dimensions that blocks are cut along.
  SmallVector<int64_t, 2> grid;
  bool hasContraction = false;
  bool isHost = false;
  bool isOperandCopy = false;
  /// What the ops read and the kernel does not make.
  llvm::SmallSetVector<Value, 8> reads;
};

/// Whether an op is cheap enough, and free enough of memory, to be repeated in
/// every kernel that wants its result: scalars, constants, fills, empty tensors
/// and views of those.
bool isRepeatable(Operation *op);

/// Whether a value is made by a view op (a slice, another shape) of a tensor.
bool isView(Operation *op);

/// The tensor that a chain of views starts from.
Value stripViews(Value value);

class KernelGraph {
public:
  /// Cuts the body of a function. Emits an error and fails where an op is not
  /// one that kernels are made of.
  static FailureOr<KernelGraph> build(func::FuncOp func);

  /// Kernels in an order in which each one only needs earlier ones.
  SmallVector<Kernel> kernels;
  llvm::DenseMap<Operation *, unsigned> kernelOf;

  const Work &getWork(Operation *op) const { return works.find(op)->second; }
  /// What an op reads, behind repeatable ops and views.
  SmallVector<Read> getReads(Operation *op) const;
  /// Whether blocks that are cut along the first `rank` dimensions of the
  /// results need only their own part of what is read.
  bool isBlockLocal(const Work &work, const Read &read, unsigned rank) const;

private:
  LogicalResult analyze(Operation *op);
  void place(Operation *op);
  bool isShared(Value value, unsigned index, unsigned rank) const;
  bool join(Operation *op, ArrayRef<Read> reads, unsigned index);

  llvm::MapVector<Operation *, Work> works;
};

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_KERNELGRAPH_H
