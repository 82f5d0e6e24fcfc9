//===- Interleave.h - sums of rows while rows are made ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_INTERLEAVE_H
#define STEEP_PASSES_BLOCK_INTERLEAVE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::block {

/// A kernel that makes rows, and one that adds up groups of those rows: block b
/// of the second needs the rows of block b of the first. Partial sums lie where
/// the result goes, so each column's terms are added in the order of the kernel
/// alone.
///
/// A row is added in the walk that the maker makes over its columns anyway: of
/// rows that the maker only reads, the same row; of rows that it makes, the row
/// before, which is in the first-level cache, so that no walk waits for the sum
/// along a row and memory always has work. Where the two walks differ, a row is
/// added by a walk of its own right after it is made.
class Interleaving {
public:
  /// `isMade` tells memory of the reader that the maker writes.
  static std::optional<Interleaving>
  find(scf::ForallOp maker, scf::ForallOp reader, int64_t group,
       llvm::function_ref<bool(BlockArgument)> isMade);

  /// Writes both bodies before the end of `into`; the mappings hold the
  /// arguments of the kernels and the number of the block. `inside` tells
  /// whether the reader has that block; null: it has all.
  void emit(scf::ForallOp into, IRMapping makers, IRMapping readers,
            Value inside);

private:
  bool findRows();
  bool findSums(Block &block, int64_t group,
                llvm::function_ref<bool(BlockArgument)> isMade);
  void findWalks();
  void cloneSums(OpBuilder &b, Operation &op, IRMapping &mapping, Value row);
  void cloneSums(OpBuilder &b, Block &from, IRMapping &mapping, Value row);
  void cloneRows(OpBuilder &b, IRMapping makers, Value begin, Value end);
  void cloneRows(OpBuilder &b, IRMapping makers, Value begin, Value end,
                 const IRMapping &readers, int64_t behind);
  void emitTogether(OpBuilder &b, const IRMapping &makers,
                    const IRMapping &readers);
  void emitInTurns(OpBuilder &b, const IRMapping &makers,
                   const IRMapping &readers, Value inside);

  scf::ForallOp maker, reader;
  scf::ForOp rows; ///< of the maker
  /// Loops over the same columns: the maker's first of a row, and the reader's.
  scf::ForOp makersWalk, readersWalk;
  bool hasSums = false;
  bool sumsMade = false; ///< sums have terms that the maker writes
};

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_INTERLEAVE_H
