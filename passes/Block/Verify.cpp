//===- Verify.cpp - block-verify ------------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What holds after the block level, and what passes/CPU and lib/Target rely on.
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/Block/Config.h"
#include "passes/Block/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::block {
#define GEN_PASS_DEF_VERIFY
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static LogicalResult verifySignature(func::FuncOp kernel) {
  if (kernel.getNumResults() != 0)
    return kernel.emitOpError("expected a kernel to have no result, got ")
           << kernel.getNumResults();
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    bool isMemory =
        memref && memref.hasStaticShape() && memref.getLayout().isIdentity();
    if (!isMemory && !type.isIntOrFloat())
      return kernel.emitOpError("expected argument #")
             << i << " of a kernel to be a number or a memref of static shape "
             << "and identity layout, got " << type;
  }
  return success();
}

static bool hasTensor(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTensor) ||
         llvm::any_of(op->getResultTypes(), isTensor);
}

/// Memory of the stack is a kernel's own affair; of the heap there is none.
static bool isOfStack(const MemoryEffects::EffectInstance &effect) {
  return isa<MemoryEffects::Allocate>(effect.getEffect()) &&
         effect.getResource() != SideEffects::DefaultResource::get();
}

static bool allocates(Operation *op) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return false;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::any_of(effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Allocate>(effect.getEffect()) &&
           !isOfStack(effect);
  });
}

static LogicalResult verifyDecomposed(Operation *op) {
  if (op->getName().getDialectNamespace() == "geo")
    return op->emitOpError("is left in a kernel; expected it to be decomposed");
  return success();
}

static LogicalResult verifyInside(Operation *op) {
  if (hasTensor(op))
    return op->emitOpError("works on a tensor; expected a kernel to be "
                           "bufferized");
  if (allocates(op))
    return op->emitOpError("allocates; expected a kernel to work in place");
  if (isa<memref::CopyOp>(op) && op->getOperand(0) == op->getOperand(1))
    return op->emitOpError("copies a memref to itself");
  if (auto math = dyn_cast<arith::ArithFastMathInterface>(op))
    if (auto flags = math.getFastMathFlagsAttr();
        flags && flags.getValue() != arith::FastMathFlags::none)
      return op->emitOpError("carries fast-math flags ")
             << flags << "; expected none, so that results are reproducible";
  return success();
}

/// What all blocks read alike may be read before them.
static bool mayWrite(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return !effects ||
         llvm::any_of(*effects,
                      [](const MemoryEffects::EffectInstance &effect) {
                        return !isa<MemoryEffects::Read>(effect.getEffect()) &&
                               !isOfStack(effect);
                      });
}

static LogicalResult verifyGrid(func::FuncOp kernel) {
  scf::ForallOp grid;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto forall = dyn_cast<scf::ForallOp>(op);
    if (forall && grid) {
      InFlightDiagnostic diagnostic = kernel.emitOpError(
          "expected one scf.forall over the blocks of the grid, got two");
      diagnostic.attachNote(forall.getLoc()) << "the second one";
      return diagnostic;
    }
    if (forall)
      grid = forall;
    else if (mayWrite(&op))
      return op.emitOpError("writes memory outside of the scf.forall over the "
                            "blocks of the grid");
  }
  if (!grid)
    return kernel.emitOpError("expected one scf.forall over the blocks of the "
                              "grid, got none");
  if (grid.getRank() != 1 || !grid.isNormalized() ||
      !getConstantIntValue(grid.getMixedUpperBound()[0]))
    return grid.emitOpError("expected the grid to have one dimension that runs "
                            "from 0 to a constant by 1");
  int64_t blocks = *getConstantIntValue(grid.getMixedUpperBound()[0]);
  auto attribute =
      kernel->getAttrOfType<IntegerAttr>(BlockDialect::gridAttrName);
  if (!attribute || attribute.getInt() != blocks)
    return kernel.emitOpError("expected block.grid = ")
           << blocks << ", the number of blocks of its scf.forall";
  return success();
}

static LogicalResult verifyKernel(func::FuncOp kernel) {
  if (kernel.isExternal() || !kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expected a kernel to have a body of one block");
  if (failed(verifySignature(kernel)))
    return failure();
  if (failed(getConfig(kernel)))
    return failure();
  // The cause before its consequences: a geo op that is left keeps tensors.
  for (auto verify : {verifyDecomposed, verifyInside}) {
    WalkResult result =
        kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
          return failed(verify(op)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
        });
    if (result.wasInterrupted())
      return failure();
  }
  return verifyGrid(kernel);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static LogicalResult verifyStep(func::FuncOp step, ModuleOp module) {
  if (step.isExternal() || !step.getBody().hasOneBlock())
    return step.emitOpError("expected a step to have a body of one block");
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (isa<arith::ConstantOp, memref::ViewOp>(op))
      continue;
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      return op.emitOpError("is in a step; expected only views of the "
                            "workspace and calls of kernels");
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee || !(callee->hasAttr(BlockDialect::kernelAttrName) ||
                     callee->hasAttr(BlockDialect::hostAttrName)))
      return call.emitOpError("expected a step to call kernels, got @")
             << call.getCallee();
  }
  return success();
}

namespace {
struct VerifyPass : block::impl::VerifyBase<VerifyPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto func : module.getOps<func::FuncOp>()) {
      LogicalResult result = success();
      if (func->hasAttr(BlockDialect::kernelAttrName))
        result = verifyKernel(func);
      else if (func->hasAttr(BlockDialect::stepAttrName))
        result = verifyStep(func, module);
      if (failed(result))
        signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
