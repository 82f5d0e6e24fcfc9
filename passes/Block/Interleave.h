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
/// of the second needs the rows of block b of the first. A row can be added
/// right after it is made, while it is in the first-level cache and memory goes
/// on with the next one; partial sums lie where the result goes, so each
/// column's terms are added in the order of the kernel alone.
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
  void cloneSums(OpBuilder &b, Block &from, IRMapping &mapping, Value row);

  scf::ForallOp maker, reader;
  scf::ForOp rows; ///< of the maker
  bool hasSums = false;
};

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_INTERLEAVE_H
