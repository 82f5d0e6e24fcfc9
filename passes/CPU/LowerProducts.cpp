//===- LowerProducts.cpp - block-lower-products ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "passes/Block/Cleanup.h"
#include "passes/Block/Config.h"
#include "passes/CPU/Passes.h"
#include "passes/CPU/ProductLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::block {
#define GEN_PASS_DEF_LOWERPRODUCTS
#include "passes/CPU/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

static bool usesPanels(func::FuncOp func) {
  return llvm::any_of(func.getBody().getOps(), [](Operation &op) {
    return isa<linalg::PackOp, linalg::UnPackOp>(op);
  });
}

/// What the kernel was written with, now that its loops are there.
static void eraseTensors(func::FuncOp func) {
  auto isTensorOp = [](Operation &op) {
    return llvm::any_of(op.getOperandTypes(), llvm::IsaPred<TensorType>) ||
           llvm::any_of(op.getResultTypes(), llvm::IsaPred<TensorType>);
  };
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
    if (isTensorOp(op) && op.use_empty())
      op.erase();
  eraseDead(func);
}

namespace {
struct LowerProductsPass : block::impl::LowerProductsBase<LowerProductsPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(BlockDialect::kernelAttrName) || func.isExternal() ||
        func->hasAttr(BlockDialect::gridAttrName))
      return;
    linalg::LinalgOp product = findProduct(func);
    if (!product && !usesPanels(func))
      return;
    FailureOr<ConfigAttr> config = getConfig(func);
    if (failed(config) || failed(lower(func, *config)))
      signalPassFailure();
  }

private:
  LogicalResult lower(func::FuncOp func, ConfigAttr config);
};
} // namespace

LogicalResult LowerProductsPass::lower(func::FuncOp func, ConfigAttr config) {
  if (failed(decomposeGeo(func)))
    return failure();
  FailureOr<SmallVector<TileOutput>> outputs = collectTileOutputs(func);
  if (failed(outputs))
    return failure();
  linalg::LinalgOp product = findProduct(func);
  if (failed(product
                 ? ProductLoops(func, config, product, *outputs, dotBF16).emit()
                 : emitElementwise(func, config, *outputs)))
    return failure();
  eraseTensors(func);
  mergeEqual(func);
  return success();
}
