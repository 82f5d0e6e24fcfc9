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
#include "passes/Block/Config.h"
#include "passes/Block/Panels.h"
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
    linalg::LinalgOp product = findProduct(func);
    ConfigAttr config =
        target == "nvptx"
            ? (product ? selectForWarpProduct(product, getDot(product))
                       : selectForWarps(func))
            : (product ? selectForProduct(product) : selectForRows(func));
    func->setAttr(BlockDialect::configAttrName, config);
  }

private:
  LogicalResult checkOptions();
  static linalg::LinalgOp findProduct(func::FuncOp func);
  int64_t selectColumns(int64_t columns, int64_t panel, int64_t panelBytes,
                        bool isSymmetric);
  ConfigAttr selectForProduct(linalg::LinalgOp product);
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

linalg::LinalgOp SelectConfigPass::findProduct(func::FuncOp func) {
  for (auto op : func.getOps<linalg::LinalgOp>())
    if (linalg::isaContractionOpInterface(op) && op.getNumParallelLoops() == 2)
      return op;
  return {};
}

/// Columns of the panels that a kernel touches; all are equal. 0: none.
static int64_t findPanel(func::FuncOp func) {
  for (Operation &op : func.getBody().getOps()) {
    if (auto pack = dyn_cast<linalg::PackOp>(op))
      return getPanelLayout(pack).width;
    if (auto unpack = dyn_cast<linalg::UnPackOp>(op))
      return getPanelLayout(unpack).width;
  }
  return 0;
}

/// The part of a result that stays in registers: m n / lanes of them for sums,
/// three for a row of the right operand's panel, one for an element of the
/// left. Three vectors a row make eleven loads of 24 multiply-adds (AVX-512),
/// which two a cycle of each can keep up with; m divides a panel, since rows of
/// a left operand that is read across are columns of its panels.
static std::pair<int64_t, int64_t> selectMicro(int64_t lanes,
                                               int64_t registers) {
  return {registers >= 32 ? 8 : 4, 3 * lanes};
}

/// Columns of a block: whole panels of which the part that is read of the right
/// operand, `panelBytes` each, stays in the second-level cache, beside what
/// passes by of the left one. It fills about three eighths: pages are spread
/// over the cache at random, and of half a cache some find no place. Blocks are
/// of about one width; the rows of a symmetric result below the diagonal are
/// one block, so there should be some.
int64_t SelectConfigPass::selectColumns(int64_t columns, int64_t panel,
                                        int64_t panelBytes, bool isSymmetric) {
  int64_t panels = llvm::divideCeil(columns, panel);
  int64_t most = llvm::divideCeil(l2 * 3 / 8, panelBytes);
  int64_t blocks = llvm::divideCeil(panels, most);
  if (isSymmetric)
    blocks = std::max<int64_t>(blocks, 8);
  return llvm::divideCeil(panels, blocks) * panel;
}

ConfigAttr SelectConfigPass::selectForProduct(linalg::LinalgOp product) {
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  auto [m, n] = selectMicro(lanes, registers);
  // A result's part is as wide as the panels that it is stored to.
  if (int64_t panel = findPanel(getOperation()))
    n = panel;
  bool useAMX = amx && liesForAMX(product, amxMicro);
  ArrayRef<int64_t> parts;
  if (useAMX) {
    m = n = amxMicro;
    parts = amxSizes;
  }
  SmallVector<unsigned> loops;
  product.getReductionDims(loops);
  int64_t depth = product.getStaticLoopRanges()[loops.front()];
  // Sums are formed in one go where the depth allows: to keep them in memory
  // in between costs more than narrow blocks do.
  int64_t slab = llvm::alignTo(1024, n);
  bool isDeep = depth > slab;
  bool isSymmetric = product->hasAttr(geo::GeoDialect::symmetricAttrName);
  // A block should be long enough to be worth handing out (some 100 us), and
  // short enough that few matrices give every thread some. The next block of
  // rows finds the right operand in the cache, but not between slabs; so then
  // blocks are high.
  int64_t rows = isSymmetric ? type.getDimSize(0) : isDeep ? 512 : 64;
  int64_t termBytes = n * (useAMX ? 2 : int64_t(sizeof(float)));
  int64_t columns = selectColumns(
      type.getDimSize(1), n, std::min(depth, slab) * termBytes, isSymmetric);
  SmallVector<int64_t> tile = {rows, columns};
  if (isDeep)
    tile.push_back(slab);
  return ConfigAttr::get(&getContext(), /*rows=*/0, /*chunk=*/0, tile, {m, n},
                         parts, lanes, /*warps=*/0, /*stages=*/0, /*maxnreg=*/0,
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
  bool hasPanels = false;
  for (Value argument : func.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.hasStaticShape() || type.getRank() == 0)
      continue;
    // Panels of columns come before rows.
    bool isPanels = type.getRank() >= 3;
    hasPanels |= isPanels;
    int64_t count = type.getDimSize(isPanels ? 1 : 0);
    if (type.getRank() == 4) // pairs of rows
      count *= 2;
    rows = std::max(rows, count);
    rowBytes +=
        llvm::divideCeil(type.getNumElements() / std::max<int64_t>(1, count) *
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
  // Squares that are transposed lie in one panel and one block.
  if (hasPanels)
    block = llvm::alignTo(block, lanes);
  // A group of rows is as much as a block should have, and what sums them up
  // next finds them in the cache.
  if (sumsGroups(func))
    block = 1;
  else if (auto group =
               func->getAttrOfType<IntegerAttr>(BlockDialect::groupAttrName);
           group && !hasPanels)
    block = group.getInt();
  // Chunks of 16 to 64 floats reach the rate of memory with AVX-512; longer
  // vectors spill.
  int64_t chunk = 2 * lanes;
  return ConfigAttr::get(&getContext(), block, chunk, /*tile=*/{}, /*micro=*/{},
                         /*amx=*/{}, lanes, /*warps=*/0, /*stages=*/0,
                         /*maxnreg=*/0, Dot::ieee);
}
