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
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::block;

/// Terms of the sums that one iteration of the innermost loop adds: enough to
/// hide the loop, few enough for the decoder's cache.
static constexpr int64_t unroll = 2;

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
                           ArrayRef<TileOutput> outputs, Instructions has)
    : func(func), config(config), product(product), outputs(outputs),
      builder(func.getBody().front().getTerminator()), values(builder, func),
      loc(func.getLoc()), isSymmetric(isSymmetricProduct(product)), has(has) {}

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
  if (failed(checkOperands()))
    return failure();
  if (isSymmetric) {
    isSymmetric = rows.size == columns.size && columns.step % rows.step == 0 &&
                  (rows.size % lanes == 0 ||
                   llvm::none_of(outputs, [](const TileOutput &output) {
                     return output.layout.pairs;
                   }));
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
  if (failed(emitSlabs()))
    return failure();
  if (isSymmetric)
    mirror();
  return success();
}

LogicalResult ProductLoops::emitSlabs() {
  if (slabSize >= depth)
    return emitColumns({values.constant(0), depth, true, true});
  if (failed(emitColumns({values.constant(0), slabSize, true, false})))
    return failure();
  // Whole slabs but the first and the last one.
  int64_t last = (depth - 1) / slabSize * slabSize;
  if (last > slabSize &&
      failed(
          values.buildFor(values.constant(slabSize), values.constant(last),
                          slabSize, [&](Value start) {
                            return emitColumns({start, slabSize, false, false});
                          })))
    return failure();
  return emitColumns({values.constant(last), depth - last, false, true});
}

LogicalResult ProductLoops::emitColumns(const Slab &slab) {
  int64_t whole = columns.whole();
  if (whole > 0) {
    Value size = extent(firstColumn, columns, whole);
    if (failed(values.buildFor(
            values.constant(0), size, columns.step, [&](Value column) {
              return emitRows(slab, add(firstColumn, column), columns.step);
            })))
      return failure();
  }
  if (whole == columns.size)
    return success();
  return buildIf(isLastBlock(columnBlock, columns), [&] {
    return emitRows(slab, values.constant(whole), columns.size - whole);
  });
}

LogicalResult ProductLoops::emitRows(const Slab &slab, Value column,
                                     int64_t width) {
  int64_t whole = rows.whole();
  if (whole > 0) {
    Value begin = isSymmetric ? column : values.constant(0);
    Value size = extent(firstRow, rows, whole);
    if (failed(values.buildFor(begin, size, rows.step, [&](Value row) {
          return emitTile(slab, add(firstRow, row), rows.step, column, width);
        })))
      return failure();
  }
  if (whole == rows.size)
    return success();
  return buildIf(isLastBlock(rowBlock, rows), [&] {
    return emitTile(slab, values.constant(whole), rows.size - whole, column,
                    width);
  });
}

//===----------------------------------------------------------------------===//
// What stays in registers
//===----------------------------------------------------------------------===//

LogicalResult ProductLoops::emitTile(const Slab &slab, Value row,
                                     int64_t rowCount, Value column,
                                     int64_t columnCount) {
  values.known.enter();
  llvm::scope_exit leave([&] { values.known.leave(); });
  SmallVector<TilePlace> places;
  for (int64_t i = 0; i < rowCount; ++i)
    for (auto [at, width] : cutIntoVectors(columnCount, lanes))
      places.push_back(
          {{{values.index(row, i), values.index(column, at)}, 1, width}});
  FailureOr<Values> sums = startSums(slab, places);
  if (succeeded(sums))
    sums = addSlab(slab, places, *sums);
  if (failed(sums))
    return failure();
  if (slab.isLast)
    return finish(places, *sums);
  for (auto [place, sum] : llvm::zip(places, *sums))
    values.store(sum, memories[sumsOutput], place);
  return success();
}

FailureOr<ProductLoops::Values>
ProductLoops::startSums(const Slab &slab, ArrayRef<TilePlace> places) {
  Values sums;
  for (const TilePlace &place : places) {
    if (!slab.isFirst) {
      sums.push_back(values.load(memories[sumsOutput], place));
      continue;
    }
    FailureOr<Value> start = values.evaluate(product.getDpsInits()[0], place);
    if (failed(start))
      return failure();
    sums.push_back(values.toVector(*start, place.width));
  }
  return sums;
}

/// A loop over `size` terms, some an iteration, then those that are left.
FailureOr<ProductLoops::Values>
ProductLoops::buildDepth(int64_t size, Values sums, DepthBody body) {
  for (auto [begin, end, step] :
       {std::tuple(int64_t(0), size - size % unroll, unroll),
        {size - size % unroll, size, int64_t(1)}}) {
    if (begin == end)
      continue;
    auto loop =
        scf::ForOp::create(builder, loc, values.constant(begin),
                           values.constant(end), values.constant(step), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    values.known.enter();
    llvm::scope_exit leave([&] { values.known.leave(); });
    FailureOr<Values> next(Values(loop.getRegionIterArgs()));
    for (int64_t i = 0; i < step && succeeded(next); ++i)
      next = body(values.index(loop.getInductionVar(), i), *next);
    if (failed(next))
      return failure();
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, loc, *next);
    sums = Values(loop.getResults());
  }
  return sums;
}

FailureOr<ProductLoops::Values>
ProductLoops::addSlab(const Slab &slab, ArrayRef<TilePlace> places,
                      Values sums) {
  if (!leftPanel)
    return addPanel(slab.start, Value(), slab.size, places, sums);
  // A panel of the left operand after the other.
  Value panel = builder.createOrFold<arith::DivUIOp>(
      loc, slab.start, values.constant(leftPanel));
  int64_t whole = slab.size / leftPanel;
  if (whole > 0) {
    auto loop =
        scf::ForOp::create(builder, loc, values.constant(0),
                           values.constant(whole), values.constant(1), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value at = add(panel, loop.getInductionVar());
    Value first = builder.createOrFold<arith::MulIOp>(
        loc, at, values.constant(leftPanel));
    FailureOr<Values> next = addPanel(first, at, leftPanel, places,
                                      Values(loop.getRegionIterArgs()));
    if (failed(next))
      return failure();
    scf::YieldOp::create(builder, loc, *next);
    sums = Values(loop.getResults());
  }
  if (slab.size % leftPanel == 0)
    return sums;
  return addPanel(add(slab.start, values.constant(whole * leftPanel)),
                  add(panel, values.constant(whole)), slab.size % leftPanel,
                  places, sums);
}

/// Terms from `first` on, which lie in one panel of the left operand if it is
/// read along its rows.
FailureOr<ProductLoops::Values>
ProductLoops::addPanel(Value first, Value panel, int64_t size,
                       ArrayRef<TilePlace> places, Values sums) {
  if (!isPaired)
    return buildDepth(size, sums, [&](Value offset, Values sums) {
      Value k = add(first, offset);
      if (panel)
        values.setPanel(k, leftPanel, panel, offset);
      return addTerm(k, places, sums);
    });
  Value firstPair =
      builder.createOrFold<arith::DivUIOp>(loc, first, values.constant(2));
  return buildDepth(size / 2, sums, [&](Value pair, Values sums) {
    Value offset =
        arith::MulIOp::create(builder, loc, pair, values.constant(2));
    Value k = arith::AddIOp::create(builder, loc, first, offset);
    values.setPair(k, add(firstPair, pair));
    if (panel)
      values.setPanel(k, leftPanel, panel, offset);
    return addPair(k, places, sums);
  });
}

/// Where an operand is read for the part of the result at `place` and term k.
TilePlace ProductLoops::operandAt(unsigned operand, const TilePlace &place,
                                  Value k) {
  AffineMap map = product.getIndexingMapMatchingResult(product->getResult(0));
  TilePlace loops = loopPlace(product, map, place);
  loops.index[depthLoop] = k;
  OpOperand *input = product.getDpsInputOperand(operand);
  return *operandPlace(product.getMatchingIndexingMap(input), loops,
                       [&](int64_t number) { return values.constant(number); });
}

Value ProductLoops::multiplyAdd(Value x, Value y, Value sum) {
  if (has.fma)
    // Not vector.fma, which code generators may take apart again.
    return math::FmaOp::create(builder, loc, x, y, sum);
  Value term = arith::MulFOp::create(builder, loc, x, y);
  return arith::AddFOp::create(builder, loc, sum, term);
}

/// Products are fused with their sum; the left factor is broadcast.
FailureOr<ProductLoops::Values>
ProductLoops::addTerm(Value k, ArrayRef<TilePlace> places, Values sums) {
  for (auto [place, sum] : llvm::zip(places, sums)) {
    Value factors[2];
    for (unsigned i : {1u, 0u}) {
      FailureOr<Value> value =
          values.evaluate(product.getDpsInputs()[i], operandAt(i, place, k));
      if (failed(value))
        return failure();
      factors[i] = values.toVector(*value, place.width);
      if (factors[i].getType() != sum.getType())
        return product->emitOpError("expected operands and sums of one type");
    }
    sum = multiplyAdd(factors[0], factors[1], sum);
  }
  return sums;
}

/// What is made of the sums, evaluated for a part of all results before that
/// part is stored: one result may be made from what another overwrites.
LogicalResult ProductLoops::finish(ArrayRef<TilePlace> places,
                                   ValueRange sums) {
  for (auto [place, sum] : llvm::zip(places, sums))
    values.known.remember(product->getResult(0), place, sum);
  SmallVector<Values> results(outputs.size());
  for (auto [number, place] : llvm::enumerate(places)) {
    for (auto [output, list] : llvm::zip(outputs, results)) {
      FailureOr<Value> value = values.evaluate(output.value, place);
      if (failed(value))
        return failure();
      list.push_back(values.toVector(*value, place.width));
    }
    for (unsigned output = 0; output < outputs.size(); ++output)
      storeResult(output, number, places, results);
  }
  return success();
}

/// Stores part `number`, in memory with pairs when the row above is there too.
void ProductLoops::storeResult(unsigned output, size_t number,
                               ArrayRef<TilePlace> places,
                               ArrayRef<Values> results) {
  const TileMemory &memory = memories[output];
  if (!memory.layout.pairs) {
    values.store(results[output][number], memory, places[number]);
    return;
  }
  Value firstRow = places.front().index[0];
  size_t perRow = llvm::count_if(places, [&](const TilePlace &place) {
    return place.index[0] == firstRow;
  });
  if (number / perRow % 2 == 1)
    values.storePairs(results[output][number - perRow], results[output][number],
                      memory, places[number - perRow]);
}

//===----------------------------------------------------------------------===//
// Symmetric results
//===----------------------------------------------------------------------===//

/// Copies the elements below the diagonal, in the block's columns, to their
/// places above it.
void ProductLoops::mirror() {
  for (const TileMemory &memory : memories) {
    mirrorSquares(memory);
    if (rows.size % lanes != 0)
      mirrorRest(memory);
  }
}

/// Squares of as many rows as a vector has lanes. Those on the diagonal keep
/// what is below it.
void ProductLoops::mirrorSquares(const TileMemory &memory) {
  int64_t whole = rows.size - rows.size % lanes;
  auto at = [&](Value row, Value column) {
    return TilePlace{{{row, column}, 1, lanes}};
  };
  Value size = extent(firstColumn, columns, whole);
  (void)values.buildFor(values.constant(0), size, lanes, [&](Value number) {
    Value column = add(firstColumn, number);
    Values square = values.loadRows(memory, at(column, column), lanes);
    Values across = transposeSquare(builder, loc, square);
    for (int64_t i = 0; i < lanes; ++i) {
      SmallVector<bool> below(lanes);
      std::fill_n(below.begin(), i + 1, true);
      Value mask = arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(VectorType::get({lanes}, builder.getI1Type()),
                                 below));
      square[i] =
          arith::SelectOp::create(builder, loc, mask, square[i], across[i]);
    }
    values.storeRows(square, memory, at(column, column));
    return values.buildFor(
        add(column, values.constant(lanes)), values.constant(whole), lanes,
        [&](Value row) {
          Values below = values.loadRows(memory, at(row, column), lanes);
          values.storeRows(transposeSquare(builder, loc, std::move(below)),
                           memory, at(column, row));
          return success();
        });
  });
}

/// The last rows, one element at a time.
void ProductLoops::mirrorRest(const TileMemory &memory) {
  int64_t whole = rows.size - rows.size % lanes;
  Value size = extent(firstColumn, columns, columns.size);
  (void)values.buildFor(values.constant(0), size, 1, [&](Value number) {
    Value column = add(firstColumn, number);
    Value begin = arith::MaxUIOp::create(
        builder, loc, add(column, values.constant(1)), values.constant(whole));
    return values.buildFor(
        begin, values.constant(rows.size), 1, [&](Value row) {
          Value value = values.load(memory, {{{row, column}}});
          values.store(value, memory, {{{column, row}}});
          return success();
        });
  });
}
