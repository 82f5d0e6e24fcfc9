//===- FormKernels.cpp - block-form-kernels -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An update on tensors becomes kernels and one step that calls them. The
// decisions are KernelGraph's (which ops share a kernel) and Placement's (where
// values live); this file writes them down.
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "dialects/Geo/Geo.h"
#include "passes/Block/Config.h"
#include "passes/Block/Levels.h"
#include "passes/Block/Passes.h"
#include "passes/Block/Placement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::block {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

static bool isProduct(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalg::isaContractionOpInterface(linalgOp);
}

static bool isNumber(Value value) {
  return value.getType().isF32() &&
         value.getDefiningOp<arith::ConstantOp>() != nullptr;
}

namespace {

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

/// Writes one call of a placement as a function.
class KernelBuilder {
public:
  KernelBuilder(const Placement &placement, const Call &call, bool takesNumbers)
      : placement(placement), call(call),
        takesNumbers(takesNumbers && llvm::any_of(call.ops, isProduct)) {
    for (const Store &store : call.stores)
      written.insert(store.to);
    made.insert(call.ops.begin(), call.ops.end());
  }

  func::FuncOp build(Location loc, StringRef name);

  /// What the step hands over, a `Storage *` or a scalar for each argument.
  SmallVector<PointerUnion<Storage *, Value>> arguments;
  /// Numbers that follow them.
  SmallVector<TypedAttr> constants;

private:
  Value getArgument(Type type, PointerUnion<Storage *, Value> what);
  Value getMemory(Storage *storage) {
    return getArgument(storage->getMemoryType(), storage);
  }
  Value getTensor(Value memory, bool writable);
  Value viewMemory(Operation *view, Value memory);
  Value read(Value value);
  void cloneOp(Operation *op);
  void writeStores();
  void declareHost(geo::HostKernelOpInterface op);
  OpBuilder atTop();

  const Placement &placement;
  const Call &call;
  /// The numbers of a product's epilogue are arguments, so that steps of one
  /// iteration that differ in their coefficients are one kernel.
  bool takesNumbers;
  llvm::SmallPtrSet<Storage *, 4> written;
  llvm::SmallPtrSet<Operation *, 8> made;

  func::FuncOp kernel;
  /// Views and tensors of arguments stand before everything else.
  Operation *lastAtTop = nullptr;
  OpBuilder body{static_cast<MLIRContext *>(nullptr)};
  IRMapping mapping;
  llvm::DenseMap<void *, Value> argumentOf;
  llvm::DenseMap<Value, Value> tensorOf;
  /// Views of memory, by the op that takes the view.
  llvm::DenseMap<Operation *, Value> viewOf;
};

} // namespace

OpBuilder KernelBuilder::atTop() {
  OpBuilder b(body);
  if (lastAtTop)
    b.setInsertionPointAfter(lastAtTop);
  else
    b.setInsertionPointToStart(&kernel.getBody().front());
  return b;
}

Value KernelBuilder::getArgument(Type type,
                                 PointerUnion<Storage *, Value> what) {
  Value &argument = argumentOf[what.getOpaqueValue()];
  if (!argument) {
    argument = kernel.getBody().addArgument(type, kernel.getLoc());
    arguments.push_back(what);
  }
  return argument;
}

Value KernelBuilder::getTensor(Value memory, bool writable) {
  Value &tensor = tensorOf[memory];
  if (!tensor) {
    auto type = cast<MemRefType>(memory.getType());
    OpBuilder b = atTop();
    auto op = bufferization::ToTensorOp::create(
        b, kernel.getLoc(),
        RankedTensorType::get(type.getShape(), type.getElementType()), memory,
        /*restrict=*/true, writable);
    lastAtTop = op;
    tensor = op;
  }
  return tensor;
}

/// The view of `memory` that a view op takes of a tensor, or the place that an
/// insertion writes to.
Value KernelBuilder::viewMemory(Operation *view, Value memory) {
  Value &result = viewOf[view];
  if (result)
    return result;
  OpBuilder b = atTop();
  Location loc = kernel.getLoc();
  auto subview = [&](auto op, RankedTensorType type) -> Value {
    MemRefType layout = memref::SubViewOp::inferRankReducedResultType(
        type.getShape(), cast<MemRefType>(memory.getType()),
        op.getStaticOffsets(), op.getStaticSizes(), op.getStaticStrides());
    return memref::SubViewOp::create(b, loc, layout, memory,
                                     op.getStaticOffsets(), op.getStaticSizes(),
                                     op.getStaticStrides());
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(view))
    result = subview(slice, slice.getType());
  else if (auto insert = dyn_cast<tensor::InsertSliceOp>(view))
    result = subview(insert, insert.getSourceType());
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(view))
    result =
        memref::ExpandShapeOp::create(b, loc, expand.getResultType().getShape(),
                                      memory, expand.getReassociationIndices());
  else
    result = memref::CollapseShapeOp::create(
        b, loc, memory,
        cast<tensor::CollapseShapeOp>(view).getReassociationIndices());
  lastAtTop = result.getDefiningOp();
  return result;
}

/// The value inside of the kernel that stands for `value` of the update.
Value KernelBuilder::read(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  if (def && isRepeatable(def)) {
    for (Value operand : def->getOperands())
      read(operand);
    body.clone(*def, mapping);
    return mapping.lookup(value);
  }
  if (!isa<TensorType>(value.getType())) {
    mapping.map(value, getArgument(value.getType(), value));
    return mapping.lookup(value);
  }
  // A tensor in memory, perhaps seen through views.
  SmallVector<Operation *> views;
  Value base = value;
  for (; isView(base.getDefiningOp());
       base = base.getDefiningOp()->getOperand(0))
    views.push_back(base.getDefiningOp());
  Storage *storage = placement.storageOf.lookup(base);
  Value memory = getMemory(storage);
  for (Operation *view : llvm::reverse(views))
    memory = viewMemory(view, memory);
  Value tensor = getTensor(memory, written.contains(storage));
  if (storage->layout) {
    OpBuilder b = atTop();
    tensor =
        createUnpack(b, kernel.getLoc(), tensor,
                     cast<RankedTensorType>(value.getType()), storage->layout);
    lastAtTop = tensor.getDefiningOp();
  }
  mapping.map(value, tensor);
  return tensor;
}

void KernelBuilder::cloneOp(Operation *op) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  if (takesNumbers && isa<linalg::GenericOp>(op) && !isProduct(op))
    for (Value value : used)
      if (isNumber(value) && !mapping.contains(value))
        mapping.map(value, getArgument(value.getType(), value));
  used.insert_range(op->getOperands());
  for (Value value : used)
    read(value);
  body.clone(*op, mapping);
}

void KernelBuilder::writeStores() {
  llvm::SmallPtrSet<Value, 4> stored;
  Location loc = kernel.getLoc();
  for (const Store &store : call.stores) {
    Value value = read(store.value);
    Value memory = getMemory(store.to);
    if (store.place)
      memory = viewMemory(store.place, memory);
    Operation *def = store.value.getDefiningOp();
    // One value goes straight to one place, and is copied to others.
    if (store.to->layout)
      value = createPack(body, loc, value, store.to->layout);
    else if (!def || !made.contains(def) ||
             !stored.insert(store.value).second) {
      auto type = cast<RankedTensorType>(value.getType());
      Value empty = tensor::EmptyOp::create(body, loc, type.getShape(),
                                            type.getElementType());
      value = linalg::CopyOp::create(body, loc, value, empty).getResult(0);
    }
    bufferization::MaterializeInDestinationOp::create(
        body, loc, /*result=*/Type(), value, memory, /*restrict=*/true,
        /*writable=*/true);
  }
}

/// The kernel is a function of the host: a declaration that says which one, and
/// arguments in the order that the interface promises.
void KernelBuilder::declareHost(geo::HostKernelOpInterface op) {
  SmallVector<Type> types;
  auto add = [&](PointerUnion<Storage *, Value> what) {
    auto *storage = dyn_cast<Storage *>(what);
    types.push_back(storage ? Type(storage->type)
                            : cast<Value>(what).getType());
    arguments.push_back(what);
  };
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()))
      add(placement.storageOf.lookup(operand));
    else
      add(operand);
  for (Value result : op->getResults())
    add(placement.storageOf.lookup(result));
  add(call.scratch);
  for (TypedAttr constant : op.getHostConstants()) {
    constants.push_back(constant);
    types.push_back(constant.getType());
  }
  Builder b(op->getContext());
  kernel.setFunctionType(b.getFunctionType(types, {}));
  kernel.setPrivate();
  kernel->setAttr(BlockDialect::hostAttrName,
                  b.getStringAttr(op.getHostSymbol()));
  kernel->setAttr(BlockDialect::opAttrName,
                  b.getStringAttr(op->getName().getStringRef()));
  kernel->setAttr(BlockDialect::gridAttrName, b.getI64IntegerAttr(1));
}

func::FuncOp KernelBuilder::build(Location loc, StringRef name) {
  MLIRContext *context = loc.getContext();
  body = OpBuilder(context);
  kernel = func::FuncOp::create(loc, name, FunctionType::get(context, {}, {}));
  if (call.scratch) {
    declareHost(cast<geo::HostKernelOpInterface>(call.ops.front()));
    return kernel;
  }
  kernel->setAttr(BlockDialect::kernelAttrName, UnitAttr::get(context));
  Block *block = kernel.addEntryBlock();
  body.setInsertionPointToStart(block);
  auto end = func::ReturnOp::create(body, loc);
  body.setInsertionPoint(end);
  for (Operation *op : call.ops)
    cloneOp(op);
  writeStores();
  kernel.setFunctionType(FunctionType::get(
      context, kernel.getBody().front().getArgumentTypes(), {}));
  return kernel;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Gives `func` the memory form of its signature and an empty body; returns
/// the new block.
static Block *makeStep(func::FuncOp func, const Placement &placement) {
  MLIRContext *context = func.getContext();
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (BlockArgument argument : func.getArguments()) {
    Storage *storage = placement.storageOf.lookup(argument);
    types.push_back(storage ? Type(storage->type) : argument.getType());
    attributes.push_back(func.getArgAttrDict(argument.getArgNumber()));
    if (!attributes.back())
      attributes.back() = DictionaryAttr::get(context);
  }
  auto addExtra = [&](StringRef role, MemRefType type) {
    types.push_back(type);
    attributes.push_back(DictionaryAttr::get(
        context, NamedAttribute(StringAttr::get(context, roleAttrName),
                                StringAttr::get(context, role))));
  };
  for (const ExtraArgument &extra : placement.extraArguments)
    addExtra(extra.role, extra.type);
  addExtra(workspaceRole, MemRefType::get({placement.workspaceBytes},
                                          IntegerType::get(context, 8)));

  func.getBody().front().dropAllReferences();
  func.getBody().getBlocks().clear();
  func.setFunctionType(FunctionType::get(context, types, {}));
  func.removeResAttrsAttr();
  func.setAllArgAttrs(attributes);
  func->setAttr(BlockDialect::stepAttrName, UnitAttr::get(context));
  return func.addEntryBlock();
}

/// A call's operand: memory, a constant, or the number of a scalar among the
/// arguments.
struct Operand {
  Storage *storage = nullptr;
  unsigned argument = 0;
  TypedAttr constant = {};
};
static Operand operandOf(PointerUnion<Storage *, Value> what) {
  if (auto *storage = dyn_cast<Storage *>(what))
    return {storage};
  auto scalar = cast<Value>(what);
  if (auto number = scalar.getDefiningOp<arith::ConstantOp>())
    return {nullptr, 0, number.getValue()};
  return {nullptr, cast<BlockArgument>(scalar).getArgNumber()};
}

using KernelCall = std::pair<func::FuncOp, SmallVector<Operand>>;

/// Replaces the update by the calls of its kernels.
static void writeStep(func::FuncOp func, const Placement &placement,
                      ArrayRef<KernelCall> calls) {
  Location loc = func.getLoc();
  Block *block = makeStep(func, placement);
  OpBuilder b = OpBuilder::atBlockEnd(block);
  llvm::DenseMap<Storage *, Value> views;
  auto getValue = [&](Operand operand) -> Value {
    auto [storage, scalar, constant] = operand;
    if (constant)
      return arith::ConstantOp::create(b, loc, constant);
    if (!storage)
      return block->getArgument(scalar);
    if (storage->argument >= 0)
      return block->getArgument(storage->argument);
    Value &view = views[storage];
    if (!view)
      view = memref::ViewOp::create(
          b, loc, storage->getMemoryType(), block->getArguments().back(),
          arith::ConstantIndexOp::create(b, loc, storage->offset),
          ValueRange());
    return view;
  };
  for (auto [kernel, operands] : calls)
    func::CallOp::create(b, loc, kernel,
                         llvm::map_to_vector(operands, getValue));
  func::ReturnOp::create(b, loc);
}

namespace {

struct FormKernelsPass : block::impl::FormKernelsBase<FormKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    bodies.clear();
    if (failed(checkBound(getOperation())))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isUpdate(func) && failed(split(func, symbols)))
        return signalPassFailure();
  }

private:
  LogicalResult split(func::FuncOp func, SymbolTable &symbols);
  LogicalResult checkHostCall(Operation *op);
  func::FuncOp addKernel(func::FuncOp kernel, func::FuncOp step,
                         unsigned &count, SymbolTable &symbols);

  /// Kernels by their text: steps of one iteration, and updates with and
  /// without an increment, are mostly made of the same kernels.
  llvm::StringMap<func::FuncOp> bodies;
};

} // namespace

/// Returns the kernel of the module that equals `kernel`, or adds it.
func::FuncOp FormKernelsPass::addKernel(func::FuncOp kernel, func::FuncOp step,
                                        unsigned &count, SymbolTable &symbols) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel.print(stream, OpPrintingFlags().useLocalScope());
  func::FuncOp &known = bodies[text];
  if (known) {
    kernel.erase();
    return known;
  }
  known = kernel;
  kernel.setName((step.getName() + "_k" + Twine(count++)).str());
  symbols.insert(kernel, Block::iterator(step));
  ++numKernels;
  return kernel;
}

/// The host's function reads memory as it is.
LogicalResult FormKernelsPass::checkHostCall(Operation *op) {
  if (!hostKernels)
    return op->emitOpError("is computed by a function of the host, which ")
           << (target.empty() ? "this target" : "target " + target)
           << " does not have"
           << (isa<geo::RowDiameterOp>(op)
                   ? "; form = \"relax\" runs everywhere"
                   : "; only CPUs serve it");
  for (Value operand : op->getOperands())
    if (isa<TensorType>(operand.getType()) && isView(operand.getDefiningOp()))
      return op->emitOpError("expected no slice of a matrix, but whole "
                             "matrices, which the function of the host reads");
  auto function = op->getParentOfType<func::FuncOp>();
  auto host = cast<geo::HostKernelOpInterface>(op);
  remark::analysis(op->getLoc(), remark::RemarkOpts::name("Host")
                                     .category("block-form-kernels")
                                     .function(function.getName()))
      << remark::add("{0}: {1}; works in {2} bytes", op->getName(),
                     host.getHostCost(), host.getWorkspaceBytes());
  return success();
}

/// A number that a rule computes for a function of the host goes to memory,
/// where the function reads it as it reads an argument.
static void storeScalars(func::FuncOp func) {
  func.walk([](geo::HostKernelOpInterface op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Value scalar = operand.get();
      if (op.getHostSymbol().empty() || isa<BlockArgument>(scalar) ||
          isa<TensorType>(scalar.getType()))
        continue;
      OpBuilder b(op);
      Value memory = tensor::EmptyOp::create(
          b, op.getLoc(), ArrayRef<OpFoldResult>{}, scalar.getType());
      AffineMap map = AffineMap::get(b.getContext());
      auto store = linalg::GenericOp::create(
          b, op.getLoc(), memory.getType(), ValueRange{}, memory, map,
          ArrayRef<utils::IteratorType>{},
          [&](OpBuilder &b, Location loc, ValueRange) {
            linalg::YieldOp::create(b, loc, scalar);
          });
      operand.set(store.getResult(0));
    }
  });
}

LogicalResult FormKernelsPass::split(func::FuncOp func, SymbolTable &symbols) {
  storeScalars(func);
  separateResults(func);
  if (panel < 0)
    return func.emitOpError() << "expected the option panel to be at least 0, "
                                 "got "
                              << panel.getValue();
  // Rounded operands are AMX's; a function has panels of one width.
  bool forAMX = amx && panel && roundsOperands(func);
  if (panel)
    copyOperands(func, /*inRows=*/forAMX);
  FailureOr<KernelGraph> graph = KernelGraph::build(func);
  if (failed(graph))
    return failure();
  FailureOr<Placement> placement =
      Placement::build(func, *graph, forAMX ? amxMicro : panel);
  if (failed(placement))
    return failure();

  keepSymmetric(placement->calls);
  for (const Call &call : placement->calls)
    if (call.scratch && failed(checkHostCall(call.ops.front())))
      return failure();
  SmallVector<KernelCall> calls;
  unsigned count = 0;
  for (const Call &call : placement->calls) {
    KernelBuilder builder(*placement, call, /*takesNumbers=*/panel > 0);
    func::FuncOp kernel = builder.build(func.getLoc(), "kernel");
    if (call.group > 0)
      kernel->setAttr(BlockDialect::groupAttrName,
                      Builder(kernel).getI64IntegerAttr(call.group));
    calls.push_back({addKernel(kernel, func, count, symbols), {}});
    for (PointerUnion<Storage *, Value> what : builder.arguments) {
      calls.back().second.push_back(operandOf(what));
    }
    for (TypedAttr constant : builder.constants)
      calls.back().second.push_back(Operand{nullptr, 0, constant});
  }
  writeStep(func, *placement, calls);
  workspaceBytes += placement->workspaceBytes;
  return success();
}
