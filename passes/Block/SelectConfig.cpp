//===- SelectConfig.cpp - block-select-config -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only heuristics of the level. Everything here may be decided otherwise
// by writing a #block.config on the kernel before.
//
//===----------------------------------------------------------------------===//
#include "dialects/Block/Block.h"
#include "dialects/Geo/Geo.h"
#include "passes/Block/Passes.h"
#include "passes/Block/SelectWarps.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::block {
#define GEN_PASS_DEF_SELECTCONFIG
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

/// The precision that the user allowed for a product.
static Dot getDot(Operation *product) {
  auto dot = product->getAttrOfType<geo::DotAttr>("geo.dot");
  if (!dot)
    return Dot::ieee;
  // The same words in both dialects; `block` does not know `geo`.
  return *symbolizeDot(geo::stringifyDot(dot.getValue()));
}

namespace {
struct SelectConfigPass : block::impl::SelectConfigBase<SelectConfigPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(BlockDialect::kernelAttrName) ||
        func->hasAttr(BlockDialect::configAttrName))
      return;
    if (failed(checkOptions()))
      return signalPassFailure();
    Operation *product = findProduct(func);
    ConfigAttr config =
        target == "nvptx"
            ? (product ? selectForWarpProduct(product, getDot(product))
                       : selectForWarps(func))
            : (product ? selectForProduct(product) : selectForRows(func));
    func->setAttr(BlockDialect::configAttrName, config);
  }

private:
  LogicalResult checkOptions();
  static Operation *findProduct(func::FuncOp func);
  ConfigAttr selectForProduct(Operation *product);
  ConfigAttr selectForRows(func::FuncOp func);
};
} // namespace

LogicalResult SelectConfigPass::checkOptions() {
  if (target != "cpu" && target != "nvptx")
    return getOperation().emitOpError()
           << "expected the option target to be cpu or nvptx, got '"
           << target.getValue() << "'";
  if (lanes < 1 || !llvm::isPowerOf2_64(lanes))
    return getOperation().emitOpError()
           << "expected the option lanes to be a power of two, got "
           << lanes.getValue();
  for (auto [name, value] :
       {std::pair("registers", registers.getValue()), {"l2", l2.getValue()}})
    if (value < 1)
      return getOperation().emitOpError() << "expected the option " << name
                                          << " to be positive, got " << value;
  return success();
}

Operation *SelectConfigPass::findProduct(func::FuncOp func) {
  for (auto op : func.getOps<linalg::LinalgOp>())
    if (linalg::isaContractionOpInterface(op) && op.getNumParallelLoops() == 2)
      return op;
  return nullptr;
}

/// The size of the part of an m x n result that is best kept in registers: it
/// needs m n / lanes registers for sums, n / lanes for the right operand and
/// one for the left.
static std::pair<int64_t, int64_t>
selectMicro(ArrayRef<int64_t> shape, int64_t lanes, int64_t registers) {
  std::pair<int64_t, int64_t> best(1, lanes);
  double bestCost = std::numeric_limits<double>::infinity();
  for (int64_t m = 1; m <= 8; ++m)
    for (int64_t vectors = 1; vectors <= 4; ++vectors) {
      if (m * vectors + vectors + 1 > registers)
        continue;
      int64_t n = vectors * lanes;
      // Two loads or two multiply-adds a cycle, and a multiply-add takes four.
      // Parts that stick out at the border cost as much as whole ones.
      double cycles = std::max({(m + vectors) / 2.0, m * vectors / 2.0, 4.0});
      double cost = cycles * llvm::divideCeil(shape[0], m) *
                    llvm::divideCeil(shape[1], n);
      // Of equals the one with more rows: the right operand's panel, which a
      // step reads whole, is narrow then and stays in a near cache.
      if (cost < bestCost || (cost == bestCost && m > best.first)) {
        bestCost = cost;
        best = {m, n};
      }
    }
  return best;
}

ConfigAttr SelectConfigPass::selectForProduct(Operation *product) {
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  auto [m, n] = selectMicro(type.getShape(), lanes, registers);
  // A block should be long enough to be worth handing out (some 10 us), and
  // short enough that few matrices give every thread some.
  SmallVector<int64_t> tile = {std::max(m, 64 / m * m),
                               std::max(n, 64 / n * n)};
  // Panels deeper than this leave the second-level cache before they are used
  // again: strides of a power of two share few of its sets.
  SmallVector<unsigned> loops;
  cast<linalg::LinalgOp>(product).getReductionDims(loops);
  int64_t depth =
      cast<linalg::LinalgOp>(product).getStaticLoopRanges()[loops.front()];
  if (depth > 512)
    tile.push_back(256);
  return ConfigAttr::get(&getContext(), /*rows=*/0, /*chunk=*/0, tile, {m, n},
                         lanes, /*warps=*/0, /*stages=*/0, /*maxnreg=*/0,
                         getDot(product));
}

/// Whether a row of the results is the sum of a group of rows of a matrix.
static bool sumsGroups(func::FuncOp func) {
  return llvm::any_of(func.getOps<linalg::LinalgOp>(), [](linalg::LinalgOp op) {
    return op.getNumLoops() == 3 && op.getNumReductionLoops() == 1 &&
           !linalg::isaContractionOpInterface(op);
  });
}

ConfigAttr SelectConfigPass::selectForRows(func::FuncOp func) {
  // Bytes of a row in all the memory that the kernel touches.
  int64_t rows = 1, rowBytes = 0;
  for (Value argument : func.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.hasStaticShape() || type.getRank() == 0)
      continue;
    rows = std::max(rows, type.getDimSize(0));
    rowBytes += llvm::divideCeil(type.getNumElements() /
                                     std::max<int64_t>(1, type.getDimSize(0)) *
                                     type.getElementTypeBitWidth(),
                                 8);
  }
  // Large enough that handing out a block costs nothing beside it, small enough
  // that sixteen threads have work for as long as the matrix has rows.
  int64_t block = std::max<int64_t>(1, l2 / 4 / std::max<int64_t>(1, rowBytes));
  block = std::min<int64_t>(block, llvm::divideCeil(rows, 16));
  // Where a matrix is read transposed, sixteen rows share its cache lines.
  if (block > 16)
    block -= block % 16;
  // A group of rows is as much as a block should have.
  if (sumsGroups(func))
    block = 1;
  // Chunks of 16 to 64 floats reach the rate of memory with AVX-512; longer
  // vectors spill.
  int64_t chunk = 2 * lanes;
  return ConfigAttr::get(&getContext(), block, chunk, /*tile=*/{}, /*micro=*/{},
                         lanes, /*warps=*/0, /*stages=*/0, /*maxnreg=*/0,
                         Dot::ieee);
}
