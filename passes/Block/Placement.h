//===- Placement.h - where the values of an update live ---------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which memory every value that outlives its kernel is written to: the
// argument it replaces, an argument of its own, or a part of the workspace.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_BLOCK_PLACEMENT_H
#define STEEP_PASSES_BLOCK_PLACEMENT_H

#include "passes/Block/KernelGraph.h"
#include "passes/Block/Panels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <deque>

namespace mlir::block {

/// The role attribute of arguments and results, and the roles told apart here.
constexpr StringLiteral roleAttrName = "optim.role";
constexpr StringLiteral weightRole = "weight", stateRole = "state",
                        gradientRole = "gradient", updateRole = "update",
                        squaresRole = "squares",
                        gradientMeanRole = "gradient_mean",
                        measureRole = "measure", workspaceRole = "workspace";

/// Memory for one value at a time: a memref argument of the step function, or
/// bytes [offset, offset + size) of the workspace.
struct Storage {
  MemRefType type;
  /// Number of the step's argument, or -1 in the workspace.
  int64_t argument = -1;
  int64_t offset = 0;
  /// First and last call that uses it, as numbers of `Placement::calls`.
  unsigned first = ~0u, last = 0;

  PanelLayout layout = {};

  MemRefType getMemoryType() const {
    return layout ? getPanelType(type, layout) : type;
  }
  int64_t getSize() const {
    MemRefType memory = getMemoryType();
    return llvm::divideCeil(
        memory.getNumElements() * memory.getElementTypeBitWidth(), 8);
  }
  void use(unsigned call) {
    first = std::min(first, call);
    last = std::max(last, call);
  }
};

/// A value that a kernel writes to memory.
struct Store {
  Value value;
  Storage *to;
  /// The insertion whose place in `to` is meant, or null for all of `to`.
  tensor::InsertSliceOp place;
};

/// What one call does: ops, then stores.
struct Call {
  SmallVector<Operation *> ops;
  SmallVector<Store> stores;
  /// Of a function of the host, which is all of the call: its work space.
  Storage *scratch = nullptr;
  /// Rows of a group, where the next call sums what this one makes, or reads
  /// otherwise, group by group: blocks of both can run one after the other. 0:
  /// it does not.
  int64_t group = 0;
};

/// Results of an update that are more than arguments: their role and type.
struct ExtraArgument {
  StringRef role;
  MemRefType type;
};

/// Gives products copies of those operands that are not made by an op which
/// could write them as panels, and of what they read transposed: one copy a
/// value. With `inRows`, the left operands of products of BF16 lie in rows, as
/// AMX reads them, so of those that are read across, too, it is the transpose
/// that is copied.
void copyOperands(func::FuncOp func, bool inRows);

/// Whether a product of the function may round its operands to BF16, in pairs
/// of terms.
bool roundsOperands(func::FuncOp func);

/// Takes `geo.symmetric` from products of whose kernel something is stored that
/// is not symmetric: a target mirrors all that such a kernel stores.
void keepSymmetric(ArrayRef<Call> calls);

/// Makes every result of `func` the result of an op of its own, so that each
/// can be placed by itself: adds copies for returned arguments and repeated
/// results.
void separateResults(func::FuncOp func);

class Placement {
public:
  static constexpr int64_t alignment = 64;

  /// With `panel`, values of the workspace that products multiply lie in panels
  /// of that many columns wherever all kernels that touch them can do with it.
  static FailureOr<Placement> build(func::FuncOp func, KernelGraph &graph,
                                    int64_t panel = 0);

  SmallVector<Call> calls;
  SmallVector<ExtraArgument> extraArguments;
  /// Where the values are that are in memory, the function's tensors included.
  llvm::DenseMap<Value, Storage *> storageOf;
  int64_t workspaceBytes = 0;

private:
  LogicalResult placeResults(func::FuncOp func, const KernelGraph &graph);
  LogicalResult placeInsertions(const KernelGraph &graph);
  void placeCrossings(const KernelGraph &graph);
  void prepareHostCall(Operation *op, Call &call);
  void addCalls(const KernelGraph &graph);
  void choosePanels(const KernelGraph &graph, int64_t panel);
  void findGroups(const KernelGraph &graph);
  void packWorkspace();
  bool mayOverwrite(BlockArgument home, OpResult value,
                    const KernelGraph &graph) const;
  Storage *addStorage(Type tensorType, int64_t argument = -1);

  // A deque, since pointers into it must stay.
  std::shared_ptr<std::deque<Storage>> storages =
      std::make_shared<std::deque<Storage>>();
  /// Results that are made elsewhere and copied home at the end.
  SmallVector<std::pair<OpResult, Storage *>> finalCopies;
};

} // namespace mlir::block

#endif // STEEP_PASSES_BLOCK_PLACEMENT_H
