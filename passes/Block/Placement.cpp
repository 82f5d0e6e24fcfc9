//===- Placement.cpp - where the values of an update live -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Placement.h"

#include "dialects/Geo/Geo.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::block;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static StringRef getRole(StringAttr role) {
  return role ? role.getValue() : "";
}

/// The argument that result `number` replaces, or null.
static BlockArgument getHome(func::FuncOp func, unsigned number) {
  StringRef role =
      getRole(func.getResultAttrOfType<StringAttr>(number, roleAttrName));
  if (role != weightRole && role != stateRole)
    return {};
  // The j-th result of a role replaces the j-th argument of it.
  unsigned skip = 0;
  for (unsigned i = 0; i < number; ++i)
    skip +=
        getRole(func.getResultAttrOfType<StringAttr>(i, roleAttrName)) == role;
  for (BlockArgument argument : func.getArguments())
    if (getRole(func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  roleAttrName)) == role &&
        skip-- == 0)
      return argument;
  return {};
}

void block::separateResults(func::FuncOp func) {
  Operation *terminator = func.getBody().front().getTerminator();
  OpBuilder b(terminator);
  llvm::SmallPtrSet<Value, 4> seen;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    if (value == getHome(func, operand.getOperandNumber()) ||
        !isa<RankedTensorType>(value.getType()))
      continue;
    Operation *def = value.getDefiningOp();
    if (def && !isRepeatable(def) && !isView(def) &&
        !isa<tensor::InsertSliceOp>(def) && seen.insert(value).second)
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    Value empty =
        tensor::EmptyOp::create(b, operand.getOwner()->getLoc(),
                                type.getShape(), type.getElementType());
    operand.set(
        linalg::CopyOp::create(b, operand.getOwner()->getLoc(), value, empty)
            .getResult(0));
  }
}

Storage *Placement::addStorage(Type tensorType, int64_t argument) {
  auto type = cast<RankedTensorType>(tensorType);
  storages->push_back(
      {MemRefType::get(type.getShape(), type.getElementType()), argument});
  return &storages->back();
}

/// Whether `value` may be written over the argument at once: everybody who
/// reads the argument has done so, or is in the kernel that makes `value` and
/// reads the very block that it writes (a tile writes once all is computed).
bool Placement::mayOverwrite(BlockArgument home, OpResult value,
                             const KernelGraph &graph) const {
  unsigned kernel = graph.kernelOf.lookup(value.getOwner());
  for (auto [op, readerKernel] : graph.kernelOf) {
    for (const Read &read : graph.getReads(op)) {
      if (read.value != home || readerKernel < kernel)
        continue;
      if (readerKernel > kernel ||
          !graph.isBlockLocal(graph.getWork(op), read,
                              graph.kernels[kernel].grid.size()))
        return false;
    }
  }
  return true;
}

LogicalResult Placement::placeResults(func::FuncOp func,
                                      const KernelGraph &graph) {
  for (BlockArgument argument : func.getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      storageOf[argument] =
          addStorage(argument.getType(), argument.getArgNumber());
  Operation *terminator = func.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    StringRef role =
        getRole(func.getResultAttrOfType<StringAttr>(number, roleAttrName));
    BlockArgument home = getHome(func, number);
    if (home == operand.get() && home)
      continue;
    auto result = dyn_cast<OpResult>(operand.get());
    if (role == updateRole || role == squaresRole || role == gradientMeanRole ||
        role == measureRole) {
      extraArguments.push_back({role, {}});
      storageOf[result] =
          addStorage(result.getType(), func.getNumArguments() +
                                           int64_t(extraArguments.size()) - 1);
      extraArguments.back().type = storageOf[result]->type;
      continue;
    }
    if (!home)
      return func.emitOpError()
             << "has no argument that result #" << number << " replaces; "
             << "expected optim.role = \"weight\", \"state\", \"update\", "
                "\"squares\", \"gradient_mean\" or \"measure\" and an "
                "argument of the same role";
    if (home.getType() != result.getType())
      return func.emitOpError()
             << "expected result #" << number << " to have the type "
             << home.getType() << " of the argument it replaces, got "
             << result.getType();
    if (mayOverwrite(home, result, graph)) {
      storageOf[result] = storageOf[home];
      continue;
    }
    remark::missed(result.getOwner()->getLoc(),
                   remark::RemarkOpts::name("NotInPlace")
                       .category("block-form-kernels")
                       .function(func.getName()))
        << remark::add("the {0} is copied home at the end", role)
        << remark::reason("{0}",
                          "what it replaces is still read when it is made");
    storageOf[result] = addStorage(result.getType());
    finalCopies.push_back({result, storageOf[home]});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The workspace
//===----------------------------------------------------------------------===//

/// An insertion writes into the memory of its destination, backwards through
/// chains of insertions.
LogicalResult Placement::placeInsertions(const KernelGraph &graph) {
  for (const Kernel &kernel : llvm::reverse(graph.kernels))
    for (Operation *op : llvm::reverse(kernel.ops)) {
      auto insert = dyn_cast<tensor::InsertSliceOp>(op);
      if (!insert)
        continue;
      Storage *&storage = storageOf[insert.getResult()];
      if (!storage)
        storage = addStorage(insert.getType());
      Storage *memory = storage;
      Operation *def = insert.getDest().getDefiningOp();
      if (def && isRepeatable(def) && isa<tensor::EmptyOp, linalg::FillOp>(def))
        continue;
      if (!def || isRepeatable(def) || isView(def) ||
          !insert.getDest().hasOneUse())
        return insert.emitOpError(
            "writes into a tensor that has other uses; expected a fill, an "
            "empty tensor or a result that is used here alone");
      storageOf[insert.getDest()] = memory;
    }
  return success();
}

/// Values that one kernel makes and another reads need memory.
void Placement::placeCrossings(const KernelGraph &graph) {
  for (auto [index, kernel] : llvm::enumerate(graph.kernels))
    for (Operation *op : kernel.ops)
      for (const Read &read : graph.getReads(op)) {
        Operation *def = read.value.getDefiningOp();
        if (!def || graph.kernelOf.lookup(def) == index)
          continue;
        Storage *&storage = storageOf[read.value];
        if (!storage)
          storage = addStorage(read.value.getType());
      }
}

/// A function of the host writes every result, wanted or not, and works in
/// memory that it is handed.
void Placement::prepareHostCall(Operation *op, Call &call) {
  for (Value result : op->getResults())
    if (!storageOf.lookup(result))
      storageOf[result] = addStorage(result.getType());
  auto host = cast<geo::HostKernelOpInterface>(op);
  call.scratch = addStorage(RankedTensorType::get(
      {host.getWorkspaceBytes()}, IntegerType::get(op->getContext(), 8)));
}

void Placement::addCalls(const KernelGraph &graph) {
  for (const Kernel &kernel : graph.kernels) {
    Call call;
    if (kernel.isHost)
      prepareHostCall(kernel.ops.front(), call);
    for (Operation *op : kernel.ops) {
      auto insert = dyn_cast<tensor::InsertSliceOp>(op);
      if (!insert) {
        call.ops.push_back(op);
        for (Value result : op->getResults())
          if (Storage *storage = storageOf.lookup(result))
            call.stores.push_back({result, storage, nullptr});
        continue;
      }
      Storage *storage = storageOf.lookup(insert.getResult());
      // What surrounds the insertion is written by a call of its own, since it
      // has a grid of its own.
      if (auto fill = insert.getDest().getDefiningOp<linalg::FillOp>();
          fill && insert.getSourceType().getNumElements() !=
                      insert.getType().getNumElements())
        calls.push_back({{fill}, {{fill.getResult(0), storage, nullptr}}});
      call.stores.push_back({insert.getSource(), storage, insert});
    }
    if (!call.stores.empty())
      calls.push_back(std::move(call));
  }
  for (auto [value, home] : finalCopies)
    calls.push_back({{}, {{value, home, nullptr}}});

  for (auto [index, call] : llvm::enumerate(calls)) {
    llvm::SmallPtrSet<Operation *, 8> made(call.ops.begin(), call.ops.end());
    auto read = [&, index = index](Value value) {
      Operation *def = value.getDefiningOp();
      if (def && made.contains(def))
        return;
      if (Storage *storage = storageOf.lookup(value))
        storage->use(index);
    };
    for (Operation *op : call.ops)
      if (graph.kernelOf.contains(op))
        for (const Read &what : graph.getReads(op))
          read(what.value);
    for (const Store &store : call.stores) {
      store.to->use(index);
      read(stripViews(store.value));
    }
    if (call.scratch)
      call.scratch->use(index);
  }
}

/// The rows of a group if `value` is a matrix, or a vector, or the first part
/// of one, seen as groups of rows, and the matrix; else 0.
static std::pair<int64_t, Value> getGroups(Value value) {
  auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand || expand.getReassociationIndices().front().size() != 2)
    return {0, Value()};
  Value source = expand.getSrc();
  if (auto slice = source.getDefiningOp<tensor::ExtractSliceOp>()) {
    if (!llvm::all_of(slice.getStaticOffsets(),
                      [](int64_t offset) { return offset == 0; }))
      return {0, Value()};
    source = slice.getSource();
  }
  return {expand.getResultType().getDimSize(1), source};
}

/// Whether a kernel reads `matrix` row by row, as it makes rows.
static bool readsRows(Value matrix, unsigned kernel, const KernelGraph &graph) {
  return llvm::any_of(graph.kernels[kernel].ops, [&](Operation *op) {
    return llvm::any_of(graph.getReads(op), [&](const Read &read) {
      return read.value == matrix &&
             graph.isBlockLocal(graph.getWork(op), read, 1);
    });
  });
}

/// The rows of a group, if `op` works on groups of rows and `kernel` makes some
/// of what it reads, by rows, for no other purpose of the op, or reads a matrix
/// row by row whose groups `op` reads; else 0.
static int64_t getGroupRows(linalg::LinalgOp op, unsigned kernel,
                            const KernelGraph &graph) {
  int64_t group = 0;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Operation *def = stripViews(input->get()).getDefiningOp();
    auto [rows, source] = getGroups(input->get());
    if (!def || !graph.kernelOf.contains(def) ||
        graph.kernelOf.lookup(def) != kernel) {
      if (rows == 0 || !readsRows(source, kernel, graph))
        continue;
    } else if (source.getDefiningOp() != def ||
               graph.getWork(def).gridLoops.empty()) {
      return 0;
    }
    if (rows == 0 || (group != 0 && group != rows))
      return 0;
    group = rows;
  }
  return group;
}

/// A call whose only op sums groups of rows that the call before makes, or
/// reads.
void Placement::findGroups(const KernelGraph &graph) {
  for (size_t i = 0; i + 1 < calls.size(); ++i) {
    Call &maker = calls[i], &reader = calls[i + 1];
    if (maker.ops.empty() || reader.ops.size() != 1 || maker.scratch ||
        !graph.kernelOf.contains(maker.ops.front()))
      continue;
    auto op = dyn_cast<linalg::GenericOp>(reader.ops.front());
    unsigned index = graph.kernelOf.lookup(maker.ops.front());
    const Kernel &kernel = graph.kernels[index];
    if (!op || op.getNumLoops() != 3 || kernel.hasContraction ||
        kernel.grid.empty() ||
        // What follows another already is no maker.
        (i > 0 && calls[i - 1].group != 0) ||
        !llvm::all_of(op.getRegion().front(), [](Operation &inner) {
          return isMemoryEffectFree(&inner);
        }))
      continue;
    maker.group = getGroupRows(op, index, graph);
    if (maker.group == 0)
      continue;
    // Blocks of both are under way at once: what one of them uses must not be
    // memory of the other.
    for (Storage &storage : *storages) {
      if (storage.first <= i && storage.last >= i)
        storage.use(i + 1);
      if (storage.first <= i + 1 && storage.last >= i + 1)
        storage.use(i);
    }
  }
}

/// Largest first, each at the lowest place that is free for all of its life: a
/// call's results never share bytes with what it reads.
void Placement::packWorkspace() {
  SmallVector<Storage *> order;
  for (Storage &storage : *storages)
    if (storage.argument < 0 && storage.first != ~0u)
      order.push_back(&storage);
  llvm::stable_sort(order, [](Storage *a, Storage *b) {
    return a->getSize() > b->getSize();
  });
  SmallVector<Storage *> placed;
  for (Storage *storage : order) {
    SmallVector<Storage *> rivals =
        llvm::filter_to_vector(placed, [&](Storage *other) {
          return other->first <= storage->last && storage->first <= other->last;
        });
    llvm::sort(rivals,
               [](Storage *a, Storage *b) { return a->offset < b->offset; });
    for (Storage *rival : rivals)
      if (storage->offset + storage->getSize() > rival->offset)
        storage->offset = std::max(
            storage->offset, int64_t(llvm::alignTo(
                                 rival->offset + rival->getSize(), alignment)));
    placed.push_back(storage);
    workspaceBytes = std::max<int64_t>(
        workspaceBytes,
        llvm::alignTo(storage->offset + storage->getSize(), alignment));
  }
}

FailureOr<Placement> Placement::build(func::FuncOp func, KernelGraph &graph,
                                      int64_t panel) {
  Placement placement;
  if (failed(placement.placeResults(func, graph)) ||
      failed(placement.placeInsertions(graph)))
    return failure();
  placement.placeCrossings(graph);
  placement.addCalls(graph);
  if (panel)
    placement.choosePanels(graph, panel);
  placement.findGroups(graph);
  placement.packWorkspace();
  return placement;
}
