//===- Panels.cpp - matrices that lie in panels of columns ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Panels.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::block;

/// Columns are cut into panels, rows perhaps into pairs, and panels come before
/// rows.
static constexpr int64_t cutDims[] = {1, 0}, outerOrder[] = {1, 0};

static ArrayRef<int64_t> getCutDims(PanelLayout layout) {
  return ArrayRef(cutDims).take_front(layout.pairs ? 2 : 1);
}

static SmallVector<OpFoldResult> getCuts(Builder &b, PanelLayout layout) {
  SmallVector<OpFoldResult> cuts{b.getIndexAttr(layout.width)};
  if (layout.pairs)
    cuts.push_back(b.getIndexAttr(2));
  return cuts;
}

MemRefType block::getPanelType(MemRefType matrix, PanelLayout layout) {
  int64_t rows = matrix.getDimSize(0), columns = matrix.getDimSize(1);
  SmallVector<int64_t> shape{
      int64_t(llvm::divideCeil(columns, layout.width)),
      layout.pairs ? int64_t(llvm::divideCeil(rows, 2)) : rows, layout.width};
  if (layout.pairs)
    shape.push_back(2);
  return MemRefType::get(shape, matrix.getElementType());
}

Value block::createPack(OpBuilder &builder, Location loc, Value matrix,
                        PanelLayout layout) {
  auto type = cast<RankedTensorType>(matrix.getType());
  MemRefType panels = getPanelType(
      MemRefType::get(type.getShape(), type.getElementType()), layout);
  Value empty = tensor::EmptyOp::create(builder, loc, panels.getShape(),
                                        type.getElementType());
  std::optional<Value> padding;
  if (panels.getNumElements() != type.getNumElements())
    padding = ub::PoisonOp::create(builder, loc, type.getElementType());
  return linalg::PackOp::create(builder, loc, matrix, empty, getCutDims(layout),
                                getCuts(builder, layout), padding, outerOrder)
      ->getResult(0);
}

Value block::createUnpack(OpBuilder &builder, Location loc, Value panels,
                          RankedTensorType type, PanelLayout layout) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::UnPackOp::create(builder, loc, panels, empty,
                                  getCutDims(layout), getCuts(builder, layout),
                                  outerOrder)
      ->getResult(0);
}

template <typename OpT> static PanelLayout layoutOf(OpT op) {
  ArrayRef<int64_t> tiles = op.getStaticInnerTiles();
  PanelLayout layout{tiles.empty() ? 0 : tiles[0], tiles.size() == 2};
  bool isPanels = tiles.size() >= 1 && tiles.size() <= 2 &&
                  op.getInnerDimsPos() == getCutDims(layout) &&
                  op.getOuterDimsPerm() == ArrayRef(outerOrder) &&
                  !ShapedType::isDynamic(tiles[0]) && tiles.back() > 0 &&
                  (!layout.pairs || tiles[1] == 2);
  return isPanels ? layout : PanelLayout();
}

PanelLayout block::getPanelLayout(linalg::PackOp op) { return layoutOf(op); }
PanelLayout block::getPanelLayout(linalg::UnPackOp op) { return layoutOf(op); }

bool block::liesForAMX(linalg::LinalgOp product, int64_t width) {
  SmallVector<unsigned> loops;
  product.getReductionDims(loops);
  if (product.getNumLoops() != 3 || loops.size() != 1)
    return false;
  AffineExpr depth = getAffineDimExpr(loops.front(), product.getContext());
  // The left operand's columns are terms, and the right one's rows.
  for (auto [number, dim] : {std::pair(0u, 1u), {1u, 0u}}) {
    OpOperand *operand = product.getDpsInputOperand(number);
    auto unpack = operand->get().getDefiningOp<linalg::UnPackOp>();
    AffineMap map = product.getMatchingIndexingMap(operand);
    if (!unpack || !getElementTypeOrSelf(operand->get().getType()).isBF16() ||
        map.getNumResults() != 2 || map.getResult(dim) != depth)
      return false;
    PanelLayout layout = getPanelLayout(unpack);
    if (layout.width != width || layout.pairs != (number == 1))
      return false;
  }
  return true;
}
