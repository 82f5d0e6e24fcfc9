//===- KernelShape.cpp - what a formed kernel is --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/KernelShape.h"
#include "passes/Block/Config.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::block;
using bufferization::MaterializeInDestinationOp;
using bufferization::ToTensorOp;

/// Whether the first dimension of a result counts rows. A vector may also run
/// along the columns (a mean row): it does if it came from sums over rows.
static bool ownsRows(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() != 1)
    return type.getRank() >= 2;
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op)
    return false;
  AffineMap map = op.getIndexingMapMatchingResult(cast<OpResult>(value));
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap read = op.getMatchingIndexingMap(input);
    if (read.getNumResults() >= 2)
      return read.getResult(0) == map.getResult(0);
    if (read.getNumResults() == 1 && ownsRows(input->get()))
      return true;
  }
  return op.getNumReductionLoops() == 0 && op.getNumDpsInputs() == 0;
}

/// Whether rows of `type` start at multiples of `width` floats.
static bool isAligned(MemRefType type, int64_t width) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) || offset % width != 0)
    return false;
  for (int64_t stride : ArrayRef(strides).drop_back())
    if (ShapedType::isDynamic(stride) || stride % width != 0)
      return false;
  return !strides.empty() && strides.back() == 1;
}

int64_t mlir::block::alignedWidth(MemRefType type, int64_t most) {
  for (int64_t width = most; width > 1; width /= 2)
    if (type.getShape().back() % width == 0 && isAligned(type, width))
      return width;
  return 1;
}

static int64_t chooseWidth(const KernelShape &shape) {
  for (int64_t width : {4, 2}) {
    bool fits = shape.columns % width == 0;
    auto check = [&](Value memory) {
      auto type = cast<MemRefType>(memory.getType());
      if (type.getRank() == 2 && type.getDimSize(1) == shape.columns)
        fits &= isAligned(type, width);
    };
    for (ToTensorOp read : shape.func.getOps<ToTensorOp>())
      check(read.getBuffer());
    for (const KernelResult &result : shape.results)
      check(result.memory);
    if (fits)
      return width;
  }
  return 1;
}

static LogicalResult readResults(KernelShape &shape) {
  for (auto store : shape.func.getOps<MaterializeInDestinationOp>()) {
    auto type = dyn_cast<RankedTensorType>(store.getSource().getType());
    if (!type || !type.hasStaticShape())
      return store.emitOpError("expected a result of static shape");
    shape.results.push_back({store.getSource(), store.getDest()});
  }
  if (shape.results.empty())
    return shape.func.emitOpError("kernel has no result");
  return success();
}

/// X^T X or X X^T: one operand, read alike.
static bool isGram(linalg::LinalgOp product) {
  OpOperand *left = product.getDpsInputOperand(0),
            *right = product.getDpsInputOperand(1);
  AffineMap x = product.getMatchingIndexingMap(left),
            y = product.getMatchingIndexingMap(right);
  if (left->get() != right->get() || x.getNumResults() != 2 ||
      y.getNumResults() != 2)
    return false;
  AffineExpr k = getAffineDimExpr(2, product.getContext());
  return (x.getResult(0) == k && y.getResult(0) == k) ||
         (x.getResult(1) == k && y.getResult(1) == k);
}

/// One number a row, kept as a matrix of one column.
static bool isColumn(KernelKind kind, RankedTensorType type) {
  return kind == KernelKind::Rows && type.getRank() == 2 &&
         type.getDimSize(1) == 1;
}

FailureOr<KernelShape> KernelShape::read(func::FuncOp func) {
  KernelShape shape;
  shape.func = func;
  FailureOr<ConfigAttr> config = getConfig(func);
  if (failed(config) || failed(readResults(shape)))
    return failure();
  shape.config = *config;
  for (auto op : func.getOps<linalg::LinalgOp>())
    if (op.getNumLoops() == 3 && linalg::isaContractionOpInterface(op)) {
      if (shape.product)
        return op->emitOpError("second matrix product of a kernel");
      shape.product = op;
    }

  RankedTensorType first = shape.results.front().type();
  shape.kind = shape.product                           ? KernelKind::Product
               : first.getRank() == 0                  ? KernelKind::Single
               : ownsRows(shape.results.front().value) ? KernelKind::Rows
                                                       : KernelKind::Columns;
  unsigned rowDims = shape.kind == KernelKind::Columns ? 0 : 1;
  std::optional<int64_t> columns;
  for (const KernelResult &result : shape.results) {
    RankedTensorType type = result.type();
    bool isSum = type.getRank() == int64_t(rowDims);
    bool fits =
        shape.kind == KernelKind::Single
            ? type.getRank() == 0
            : type.getRank() == int64_t(rowDims) + 1 || (rowDims == 1 && isSum);
    fits &= rowDims == 0 || type.getRank() == 0 ||
            type.getDimSize(0) == first.getDimSize(0);
    if (!fits)
      return func.emitOpError("results of shapes ")
             << first << " and " << type << " cannot be cut together";
    if (type.getRank() == 0 || (rowDims == 1 && isSum) ||
        isColumn(shape.kind, type))
      continue;
    if (columns && *columns != type.getShape().back())
      return func.emitOpError("expected results of equal width, but got ")
             << *columns << " and " << type.getShape().back();
    columns = type.getShape().back();
  }
  if (shape.kind == KernelKind::Rows || shape.kind == KernelKind::Product)
    shape.rows = first.getDimSize(0);
  // A kernel of row sums alone is as wide as what it reads.
  if (!columns && shape.kind == KernelKind::Rows)
    for (ToTensorOp read : func.getOps<ToTensorOp>())
      if (auto type = cast<RankedTensorType>(read.getType());
          type.getRank() == 2 && type.getDimSize(0) == shape.rows)
        columns = std::max(columns.value_or(1), type.getDimSize(1));
  shape.columns = columns.value_or(1);
  if (shape.product) {
    ArrayRef<int64_t> tile = shape.config.getTile();
    if (tile.size() != 3)
      return func.emitOpError("expected tile = [m, n, k] in the config of a "
                              "matrix product");
    shape.symmetric =
        tile[0] == tile[1] && shape.rows == shape.columns &&
        (shape.product->hasAttr(symmetricAttrName) || isGram(shape.product));
  }
  shape.width = chooseWidth(shape);
  return shape;
}

int64_t KernelShape::grid() const {
  switch (kind) {
  case KernelKind::Rows:
    return llvm::divideCeil(rows, std::max<int64_t>(1, config.getRows()));
  case KernelKind::Columns:
    return llvm::divideCeil(columns, columnsOfBlock(width));
  case KernelKind::Single:
    return 1;
  case KernelKind::Product:
    if (symmetric) {
      int64_t side = llvm::divideCeil(rows, config.getTile()[0]);
      return side * (side + 1) / 2;
    }
    return llvm::divideCeil(rows, config.getTile()[0]) *
           llvm::divideCeil(columns, config.getTile()[1]);
  }
  llvm_unreachable("all kinds are named");
}
