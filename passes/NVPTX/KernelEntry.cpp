//===- KernelEntry.cpp - the ABI of GPU kernels ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/KernelEntry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::block;

static StringRef getSlot(func::FuncOp func, unsigned argument) {
  auto slot =
      func.getArgAttrOfType<StringAttr>(argument, BlockDialect::slotAttrName);
  return slot ? slot.getValue() : StringRef(externalSlot);
}

/// Whether some result goes to this argument.
static bool isWritten(const KernelShape &shape, BlockArgument argument) {
  return llvm::any_of(shape.results, [&](const KernelResult &result) {
    Value memory = result.memory;
    while (Operation *view = memory.getDefiningOp())
      memory = view->getOperand(0);
    return memory == argument;
  });
}

static LLVM::LLVMFuncOp createFunction(OpBuilder &builder,
                                       const KernelShape &shape) {
  MLIRContext *context = builder.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context, globalSpace);
  SmallVector<Type> types;
  for (BlockArgument argument : shape.func.getArguments())
    types.push_back(getSlot(shape.func, argument.getArgNumber()) == constantSlot
                        ? argument.getType()
                        : pointer);
  types.push_back(builder.getI64Type());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  builder.setInsertionPoint(shape.func);
  auto func = LLVM::LLVMFuncOp::create(builder, shape.func.getLoc(),
                                       shape.func.getName(), type);
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                builder.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                builder.getDenseI32ArrayAttr({32, int32_t(shape.warps())}));
  if (int64_t registers = shape.config.getMaxnreg())
    func->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                  builder.getI32IntegerAttr(registers));
  for (StringRef name : {StringRef(BlockDialect::gridAttrName),
                         StringRef(BlockDialect::tableAttrName),
                         StringRef(BlockDialect::singleAttrName)})
    if (Attribute attribute = shape.func->getAttr(name))
      func->setAttr(name, attribute);
  bool table = shape.func->hasAttr(BlockDialect::tableAttrName);
  for (BlockArgument argument : shape.func.getArguments()) {
    unsigned number = argument.getArgNumber();
    StringRef slot = getSlot(shape.func, number);
    if (slot == constantSlot)
      continue;
    bool isMemory = slot != scalarSlot && !(slot == externalSlot && table);
    // A wave's part of an array of scalars or pointers begins anywhere, and so
    // does a measure in the caller's array of them.
    auto memory = dyn_cast<MemRefType>(argument.getType());
    bool isNumber = memory && memory.getRank() == 0;
    int64_t alignment = isMemory && !isNumber ? 16
                        : slot == scalarSlot
                            ? argument.getType().getIntOrFloatBitWidth() / 8
                        : isMemory ? memory.getElementTypeBitWidth() / 8
                                   : 8;
    func.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                    builder.getI64IntegerAttr(alignment));
    func.setArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName(),
                    builder.getUnitAttr());
    if (!isMemory || !isWritten(shape, argument))
      func.setArgAttr(number, LLVM::LLVMDialect::getReadonlyAttrName(),
                      builder.getUnitAttr());
  }
  return func;
}

KernelEntry KernelEntry::create(OpBuilder &builder, const KernelShape &shape) {
  KernelEntry entry;
  Location loc = shape.func.getLoc();
  MLIRContext *context = builder.getContext();
  entry.func = createFunction(builder, shape);
  entry.warps = shape.warps();
  Block *body = entry.func.addEntryBlock(builder);
  builder.setInsertionPointToStart(body);

  auto number = [&](auto make, int64_t end) -> Value {
    auto range =
        LLVM::ConstantRangeAttr::get(context, APInt(32, 0), APInt(32, end));
    Value value = make(range);
    return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), value);
  };
  Type i32 = builder.getI32Type();
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  int64_t grid = shape.grid();
  entry.lane = number(
      [&](LLVM::ConstantRangeAttr range) {
        return NVVM::ThreadIdXOp::create(builder, loc, i32, range);
      },
      32);
  entry.warp =
      entry.warps == 1
          ? zero
          : number(
                [&](LLVM::ConstantRangeAttr range) {
                  return NVVM::ThreadIdYOp::create(builder, loc, i32, range);
                },
                entry.warps);
  entry.block = grid == 1 ? zero
                          : number(
                                [&](LLVM::ConstantRangeAttr range) {
                                  return NVVM::BlockIdXOp::create(builder, loc,
                                                                  i32, range);
                                },
                                grid);

  bool single = shape.func->hasAttr(BlockDialect::singleAttrName);
  bool table = shape.func->hasAttr(BlockDialect::tableAttrName);
  Value matrix; // i64
  if (!single) {
    Value y = NVVM::BlockIdYOp::create(builder, loc, i32);
    matrix = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), y);
  }
  auto pointer = LLVM::LLVMPointerType::get(context, globalSpace);
  auto at = [&](Value base, Type element, Value index) -> Value {
    return LLVM::GEPOp::create(builder, loc, pointer, element, base, index,
                               LLVM::GEPNoWrapFlags::inbounds);
  };
  auto load = [&](Type type, Value address, unsigned alignment) -> Value {
    return LLVM::LoadOp::create(builder, loc, type, address, alignment,
                                /*isVolatile=*/false, /*isNonTemporal=*/false,
                                /*isInvariant=*/true);
  };
  for (BlockArgument argument : shape.func.getArguments()) {
    Value parameter = body->getArgument(argument.getArgNumber());
    StringRef slot = getSlot(shape.func, argument.getArgNumber());
    if (slot == scalarSlot) {
      Type type = argument.getType();
      Value address = single ? parameter : at(parameter, type, matrix);
      parameter = load(type, address, type.getIntOrFloatBitWidth() / 8);
    } else if (slot == externalSlot && table) {
      parameter = load(pointer, at(parameter, pointer, matrix), 8);
    } else if (slot == workspaceSlot && !single) {
      Value stride = body->getArguments().back();
      Value offset = arith::MulIOp::create(builder, loc, matrix, stride);
      parameter = at(parameter, builder.getI8Type(), offset);
    }
    entry.arguments.map(argument, parameter);
  }
  auto end = LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPoint(end);
  return entry;
}

Value KernelEntry::createShared(OpBuilder &builder, StringRef name,
                                Type element, int64_t count, int64_t alignment,
                                bool dynamic) {
  Location loc = func.getLoc();
  auto array = LLVM::LLVMArrayType::get(element, dynamic ? 0 : count);
  std::string symbol = (func.getName() + "_" + name).str();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(func);
    LLVM::GlobalOp::create(builder, loc, array, /*isConstant=*/false,
                           dynamic ? LLVM::Linkage::External
                                   : LLVM::Linkage::Internal,
                           symbol, Attribute(), alignment, sharedSpace);
  }
  if (dynamic)
    func->setAttr(
        BlockDialect::sharedAttrName,
        builder.getI64IntegerAttr(count * element.getIntOrFloatBitWidth() / 8));
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), sharedSpace);
  return LLVM::AddressOfOp::create(builder, loc, pointer, symbol);
}
