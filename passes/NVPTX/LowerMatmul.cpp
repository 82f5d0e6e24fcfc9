//===- LowerMatmul.cpp - block-lower-matmul -------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/Passes.h"
#include "passes/NVPTX/ProductEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::block {
#define GEN_PASS_DEF_LOWERMATMUL
#include "passes/NVPTX/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

static std::unique_ptr<ProductEmitter>
createProduct(OpBuilder &builder, KernelEntry &entry, const KernelShape &shape,
              ThreadEmitter &values, bool wgmma) {
  if (shape.config.getDot() == Dot::ieee)
    return createFMAProduct(builder, entry, shape, values);
  if (wgmma && isWarpgroupTile(shape.config))
    return createWarpgroupProduct(builder, entry, shape, values);
  return createMMAProduct(builder, entry, shape, values);
}

static LogicalResult lower(const KernelShape &shape, bool wgmma) {
  OpBuilder builder(shape.func.getContext());
  KernelEntry entry = KernelEntry::create(builder, shape);
  ThreadEmitter values(builder, entry, shape, /*wholeBlock=*/true);
  std::unique_ptr<ProductEmitter> product =
      createProduct(builder, entry, shape, values, wgmma);
  if (!product || failed(values.emitScalars()) || failed(product->emit())) {
    entry.func.erase();
    return failure();
  }
  shape.func.erase();
  return success();
}

namespace {
struct LowerMatmulPass : block::impl::LowerMatmulBase<LowerMatmulPass> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!func->hasAttr(BlockDialect::kernelAttrName))
        continue;
      FailureOr<KernelShape> shape = KernelShape::read(func);
      if (failed(shape))
        return signalPassFailure();
      if (shape->kind != KernelKind::Product)
        continue;
      if (failed(lower(*shape, wgmma)))
        return signalPassFailure();
    }
  }
};
} // namespace
