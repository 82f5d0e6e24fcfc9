//===- BlockToCPU.cpp - block-to-cpu --------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/Block/Levels.h"
#include "passes/CPU/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::block {
#define GEN_PASS_DEF_BLOCKTOCPU
#include "passes/CPU/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

namespace {
class KernelEntry {
public:
  KernelEntry(func::FuncOp kernel, const LLVMTypeConverter &types)
      : kernel(kernel), types(types), builder(kernel), loc(kernel.getLoc()) {}

  LogicalResult build();

private:
  FailureOr<Value> loadArgument(Value slots, unsigned number, Type type);
  LogicalResult check();

  func::FuncOp kernel;
  const LLVMTypeConverter &types;
  OpBuilder builder;
  Location loc;
};
} // namespace

LogicalResult KernelEntry::check() {
  if (!kernel->hasAttr(BlockDialect::gridAttrName))
    return kernel.emitOpError("kernel has no block.grid");
  if (kernel.getNumResults() != 0 || !kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expected a kernel of one block without results");
  SmallVector<scf::ForallOp> foralls(kernel.getOps<scf::ForallOp>());
  if (foralls.size() != 1 || foralls[0].getRank() != 1 ||
      foralls[0].getNumResults() != 0)
    return kernel.emitOpError("expected one bufferised scf.forall over a "
                              "one-dimensional grid");
  return success();
}

/// What the caller put into a slot: the address of the elements of a memref, or
/// of a scalar.
FailureOr<Value> KernelEntry::loadArgument(Value slots, unsigned number,
                                           Type type) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, slots,
                                   ArrayRef<LLVM::GEPArg>{int32_t(number)});
  Value address = LLVM::LoadOp::create(builder, loc, pointer, slot);
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (!memref.hasStaticShape() || !memref.getLayout().isIdentity())
      return kernel.emitOpError("expected argument ")
             << number << " to be of static shape and identity layout, but got "
             << type;
    Value descriptor =
        MemRefDescriptor::fromStaticShape(builder, loc, types, memref, address);
    return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
        .getResult(0);
  }
  if (!type.isIntOrFloat())
    return kernel.emitOpError("expected argument ")
           << number << " to be a memref or a number, but got " << type;
  return LLVM::LoadOp::create(builder, loc, type, address).getResult();
}

LogicalResult KernelEntry::build() {
  if (failed(check()))
    return failure();
  Type i64 = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), {pointer, i64, i64});
  std::string name = kernel.getName().str();
  auto entry = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  entry->setAttr(BlockDialect::gridAttrName,
                 kernel->getAttr(BlockDialect::gridAttrName));
  Block *body = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);

  IRMapping mapping;
  for (auto [number, argument] : llvm::enumerate(kernel.getArguments())) {
    FailureOr<Value> value =
        loadArgument(body->getArgument(0), number, argument.getType());
    if (failed(value)) {
      entry.erase();
      return failure();
    }
    mapping.map(argument, *value);
  }
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto forall = dyn_cast<scf::ForallOp>(op);
    if (!forall) {
      builder.clone(op, mapping);
      continue;
    }
    auto bound = [&](unsigned argument) -> Value {
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        body->getArgument(argument));
    };
    Value begin = bound(1), end = bound(2);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(builder, forall.getLoc(), begin, end, one);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    mapping.map(forall.getInductionVar(0), loop.getInductionVar());
    for (Operation &inner : forall.getBody()->without_terminator())
      builder.clone(inner, mapping);
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  kernel.erase();
  return success();
}

namespace {
struct BlockToCPUPass : block::impl::BlockToCPUBase<BlockToCPUPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkBlocks(module)))
      return signalPassFailure();
    LowerToLLVMOptions options(&getContext());
    LLVMTypeConverter types(&getContext(), options);
    // Steps call kernels, so they go first. The host's kernels are linked by
    // their own names.
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (func->hasAttr(BlockDialect::stepAttrName))
        func.erase();
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (func->hasAttr(BlockDialect::hostAttrName))
        func.erase();
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (func->hasAttr(BlockDialect::kernelAttrName) &&
          failed(KernelEntry(func, types).build()))
        return signalPassFailure();
  }
};
} // namespace
