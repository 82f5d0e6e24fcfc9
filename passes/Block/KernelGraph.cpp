//===- KernelGraph.cpp - which ops share a kernel -------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/KernelGraph.h"

#include "dialects/Geo/Geo.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::block;

static bool isTensor(Value value) { return isa<TensorType>(value.getType()); }
static bool isTensorType(Type type) { return isa<TensorType>(type); }

//===----------------------------------------------------------------------===//
// Values that cost nothing
//===----------------------------------------------------------------------===//

bool block::isView(Operation *op) {
  return isa_and_present<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
                         tensor::CollapseShapeOp>(op);
}

Value block::stripViews(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool block::isRepeatable(Operation *op) {
  if (!isMemoryEffectFree(op) || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  // Scalars, also those that are read from a tensor of rank 0.
  if (llvm::none_of(op->getResultTypes(), isTensorType))
    return true;
  if (isa<tensor::EmptyOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto isRepeatableValue = [](Value value) {
    Operation *def = value.getDefiningOp();
    return def && isRepeatable(def);
  };
  if (isa<linalg::FillOp>(op))
    return isRepeatableValue(op->getOperand(1));
  return isView(op) && isRepeatableValue(op->getOperand(0));
}

//===----------------------------------------------------------------------===//
// What an op needs of what it reads
//===----------------------------------------------------------------------===//

static Access getAccess(AffineMap map) {
  Access access;
  for (AffineExpr result : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    access.push_back(dim ? int64_t(dim.getPosition()) : -1);
  }
  return access;
}

static SmallVector<utils::IteratorType> readIndexingMaps(linalg::LinalgOp op,
                                                         Work &work) {
  for (OpOperand &operand : op->getOpOperands())
    work.operands.push_back(getAccess(op.getMatchingIndexingMap(&operand)));
  for (OpResult result : op->getResults())
    work.results.push_back(getAccess(op.getIndexingMapMatchingResult(result)));
  return op.getIteratorTypesArray();
}

/// The loop whose tile offset is `offset`, or -1.
static int64_t getLoop(OpFoldResult offset, ArrayRef<Value> loops) {
  auto value = dyn_cast<Value>(offset);
  const auto *it = value ? llvm::find(loops, value) : loops.end();
  return it == loops.end() ? -1 : it - loops.begin();
}

static Access getAccess(ArrayRef<OpFoldResult> offsets, ArrayRef<Value> loops) {
  Access access;
  for (OpFoldResult offset : offsets)
    access.push_back(getLoop(offset, loops));
  return access;
}

/// How operand `number` of `op` is indexed, told by the operand of its tile.
static Access getAccess(Operation *op, unsigned number, Value tiled,
                        ArrayRef<Value> loops) {
  auto slice = tiled.getDefiningOp<tensor::ExtractSliceOp>();
  if (slice && slice.getSource() == op->getOperand(number))
    return getAccess(slice.getMixedOffsets(), loops);
  auto type = dyn_cast<RankedTensorType>(tiled.getType());
  return Access(type ? type.getRank() : 0, -1);
}

/// Tiles `op` for trial with named offsets and looks where they end up: this
/// is what the op itself says that a tile needs.
static FailureOr<SmallVector<utils::IteratorType>>
tileForTrial(TilingInterface op, Work &work) {
  SmallVector<utils::IteratorType> iterators = op.getLoopIteratorTypes();
  OpBuilder b(op);
  auto begin = UnrealizedConversionCastOp::create(
      b, op.getLoc(), SmallVector<Type>(iterators.size(), b.getIndexType()),
      ValueRange());
  SmallVector<Value> loops(begin.getResults());
  SmallVector<OpFoldResult> offsets = getAsOpFoldResult(loops),
                            sizes(loops.size(), b.getIndexAttr(1));
  FailureOr<TilingResult> tile = op.getTiledImplementation(b, offsets, sizes);
  bool known = succeeded(tile) && tile->tiledOps.size() == 1 &&
               tile->tiledOps[0]->getNumOperands() == op->getNumOperands();
  for (unsigned i = 0; known && i < op->getNumOperands(); ++i)
    work.operands.push_back(
        getAccess(op, i, tile->tiledOps[0]->getOperand(i), loops));
  for (unsigned i = 0; known && i < op->getNumResults(); ++i) {
    SmallVector<OpFoldResult> resultOffsets, resultSizes;
    known = succeeded(op.getResultTilePosition(b, i, offsets, sizes,
                                               resultOffsets, resultSizes));
    work.results.push_back(getAccess(resultOffsets, loops));
  }
  while (begin->getNextNode() != op)
    op->getPrevNode()->erase();
  begin->erase();
  if (!known)
    return failure();
  return iterators;
}

/// An insertion is a copy of its source to a place in memory.
static SmallVector<utils::IteratorType> readInsertion(tensor::InsertSliceOp op,
                                                      Work &work) {
  int64_t rank = op.getSourceType().getRank();
  work.operands.assign(op->getNumOperands(), Access());
  for (int64_t i = 0; i < rank; ++i)
    work.operands[0].push_back(i);
  work.operands[1].assign(op.getDestType().getRank(), -1);
  return SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel);
}

/// Finds the leading dimensions that blocks may be cut along: the same parallel
/// loop runs along them in every result.
static void findGrid(Work &work, ArrayRef<utils::IteratorType> iterators,
                     ArrayRef<Access> results, ArrayRef<int64_t> shape) {
  for (unsigned dim = 0; dim < std::min<size_t>(2, shape.size()); ++dim) {
    int64_t loop = results[0][dim];
    bool agree = llvm::all_of(results, [&](const Access &access) {
      return dim < access.size() && access[dim] == loop;
    });
    if (!agree || loop < 0 || iterators[loop] != utils::IteratorType::parallel)
      return;
    work.gridLoops.push_back(loop);
    work.gridSizes.push_back(shape[dim]);
  }
}

LogicalResult KernelGraph::analyze(Operation *op) {
  auto isDynamic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && !shaped.hasStaticShape();
  };
  if (llvm::any_of(op->getOperandTypes(), isDynamic) ||
      llvm::any_of(op->getResultTypes(), isDynamic))
    return op->emitOpError("works on a tensor of unknown size; expected "
                           "kernels to be formed of instantiated rules");
  Work work;
  work.op = op;
  if (auto host = dyn_cast<geo::HostKernelOpInterface>(op);
      host && !host.getHostSymbol().empty()) {
    // Every value is needed, and made, whole.
    work.isHost = true;
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      work.operands.push_back(Access(type ? type.getRank() : 0, -1));
    }
    for (Value result : op->getResults())
      work.results.push_back(
          Access(cast<RankedTensorType>(result.getType()).getRank(), -1));
    works.insert({op, work});
    return success();
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    SmallVector<utils::IteratorType> iterators = readInsertion(insert, work);
    findGrid(work, iterators, work.operands[0],
             insert.getSourceType().getShape());
    works.insert({op, work});
    return success();
  }
  FailureOr<SmallVector<utils::IteratorType>> iterators = failure();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    iterators = readIndexingMaps(linalgOp, work);
  else if (auto tiling = dyn_cast<TilingInterface>(op))
    iterators = tileForTrial(tiling, work);
  if (failed(iterators) || op->getNumResults() == 0)
    return op->emitOpError("cannot be cut into blocks; expected it to be "
                           "expanded before kernels are formed");
  findGrid(work, *iterators, work.results,
           cast<RankedTensorType>(op->getResult(0).getType()).getShape());
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  work.isContraction = linalgOp && work.gridLoops.size() == 2 &&
                       linalg::isaContractionOpInterface(linalgOp);
  work.isOperandCopy =
      isa<linalg::CopyOp, linalg::TransposeOp>(op) &&
      llvm::all_of(op->getUsers(), [](Operation *user) {
        auto product = dyn_cast<linalg::LinalgOp>(user);
        return product && linalg::isaContractionOpInterface(product);
      });
  works.insert({op, work});
  return success();
}

/// Adds to `reads` what `value` stands for, if it is indexed by `access`.
static void addReads(Value value, ArrayRef<int64_t> access,
                     SmallVectorImpl<Read> &reads) {
  Value base = isTensor(value) ? stripViews(value) : value;
  Operation *def = base.getDefiningOp();
  if (def && isRepeatable(def)) {
    for (Value operand : def->getOperands())
      addReads(operand, {}, reads);
    return;
  }
  if (isTensor(base))
    reads.push_back({base, base == value ? Access(access) : Access(),
                     /*throughView=*/base != value});
}

SmallVector<Read> KernelGraph::getReads(Operation *op) const {
  const Work &work = getWork(op);
  SmallVector<Read> reads;
  for (OpOperand &operand : op->getOpOperands()) {
    // Where an insertion goes to is written, not read.
    if (isa<tensor::InsertSliceOp>(op) && operand.getOperandNumber() == 1)
      continue;
    addReads(operand.get(), work.operands[operand.getOperandNumber()], reads);
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    addReads(value, {}, reads);
  return reads;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether the first `rank` dimensions of a tensor are those of the grid.
static bool startsWithGrid(ArrayRef<int64_t> access, const Work &work,
                           unsigned rank) {
  return access.size() >= rank && work.gridLoops.size() >= rank &&
         access.take_front(rank) == ArrayRef(work.gridLoops).take_front(rank);
}

bool KernelGraph::isBlockLocal(const Work &work, const Read &read,
                               unsigned rank) const {
  if (read.throughView || !startsWithGrid(read.access, work, rank))
    return false;
  auto result = dyn_cast<OpResult>(read.value);
  if (!result)
    return true;
  const Work &producer = getWork(result.getOwner());
  // The result of an insertion is whole only once all of it has happened.
  return !producer.results.empty() &&
         startsWithGrid(producer.results[result.getResultNumber()], producer,
                        rank);
}

static void remarkOnFusion(Operation *op, Value with, StringRef why) {
  auto options = [&](StringRef name) {
    return remark::RemarkOpts::name(name)
        .category("block-form-kernels")
        .function(op->getParentOfType<func::FuncOp>().getName());
  };
  Operation *producer = with.getDefiningOp();
  std::string text =
      (op->getName().getStringRef() +
       (why.empty() ? " joins " : " starts after ") +
       (producer ? "the kernel of " + producer->getName().getStringRef().str()
                 : "a kernel that reads the same"))
          .str();
  if (why.empty())
    remark::passed(op->getLoc(), options("Fused")) << remark::add("{0}", text);
  else
    remark::missed(op->getLoc(), options("NotFused"))
        << remark::add("{0}", text) << remark::reason("{0}", why);
}

/// Whether the ops of a kernel read `value`, each block its own part.
bool KernelGraph::isShared(Value value, unsigned index, unsigned rank) const {
  const Kernel &kernel = kernels[index];
  if (!kernel.reads.contains(value))
    return false;
  for (Operation *op : kernel.ops)
    for (const Read &read : getReads(op))
      if (read.value == value && !isBlockLocal(getWork(op), read, rank))
        return false;
  return true;
}

/// Adds `op` to a kernel if its blocks can do it; says why not otherwise.
bool KernelGraph::join(Operation *op, ArrayRef<Read> reads, unsigned index) {
  Kernel &kernel = kernels[index];
  const Work &work = getWork(op);
  unsigned rank = std::min(kernel.grid.size(), work.gridLoops.size());
  const Read *fused = nullptr, *shared = nullptr;
  for (const Read &read : reads) {
    Operation *def = read.value.getDefiningOp();
    if (def && kernelOf.lookup_or(def, ~0u) == index)
      fused = &read;
    else if (isBlockLocal(work, read, rank) &&
             isShared(read.value, index, rank))
      shared = &read;
  }
  auto refuse = [&](StringRef why) {
    if (fused)
      remarkOnFusion(op, fused->value, why);
    return false;
  };
  if (!fused && !shared)
    return false;

  if (kernel.isOperandCopy || work.isOperandCopy)
    return refuse("an operand of products is copied by itself");
  if (kernel.isHost || work.isHost)
    return refuse("the host's solver is a kernel of its own");
  bool contraction = kernel.hasContraction || work.isContraction;
  if (kernel.hasContraction && work.isContraction)
    return refuse("a kernel holds one product");
  // Tiles of a product are not widened to rows, nor is one block made of many.
  if ((contraction && rank < 2) ||
      rank < std::min<size_t>(
                 1, std::max(kernel.grid.size(), work.gridLoops.size())))
    return refuse("its blocks are cut along other dimensions");
  if (ArrayRef(kernel.grid).take_front(rank) !=
      ArrayRef(work.gridSizes).take_front(rank))
    return refuse("its grid has another size");
  // What is merely read by both saves no memory beside a product.
  if (!fused && contraction)
    return false;
  for (const Read &read : reads) {
    Operation *def = read.value.getDefiningOp();
    if (def && kernelOf.lookup_or(def, ~0u) == index &&
        !isBlockLocal(work, read, rank))
      return refuse("it needs more than a block of it");
  }

  kernel.grid.truncate(rank);
  kernel.hasContraction = contraction;
  remarkOnFusion(op, fused ? fused->value : shared->value, "");
  return true;
}

void KernelGraph::place(Operation *op) {
  SmallVector<Read> reads = getReads(op);
  unsigned first = 0;
  for (const Read &read : reads)
    if (Operation *def = read.value.getDefiningOp())
      first = std::max(first, kernelOf.lookup(def));
  // Nothing can be added to a destination before it is complete.
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    if (Operation *def = insert.getDest().getDefiningOp();
        def && kernelOf.contains(def))
      first = std::max(first, kernelOf.lookup(def) + 1);

  unsigned index = first;
  while (index < kernels.size() && !join(op, reads, index))
    ++index;
  if (index == kernels.size()) {
    const Work &work = getWork(op);
    kernels.emplace_back();
    kernels.back().grid.assign(work.gridSizes);
    kernels.back().hasContraction = work.isContraction;
    kernels.back().isHost = work.isHost;
    kernels.back().isOperandCopy = work.isOperandCopy;
  }
  kernelOf[op] = index;
  kernels[index].ops.push_back(op);
  for (const Read &read : reads) {
    Operation *def = read.value.getDefiningOp();
    if (!def || kernelOf.lookup(def) != index)
      kernels[index].reads.insert(read.value);
  }
}

FailureOr<KernelGraph> KernelGraph::build(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return func.emitOpError("expected a body of one block");
  KernelGraph graph;
  SmallVector<Operation *> ops;
  for (Operation &op : func.getBody().front().without_terminator())
    if (!isRepeatable(&op) && !isView(&op))
      ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(graph.analyze(op)))
      return failure();
  for (Operation *op : ops)
    graph.place(op);
  return graph;
}
