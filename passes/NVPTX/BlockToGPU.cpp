//===- BlockToGPU.cpp - block-to-gpu --------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/KernelShape.h"
#include "passes/NVPTX/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

#include <map>

namespace mlir::block {
#define GEN_PASS_DEF_BLOCKTOGPU
#include "passes/NVPTX/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

namespace {
/// How a kernel is called.
struct Calling {
  SmallVector<StringRef> slots;
  /// External pointers are tables; every caller has one matrix.
  bool table = false, single = true;

  bool operator==(const Calling &other) const {
    return slots == other.slots && table == other.table;
  }
};

struct BlockToGPUPass : block::impl::BlockToGPUBase<BlockToGPUPass> {
  using Base::Base;
  void runOnOperation() override;

private:
  FailureOr<Calling> readCall(func::CallOp call, func::FuncOp step);
  LogicalResult annotate(func::FuncOp kernel,
                         ArrayRef<std::pair<func::CallOp, Calling>> calls,
                         SymbolTable &symbols);
};
} // namespace

/// The attribute of arguments that says what the caller passes.
static constexpr StringLiteral roleAttrName = "optim.role";

/// What a step passes to a kernel.
static StringRef slotOf(Value operand, func::FuncOp step) {
  if (!isa<MemRefType>(operand.getType()))
    return matchPattern(operand, m_Constant()) ? constantSlot : scalarSlot;
  auto argument = dyn_cast<BlockArgument>(operand);
  if (!argument)
    return workspaceSlot;
  auto role =
      step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), roleAttrName);
  return role && role.getValue() == "squares" ? workspaceSlot : externalSlot;
}

FailureOr<Calling> BlockToGPUPass::readCall(func::CallOp call,
                                            func::FuncOp step) {
  Calling calling;
  bool external = false;
  for (Value operand : call.getOperands()) {
    calling.slots.push_back(slotOf(operand, step));
    external |= calling.slots.back() == externalSlot;
  }
  // Sums of squares are of one matrix or of many: their step does not say.
  auto count = step->getAttrOfType<IntegerAttr>("optim.count");
  calling.single = count && count.getInt() == 1;
  calling.table = external && !calling.single;
  return calling;
}

LogicalResult
BlockToGPUPass::annotate(func::FuncOp kernel,
                         ArrayRef<std::pair<func::CallOp, Calling>> calls,
                         SymbolTable &symbols) {
  FailureOr<KernelShape> shape = KernelShape::read(kernel);
  if (failed(shape))
    return failure();
  Builder builder(kernel.getContext());
  kernel->setAttr(BlockDialect::gridAttrName,
                  builder.getI64IntegerAttr(shape->grid()));
  SmallVector<std::pair<Calling, func::FuncOp>> forms;
  for (auto [call, calling] : calls) {
    auto *form = llvm::find_if(
        forms, [&](auto &known) { return known.first == calling; });
    if (form == forms.end()) {
      func::FuncOp copy = forms.empty() ? kernel : kernel.clone();
      if (!forms.empty())
        symbols.insert(copy, std::next(kernel->getIterator()));
      forms.push_back({calling, copy});
      form = std::prev(forms.end());
    }
    form->first.single &= calling.single;
    call.setCallee(form->second.getSymName());
  }
  // A kernel that nobody calls is one of a test: one matrix, arguments of the
  // caller.
  if (forms.empty()) {
    Calling calling;
    for (Type type : kernel.getArgumentTypes())
      calling.slots.push_back(isa<MemRefType>(type) ? externalSlot
                                                    : scalarSlot);
    forms.push_back({calling, kernel});
  }
  for (auto &[calling, form] : forms) {
    for (auto [number, slot] : llvm::enumerate(calling.slots))
      form.setArgAttr(number, BlockDialect::slotAttrName,
                      builder.getStringAttr(slot));
    if (calling.table)
      form->setAttr(BlockDialect::tableAttrName, builder.getUnitAttr());
    if (calling.single)
      form->setAttr(BlockDialect::singleAttrName, builder.getUnitAttr());
  }
  return success();
}

void BlockToGPUPass::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable symbols(module);
  llvm::MapVector<func::FuncOp, SmallVector<std::pair<func::CallOp, Calling>>>
      kernels;
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(BlockDialect::kernelAttrName))
      kernels[func];
  WalkResult result = module.walk([&](func::CallOp call) {
    auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
    auto step = call->getParentOfType<func::FuncOp>();
    auto known = kernels.find(kernel);
    if (!step || known == kernels.end())
      return WalkResult::advance();
    FailureOr<Calling> calling = readCall(call, step);
    if (failed(calling))
      return WalkResult::interrupt();
    known->second.push_back({call, *calling});
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return signalPassFailure();
  for (auto &[kernel, calls] : kernels)
    if (failed(annotate(kernel, calls, symbols)))
      return signalPassFailure();
}
