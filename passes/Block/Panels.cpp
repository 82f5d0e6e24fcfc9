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

/// Columns are cut into panels, and panels come before rows.
static constexpr int64_t innerDims[] = {1}, outerOrder[] = {1, 0};

MemRefType block::getPanelType(MemRefType matrix, int64_t width) {
  ArrayRef<int64_t> shape = matrix.getShape();
  return MemRefType::get(
      {int64_t(llvm::divideCeil(shape[1], width)), shape[0], width},
      matrix.getElementType());
}

Value block::createPack(OpBuilder &builder, Location loc, Value matrix,
                        int64_t width) {
  auto type = cast<RankedTensorType>(matrix.getType());
  MemRefType panels = getPanelType(
      MemRefType::get(type.getShape(), type.getElementType()), width);
  Value empty = tensor::EmptyOp::create(builder, loc, panels.getShape(),
                                        type.getElementType());
  std::optional<Value> padding;
  if (type.getDimSize(1) % width != 0)
    padding = ub::PoisonOp::create(builder, loc, type.getElementType());
  return linalg::PackOp::create(builder, loc, matrix, empty, innerDims,
                                {builder.getIndexAttr(width)}, padding,
                                outerOrder)
      ->getResult(0);
}

Value block::createUnpack(OpBuilder &builder, Location loc, Value panels,
                          RankedTensorType type) {
  int64_t width = cast<RankedTensorType>(panels.getType()).getDimSize(2);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::UnPackOp::create(builder, loc, panels, empty, innerDims,
                                  {builder.getIndexAttr(width)}, outerOrder)
      ->getResult(0);
}

template <typename OpT> static int64_t widthOf(OpT op) {
  ArrayRef<int64_t> tiles = op.getStaticInnerTiles();
  bool isPanels = op.getInnerDimsPos() == ArrayRef(innerDims) &&
                  op.getOuterDimsPerm() == ArrayRef(outerOrder);
  return isPanels && tiles.size() == 1 && !ShapedType::isDynamic(tiles[0])
             ? tiles[0]
             : 0;
}

int64_t block::getPanelWidth(linalg::PackOp op) { return widthOf(op); }
int64_t block::getPanelWidth(linalg::UnPackOp op) { return widthOf(op); }
