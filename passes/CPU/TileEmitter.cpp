//===- TileEmitter.cpp - values of a kernel at places in memory -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/TileEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::block;
using bufferization::MaterializeInDestinationOp;
using bufferization::ToTensorOp;

FailureOr<SmallVector<TileOutput>>
block::collectTileOutputs(func::FuncOp func) {
  SmallVector<TileOutput> outputs;
  SmallVector<MaterializeInDestinationOp> stores(
      func.getOps<MaterializeInDestinationOp>());
  for (MaterializeInDestinationOp store : stores) {
    TileOutput output{store.getSource(), store.getDest()};
    if (auto pack = output.value.getDefiningOp<linalg::PackOp>()) {
      output.layout = getPanelLayout(pack);
      if (!output.layout)
        return pack.emitOpError("expected panels of columns");
      output.value = pack.getSource();
    }
    auto type = dyn_cast<RankedTensorType>(output.value.getType());
    if (!type || type.getRank() != 2 || !type.hasStaticShape() ||
        (!outputs.empty() && type.getShape() != outputs[0].type().getShape()))
      return store.emitOpError("expected matrices of one static shape, got ")
             << output.value.getType();
    outputs.push_back(output);
  }
  if (outputs.empty())
    return func.emitOpError("kernel has no result");
  for (MaterializeInDestinationOp store : stores)
    store.erase();
  return outputs;
}

SmallVector<std::pair<int64_t, int64_t>> block::cutIntoVectors(int64_t size,
                                                               int64_t lanes) {
  SmallVector<std::pair<int64_t, int64_t>> pieces;
  for (int64_t at = 0, width = lanes; at < size; at += width) {
    while (width > size - at)
      width /= 2;
    pieces.push_back({at, width});
  }
  return pieces;
}

/// Each round interleaves the rows of one half with those of the other, which
/// turns the bits of a row's number into bits of the column's.
SmallVector<Value> block::transposeSquare(OpBuilder &builder, Location loc,
                                          SmallVector<Value> rows) {
  int64_t size = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < size / 2; ++i) {
    low.append({i, size + i});
    high.append({size / 2 + i, size + size / 2 + i});
  }
  for (int64_t round = 1; round < size; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < size / 2; ++i)
      for (ArrayRef<int64_t> mask : {ArrayRef(low), ArrayRef(high)})
        next.push_back(vector::ShuffleOp::create(builder, loc, rows[i],
                                                 rows[i + size / 2], mask));
    rows = std::move(next);
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value TileEmitter::constant(int64_t value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
    known = arith::ConstantIndexOp::create(b, loc, value);
  }
  return known;
}

/// Where the base is known, so that whatever the base reaches is reached too.
void TileEmitter::setAfter(Value base, OpBuilder &b) const {
  if (Operation *op = base.getDefiningOp())
    b.setInsertionPointAfter(op);
  else
    b.setInsertionPointToStart(base.getParentBlock());
}

Value TileEmitter::index(Value base, int64_t number) {
  Index start = split(base);
  number += start.number;
  if (std::optional<int64_t> known = getConstantIntValue(start.base))
    return constant(*known + number);
  if (number == 0)
    return start.base;
  Value &sum = sums[{start.base, number}];
  if (!sum) {
    Value offset = constant(number);
    OpBuilder b(func.getContext());
    setAfter(start.base, b);
    sum = arith::AddIOp::create(b, loc, start.base, offset);
    indices[sum] = {start.base, number};
  }
  return sum;
}

TileEmitter::Index TileEmitter::split(Value index) const {
  auto known = indices.find(index);
  return known == indices.end() ? Index{index, 0} : known->second;
}

/// The panel of a column, and where in it the column is.
std::pair<Value, Value> TileEmitter::panelOf(Value column, int64_t width) {
  if (std::optional<int64_t> known = getConstantIntValue(column))
    return {constant(*known / width), constant(*known % width)};
  auto [base, number] = split(column);
  auto &[panel, offset] = panels[{base, width}];
  if (!panel) {
    Value size = constant(width);
    OpBuilder b(func.getContext());
    setAfter(base, b);
    panel = arith::DivUIOp::create(b, loc, base, size);
    offset = arith::RemUIOp::create(b, loc, base, size);
  }
  Value first = panel, place = offset;
  return {first, index(place, number)};
}

/// The pair that begins at an even row.
Value TileEmitter::pairOf(Value row) {
  if (std::optional<int64_t> known = getConstantIntValue(row))
    return constant(*known / 2);
  auto [base, number] = split(row);
  Value &pair = pairs[base];
  if (!pair) {
    Value two = constant(2);
    OpBuilder b(func.getContext());
    setAfter(base, b);
    pair = arith::DivUIOp::create(b, loc, base, two);
  }
  return index(pair, number / 2);
}

Value TileEmitter::scaled(Value value, int64_t factor) {
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return constant(*known * factor);
  auto [base, number] = split(value);
  Value &multiple = multiples[{base, factor}];
  if (!multiple) {
    Value by = constant(factor);
    OpBuilder b(func.getContext());
    setAfter(base, b);
    multiple = arith::MulIOp::create(b, loc, base, by);
  }
  return index(multiple, number * factor);
}

TileEmitter::Values TileEmitter::address(const TileMemory &memory,
                                         ArrayRef<Value> index) {
  if (!memory.layout)
    return Values(index);
  auto [panel, offset] = panelOf(index[1], memory.layout.width);
  return {panel, index[0], offset};
}

TileEmitter::Values TileEmitter::addressPairs(const TileMemory &memory,
                                              const TilePlace &place) {
  auto [panel, offset] = panelOf(place.index[1], memory.layout.width);
  return {panel, pairOf(place.index[0]), scaled(offset, 2)};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TileMemory TileEmitter::getMemory(Value memref, PanelLayout layout) {
  if (!layout.pairs)
    return {memref, layout};
  Value &flat = collapsed[memref];
  if (!flat) {
    OpBuilder b(func.getContext());
    setAfter(memref, b);
    SmallVector<ReassociationIndices> groups{{0}, {1}, {2, 3}};
    flat = memref::CollapseShapeOp::create(b, loc, memref, groups);
  }
  return {flat, layout};
}

std::optional<TileMemory> TileEmitter::findMemory(Value tensor) {
  PanelLayout layout;
  if (auto unpack = tensor.getDefiningOp<linalg::UnPackOp>()) {
    layout = getPanelLayout(unpack);
    tensor = unpack.getSource();
    if (!layout)
      return std::nullopt;
  }
  auto read = tensor.getDefiningOp<ToTensorOp>();
  if (!read)
    return std::nullopt;
  return getMemory(read.getBuffer(), layout);
}

void TileEmitter::readScalars() {
  for (auto read : func.getOps<ToTensorOp>())
    if (cast<RankedTensorType>(read.getType()).getRank() == 0)
      known.global(read.getResult(), TilePlace()) =
          memref::LoadOp::create(builder, loc, read.getBuffer(), ValueRange());
}

Value TileEmitter::load(const TileMemory &memory, const TilePlace &place) {
  Values at = address(memory, place.index);
  if (!place.isVector())
    return memref::LoadOp::create(builder, loc, memory.memref, at);
  return vector::LoadOp::create(
      builder, loc, VectorType::get({place.width}, memory.elementType()),
      memory.memref, at);
}

void TileEmitter::store(Value value, const TileMemory &memory,
                        const TilePlace &place) {
  Values at = address(memory, place.index);
  if (place.isVector())
    vector::StoreOp::create(builder, loc, value, memory.memref, at);
  else
    memref::StoreOp::create(builder, loc, value, memory.memref, at);
}

void TileEmitter::prefetch(const TileMemory &memory, const TilePlace &place,
                           bool isWrite) {
  Values at = memory.layout.pairs ? addressPairs(memory, place)
                                  : address(memory, place.index);
  memref::PrefetchOp::create(builder, loc, memory.memref, at, isWrite,
                             /*localityHint=*/3,
                             /*isDataCache=*/true);
}

Value TileEmitter::pointer(const TileMemory &memory, const TilePlace &place) {
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMPointerType::get(builder.getContext());
  Value &base = pointers[memory.memref];
  if (!base) {
    OpBuilder b(func.getContext());
    setAfter(memory.memref, b);
    Value number =
        memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memory.memref);
    Value word = arith::IndexCastOp::create(b, loc, i64, number);
    base = LLVM::IntToPtrOp::create(b, loc, type, word);
  }
  Values at = memory.layout.pairs ? addressPairs(memory, place)
                                  : address(memory, place.index);
  auto shape = cast<MemRefType>(memory.memref.getType()).getShape();
  Value element = at.front();
  for (unsigned i = 1; i < at.size(); ++i) {
    element =
        builder.createOrFold<arith::MulIOp>(loc, element, constant(shape[i]));
    element = builder.createOrFold<arith::AddIOp>(loc, element, at[i]);
  }
  Value offset = arith::IndexCastOp::create(builder, loc, i64, element);
  return LLVM::GEPOp::create(builder, loc, type, memory.elementType(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

static VectorType vectorOf(const TileMemory &memory, int64_t width) {
  return VectorType::get({width}, memory.elementType());
}

Value TileEmitter::loadPairs(const TileMemory &memory, const TilePlace &place) {
  if (memory.layout.pairs)
    return vector::LoadOp::create(
        builder, loc, vectorOf(memory, 2 * std::max<int64_t>(place.width, 1)),
        memory.memref, addressPairs(memory, place));
  TilePlace next = place;
  next.index[0] = index(place.index[0], 1);
  Value first = load(memory, place), second = load(memory, next);
  if (place.isVector())
    return vector::InterleaveOp::create(builder, loc, first, second);
  return vector::FromElementsOp::create(builder, loc, vectorOf(memory, 2),
                                        ValueRange{first, second});
}

void TileEmitter::storePairs(Value first, Value second,
                             const TileMemory &memory, const TilePlace &place) {
  Value pairs = vector::InterleaveOp::create(builder, loc, first, second);
  vector::StoreOp::create(builder, loc, pairs, memory.memref,
                          addressPairs(memory, place));
}

TileEmitter::Values TileEmitter::loadRows(const TileMemory &memory,
                                          const TilePlace &place,
                                          int64_t count) {
  Values rows;
  for (int64_t i = 0; i < count; ++i) {
    TilePlace row = place;
    row.index[0] = index(place.index[0], i);
    if (!memory.layout.pairs) {
      rows.push_back(load(memory, row));
    } else if (i % 2 == 0) {
      auto both =
          vector::DeinterleaveOp::create(builder, loc, loadPairs(memory, row));
      rows.append({both.getRes1(), both.getRes2()});
    }
  }
  return rows;
}

void TileEmitter::storeRows(ValueRange rows, const TileMemory &memory,
                            const TilePlace &place) {
  for (auto [i, value] : llvm::enumerate(rows)) {
    TilePlace row = place;
    row.index[0] = index(place.index[0], i);
    if (!memory.layout.pairs)
      store(value, memory, row);
    else if (i % 2 == 0)
      storePairs(value, rows[i + 1], memory, row);
  }
}

/// Elements along the rows of a matrix. Where the other index is one of a
/// group, the whole group is read along the columns and transposed; otherwise
/// the elements are read one by one.
Value TileEmitter::loadAcross(Value tensor, const TileMemory &memory,
                              const TilePlace &place) {
  Value column = place.index[1];
  if (place.along == 0 && groupBase && place.width == groupSize &&
      split(column).base == split(groupBase).base) {
    Values rows;
    for (int64_t i = 0; i < groupSize; ++i)
      rows.push_back(load(
          memory, {{{index(place.index[0], i), groupBase}, 1, groupSize}}));
    rows = transposeSquare(builder, loc, std::move(rows));
    for (int64_t i = 0; i < groupSize; ++i)
      known.remember(tensor,
                     {{{place.index[0], index(groupBase, i)}, 0, groupSize}},
                     rows[i]);
    if (Value value = known.lookup(tensor, place))
      return value;
  }
  Values elements;
  for (int64_t lane = 0; lane < place.width; ++lane) {
    TilePlace element{{place.index}};
    Value &along = element.index[place.along];
    along = index(along, lane);
    elements.push_back(load(memory, element));
  }
  return vector::FromElementsOp::create(
      builder, loc, VectorType::get({place.width}, memory.elementType()),
      elements);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

FailureOr<Value> TileEmitter::evaluate(Value tensor, const TilePlace &place) {
  if (Value value = known.lookup(tensor, place))
    return value;
  FailureOr<Value> value = evaluateNew(tensor, place);
  if (succeeded(value))
    known.remember(tensor, place, *value);
  return value;
}

FailureOr<Value> TileEmitter::evaluateNew(Value tensor,
                                          const TilePlace &place) {
  if (std::optional<TileMemory> memory = findMemory(tensor)) {
    auto rank = cast<RankedTensorType>(tensor.getType()).getRank();
    return place.isVector() && place.along + 1 != rank
               ? loadAcross(tensor, *memory, place)
               : load(*memory, place);
  }
  Operation *op = tensor.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return evaluateScalar(fill.value());
  if (auto elements = dyn_cast_or_null<tensor::FromElementsOp>(op);
      elements && elements.getElements().size() == 1)
    return evaluateScalar(elements.getElements()[0]);
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumReductionLoops() > 0) {
    if (op)
      return op->emitOpError("cannot be evaluated element by element");
    return func.emitOpError("reads a tensor that is not in memory");
  }
  auto result = cast<OpResult>(tensor);
  FailureOr<Values> values = evaluateBody(
      linalgOp,
      loopPlace(linalgOp, linalgOp.getIndexingMapMatchingResult(result),
                place));
  if (failed(values))
    return failure();
  return (*values)[result.getResultNumber()];
}

FailureOr<TileEmitter::Values>
TileEmitter::evaluateBody(linalg::LinalgOp op, const TilePlace &loops) {
  Block &body = op->getRegion(0).front();
  auto scalar = [&](Value value) { return evaluateScalar(value); };
  auto widen = [&](Value value) { return toVector(value, loops.width); };
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (arg.use_empty())
      continue;
    FailureOr<Value> value = failure();
    if (!isa<RankedTensorType>(operand.get().getType())) {
      value = evaluateScalar(operand.get());
    } else {
      std::optional<TilePlace> at =
          operandPlace(op.getMatchingIndexingMap(&operand), loops,
                       [&](int64_t number) { return constant(number); });
      if (!at)
        return op->emitOpError("expected operands that are indexed by loops");
      value = evaluate(operand.get(), *at);
    }
    if (failed(value))
      return failure();
    mapping.map(arg, *value);
  }
  for (Operation &inner : body.without_terminator()) {
    if (isa<linalg::IndexOp>(inner))
      return inner.emitOpError("is not supported in the body of a kernel's op");
    if (failed(checkBodyOp(inner)) ||
        failed(mapOuterOperands(inner, mapping, scalar)) ||
        failed(cloneBodyOp(builder, inner, mapping, loops.width, widen)))
      return failure();
  }
  Values results;
  for (Value value : body.getTerminator()->getOperands()) {
    FailureOr<Value> result = mapping.contains(value)
                                  ? FailureOr<Value>(mapping.lookup(value))
                                  : evaluateScalar(value);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return results;
}

/// Whether a scalar is made from elements of tensors.
static bool readsTensor(Value scalar) {
  Operation *op = scalar.getDefiningOp();
  return op && op->getNumRegions() == 0 &&
         (isa<tensor::ExtractOp>(op) ||
          llvm::any_of(op->getOperands(), readsTensor));
}

FailureOr<Value> TileEmitter::evaluateScalar(Value scalar) {
  if (!readsTensor(scalar))
    return scalar;
  return rebuildScalar<TilePlace>(
      builder, known, scalar,
      [&](Value tensor, const TilePlace &place) {
        return evaluate(tensor, place);
      },
      [&](Value operand) { return evaluateScalar(operand); });
}

LogicalResult
TileEmitter::buildFor(Value begin, Value end, int64_t step,
                      llvm::function_ref<LogicalResult(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  known.enter();
  llvm::scope_exit leave([&] { known.leave(); });
  return body(loop.getInductionVar());
}

Value TileEmitter::toVector(Value value, int64_t width) {
  if (width == 0 || isa<VectorType>(value.getType()))
    return value;
  TilePlace all;
  all.width = width;
  if (Value made = known.lookup(value, all))
    return made;
  Value vector = vector::BroadcastOp::create(
      builder, loc, VectorType::get({width}, value.getType()), value);
  known.remember(value, all, vector);
  return vector;
}
