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

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::block {
#define GEN_PASS_DEF_SELECTCONFIG
#include "passes/Block/Passes.h.inc"
} // namespace mlir::block

using namespace mlir;
using namespace mlir::block;

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
            ? (product ? selectForWarpProduct(product) : selectForWarps(func))
            : (product ? selectForProduct(product) : selectForRows(func));
    func->setAttr(BlockDialect::configAttrName, config);
  }

private:
  LogicalResult checkOptions();
  static Operation *findProduct(func::FuncOp func);
  ConfigAttr selectForProduct(Operation *product);
  ConfigAttr selectForRows(func::FuncOp func);
  ConfigAttr selectForWarpProduct(Operation *product);
  ConfigAttr selectForWarps(func::FuncOp func);
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

/// The precision that the user allowed for a product.
static Dot getDot(Operation *product) {
  auto dot = product->getAttrOfType<geo::DotAttr>("geo.dot");
  if (!dot)
    return Dot::ieee;
  // The same words in both dialects; `block` does not know `geo`.
  return *symbolizeDot(geo::stringifyDot(dot.getValue()));
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

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

/// Whether a kernel ends in sums over the rows of a matrix.
static bool sumsRows(func::FuncOp func) {
  for (auto op : func.getOps<linalg::LinalgOp>())
    if (op.getNumLoops() == 2 &&
        op.getIteratorTypesArray().front() == utils::IteratorType::reduction)
      return true;
  return false;
}

ConfigAttr SelectConfigPass::selectForWarps(func::FuncOp func) {
  auto make = [&](int64_t rows, int64_t warps) {
    return ConfigAttr::get(&getContext(), rows, /*chunk=*/0, /*tile=*/{},
                           /*micro=*/{}, /*lanes=*/0, warps, /*stages=*/0,
                           /*maxnreg=*/0, Dot::ieee);
  };
  int64_t rows = 1, columns = 1;
  bool hasMatrix = false, hasVector = false;
  for (auto op : func.getOps<bufferization::MaterializeInDestinationOp>()) {
    int64_t rank = cast<ShapedType>(op.getSource().getType()).getRank();
    hasMatrix |= rank >= 2;
    hasVector |= rank == 1;
  }
  for (auto op : func.getOps<bufferization::ToTensorOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() > 0)
      rows = std::max(rows, type.getDimSize(0));
    if (type.getRank() > 1)
      columns = std::max(columns, type.getDimSize(1));
  }
  // A sum of everything is one block: enough warps to hide latency.
  if (!hasMatrix && !hasVector)
    return make(
        0, llvm::bit_floor<uint64_t>(std::clamp<int64_t>(rows / 256, 1, 16)));
  // Warps share the rows of a block's columns.
  if (!hasMatrix && sumsRows(func))
    return make(
        0, llvm::bit_floor<uint64_t>(std::clamp<int64_t>(rows / 16, 1, 16)));
  // A warp holds a row of up to 2048 floats in registers, 64 a thread beside
  // what is computed from them; 128 would spill. A longer one is shared by a
  // block.
  constexpr int64_t longest = 2048;
  if (columns > longest)
    return make(1, llvm::bit_ceil<uint64_t>(std::min<int64_t>(
                       8, llvm::divideCeil(columns, longest))));
  // Four warps a block; short rows are several a warp, so that what a thread
  // computes once (bias corrections) is spread over enough elements.
  constexpr int64_t warps = 4;
  int64_t perWarp =
      std::clamp<int64_t>(512 / std::max<int64_t>(columns, 1), 1, 8);
  // Small matrices fill the device first.
  while (perWarp > 1 && rows / (warps * perWarp) < 256)
    perWarp /= 2;
  return make(warps * perWarp, warps);
}

ConfigAttr SelectConfigPass::selectForWarpProduct(Operation *product) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(product->getResult(0).getType()).getShape();
  // Blocks of 128x128 reuse operands most; where they would leave processors
  // idle, 64x64. A thread holds 8x8 results, on tensor cores 32x32 of a warp or
  // 64x32. A step's operands, in two buffers where they are small, fit into 48
  // KiB; steps of bf16 are deep, since what a step costs besides is large.
  Dot dot = getDot(product);
  int64_t side = shape[0] * shape[1] >= 2048 * 2048 ? 128 : 64;
  int64_t warps = dot == Dot::ieee ? side * side / 64 / 32 : side / 16;
  SmallVector<int64_t> tile = {side, side, dot == Dot::bf16 ? 64 : 16};
  int64_t stages = dot == Dot::bf16 && side == 128 ? 1 : 2;
  return ConfigAttr::get(&getContext(), /*rows=*/0, /*chunk=*/0, tile,
                         /*micro=*/{}, /*lanes=*/0, warps, stages,
                         /*maxnreg=*/0, dot);
}
