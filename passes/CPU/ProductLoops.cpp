//===- ProductLoops.cpp - the loops of a matrix product -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/ProductLoops.h"

#include "passes/Block/Symmetry.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::block;

linalg::LinalgOp block::findProduct(func::FuncOp func) {
  for (auto op : func.getOps<linalg::LinalgOp>())
    if (op.getNumLoops() == 3 && linalg::isaContractionOpInterface(op))
      return op;
  return {};
}

scf::ForallOp block::createGrid(OpBuilder &builder, func::FuncOp func,
                                int64_t blocks) {
  func->setAttr(BlockDialect::gridAttrName, builder.getI64IntegerAttr(blocks));
  Attribute mapping =
      gpu::GPUBlockMappingAttr::get(func.getContext(), gpu::MappingId::DimX);
  return scf::ForallOp::create(
      builder, func.getLoc(),
      ArrayRef<OpFoldResult>{builder.getIndexAttr(blocks)}, ValueRange(),
      builder.getArrayAttr(mapping));
}

ProductLoops::ProductLoops(func::FuncOp func, ConfigAttr config,
                           linalg::LinalgOp product,
                           ArrayRef<TileOutput> outputs, bool dotBF16)
    : func(func), config(config), product(product), outputs(outputs),
      builder(func.getBody().front().getTerminator()), values(builder, func),
      loc(func.getLoc()), isSymmetric(isSymmetricProduct(product)),
      dotBF16(dotBF16) {}

LogicalResult ProductLoops::check() {
  ArrayRef<int64_t> tile = config.getTile(), micro = config.getMicro();
  if (tile.size() < 2 || micro.size() != 2)
    return func.emitOpError("expected tile = [m, n] and micro = [m, n] in the "
                            "config of a matrix product");
  SmallVector<unsigned> reductions;
  product.getReductionDims(reductions);
  AffineMap result =
      product.getIndexingMapMatchingResult(product->getResult(0));
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  if (reductions.size() != 1 || !result.isProjectedPermutation() ||
      result.getNumResults() != 2 || !type.hasStaticShape() ||
      type.getShape() != outputs[0].type().getShape())
    return product->emitOpError("expected a product of two matrices of static "
                                "shape, from which all results are made");
  depthLoop = reductions[0];
  depth = product.getStaticLoopRanges()[depthLoop];
  lanes = config.getLanes() ? config.getLanes() : 16;
  auto cut = [](int64_t size, int64_t block, int64_t step) {
    step = std::min(step, size);
    block = std::min<int64_t>(block, llvm::alignTo(size, step));
    return Side{size, std::max(block - block % step, step), step};
  };
  rows = cut(type.getDimSize(0), tile[0], micro[0]);
  columns = cut(type.getDimSize(1), tile[1], micro[1]);
  for (const TileOutput &output : outputs) {
    memories.push_back(values.getMemory(output.memref, output.layout));
    if (output.layout && output.layout.width != micro[1])
      return func.emitOpError("expected micro to be as wide as a panel of its "
                              "result, ")
             << output.layout.width << ", got " << micro[1];
    // Rows in pairs are stored two at a time.
    if (output.layout.pairs && (rows.step % 2 != 0 || rows.size % 2 != 0))
      return func.emitOpError("expected an even number of rows for pairs");
  }
  if (failed(checkOperands()) || (usesAMX() && failed(checkAMX())))
    return failure();
  if (isSymmetric) {
    isSymmetric = canMirror();
    rows.block = isSymmetric ? rows.size : rows.block;
  }
  return success();
}

LogicalResult ProductLoops::checkOperands() {
  std::optional<TileMemory> left = values.findMemory(product.getDpsInputs()[0]);
  if (left && left->layout && !readsAcross(0))
    leftPanel = left->layout.width;
  if (left && left->layout.width % config.getMicro()[0] != 0)
    return func.emitOpError("expected the rows of micro to divide the panels "
                            "of the left operand, ")
           << left->layout.width << ", got " << config.getMicro()[0];
  isPaired = getElementTypeOrSelf(product.getDpsInputs()[0].getType()).isBF16();
  if (isPaired && depth % 2 != 0)
    return product->emitOpError("expected terms of BF16 in pairs, got a depth "
                                "of ")
           << depth;
  slabSize = hasSlabs() ? config.getTile()[2] : depth;
  int64_t whole = leftPanel ? leftPanel : 2;
  if (slabSize < depth)
    slabSize = std::max(whole, slabSize - slabSize % whole);
  return success();
}

/// Whether an operand's second index is not the depth.
bool ProductLoops::readsAcross(unsigned operand) const {
  linalg::LinalgOp op = product;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(operand));
  return map.getResult(1) != getAffineDimExpr(depthLoop, op.getContext());
}

/// Sums lie in a result between slabs, so nothing may be read there.
bool ProductLoops::hasSlabs() {
  if (config.getTile().size() < 3 || depth <= config.getTile()[2])
    return false;
  const auto *sums = llvm::find_if(outputs, [&](const TileOutput &output) {
    return output.type().getElementType() ==
               getElementTypeOrSelf(product->getResult(0).getType()) &&
           llvm::none_of(output.memref.getUsers(),
                         llvm::IsaPred<bufferization::ToTensorOp>);
  });
  sumsOutput = sums - outputs.begin();
  return sums != outputs.end();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult ProductLoops::buildIf(Value condition,
                                    llvm::function_ref<LogicalResult()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  values.known.enter();
  llvm::scope_exit leave([&] { values.known.leave(); });
  return body();
}

Value ProductLoops::add(Value x, Value y) {
  for (auto [value, other] : {std::pair(x, y), {y, x}})
    if (isConstantIntValue(value, 0))
      return other;
  return builder.createOrFold<arith::AddIOp>(loc, x, y);
}

/// What the current block has of a side's `whole` rows or columns. Bounds are
/// affine, so that whoever counts iterations can tell how large they are.
Value ProductLoops::extent(Value first, const Side &side, int64_t whole) {
  if (side.blocks() == 1)
    return values.constant(whole);
  AffineExpr left =
      builder.getAffineConstantExpr(whole) - builder.getAffineDimExpr(0);
  AffineMap map =
      AffineMap::get(1, 0, {builder.getAffineConstantExpr(side.block), left},
                     builder.getContext());
  return getValueOrCreateConstantIndexOp(
      builder, loc,
      affine::makeComposedFoldedAffineMin(builder, loc, map,
                                          {OpFoldResult(first)}));
}

Value ProductLoops::isLastBlock(Value block, const Side &side) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, block,
                               values.constant(side.blocks() - 1));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult ProductLoops::emit() {
  if (failed(check()))
    return failure();
  values.readScalars();
  if (usesAMX())
    prepareAMX();
  scf::ForallOp grid =
      createGrid(builder, func, rows.blocks() * columns.blocks());
  builder.setInsertionPoint(grid.getTerminator());
  return emitBlock(grid.getInductionVar(0));
}

/// Blocks of one panel of columns follow one another, so that a core keeps the
/// panel of the right operand in its cache.
LogicalResult ProductLoops::emitBlock(Value block) {
  auto first = [&](Value &index, const Side &side, AffineExpr expr) -> Value {
    index = values.constant(0);
    if (side.blocks() == 1)
      return index;
    index = getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(builder, loc, expr,
                                              {OpFoldResult(block)}));
    return arith::MulIOp::create(builder, loc, index,
                                 values.constant(side.block));
  };
  AffineExpr number = builder.getAffineDimExpr(0);
  firstRow = first(rowBlock, rows, number % rows.blocks());
  firstColumn = first(columnBlock, columns, number.floorDiv(rows.blocks()));
  if (usesAMX())
    configureAMX();
  if (failed(emitSlabs()))
    return failure();
  if (usesAMX())
    callAMX("tilerelease", {});
  if (isSymmetric)
    mirrorLastRows();
  return success();
}

LogicalResult ProductLoops::emitSlabs() {
  if (slabSize >= depth)
    return emitSlab({values.constant(0), depth, true, true});
  if (failed(emitSlab({values.constant(0), slabSize, true, false})))
    return failure();
  // Whole slabs but the first and the last one.
  int64_t last = (depth - 1) / slabSize * slabSize;
  if (last > slabSize &&
      failed(values.buildFor(values.constant(slabSize), values.constant(last),
                             slabSize, [&](Value start) {
                               return emitSlab({start, slabSize, false, false});
                             })))
    return failure();
  return emitSlab({values.constant(last), depth - last, false, true});
}

/// Rows are the outer loop: what a block reads of the right operand stays in
/// the second-level cache, and the rows of the left one pass by once.
LogicalResult ProductLoops::emitSlab(const Slab &slab) {
  if (isSymmetric) {
    if (failed(emitTriangle(slab)))
      return failure();
  } else if (rows.whole() > 0) {
    Value size = extent(firstRow, rows, rows.whole());
    if (failed(values.buildFor(
            values.constant(0), size, rows.step, [&](Value row) {
              return emitRow(slab, add(firstRow, row), rows.step);
            })))
      return failure();
  }
  if (rows.whole() == rows.size)
    return success();
  return buildIf(isLastBlock(rowBlock, rows), [&] {
    return emitRow(slab, values.constant(rows.whole()),
                   rows.size - rows.whole());
  });
}

/// The block's part of some rows, panel by panel.
LogicalResult ProductLoops::emitRow(const Slab &slab, Value row,
                                    int64_t count) {
  int64_t whole = columns.whole();
  if (whole > 0) {
    Value size = extent(firstColumn, columns, whole);
    if (failed(values.buildFor(
            values.constant(0), size, columns.step, [&](Value column) {
              return emitTile(
                  slab, {row, count, add(firstColumn, column), columns.step});
            })))
      return failure();
  }
  if (whole == columns.size)
    return success();
  return buildIf(isLastBlock(columnBlock, columns), [&] {
    return emitTile(slab,
                    {row, count, values.constant(whole), columns.size - whole});
  });
}
