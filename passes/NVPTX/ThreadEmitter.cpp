//===- ThreadEmitter.cpp - values at one thread's place -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/NVPTX/ThreadEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::block;
using bufferization::ToTensorOp;

ThreadEmitter::ThreadEmitter(OpBuilder &builder, KernelEntry &entry,
                             const KernelShape &shape, bool wholeBlock)
    : builder(builder), entry(entry), shape(shape), loc(shape.func.getLoc()),
      wholeBlock(wholeBlock), threads(wholeBlock ? 32 * entry.warps : 32),
      scalars(entry.arguments) {
  member = entry.lane;
  if (wholeBlock && entry.warps > 1)
    member = arith::AddIOp::create(
        builder, loc, entry.lane,
        arith::MulIOp::create(builder, loc, entry.warp, constant(32)));
  for (int64_t width : {1, 2, 4})
    firsts[width] =
        arith::MulIOp::create(builder, loc, member, constant(width));
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Where an operand is read in one iteration.
FailureOr<ThreadPlace> ThreadEmitter::operandPlace(AffineMap map,
                                                   const ThreadPlace &loops) {
  std::optional<ThreadPlace> place = block::operandPlace(
      map, loops, [&](int64_t value) { return constant(value); });
  if (!place)
    return failure();
  return *place;
}

Value ThreadEmitter::constant(int64_t value) {
  ThreadPlace at;
  at.shift = value;
  Value &made = known.global(Value(), at);
  if (!made) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&entry.func.getBody().front());
    made = arith::ConstantIntOp::create(builder, loc, value, 64);
  }
  return made;
}

Value ThreadEmitter::toVector(Value value, int64_t width) {
  if (isa<VectorType>(value.getType()) || width == 0)
    return value;
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get({width}, value.getType()), value);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

FailureOr<ThreadPlace> ThreadEmitter::viewedPlace(Operation *view,
                                                  const ThreadPlace &place) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(view))
    return slicedPlace(slice, place);
  return expandedPlace(cast<tensor::ExpandShapeOp>(view), place);
}

/// Calls `visit` for what a value at `place` is made from.
void ThreadEmitter::visitOperands(Value value, const ThreadPlace &place,
                                  Visitor visit) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    ThreadPlace loops = loopPlace(
        linalgOp, linalgOp.getIndexingMapMatchingResult(cast<OpResult>(value)),
        place);
    for (OpOperand &operand : linalgOp->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()) ||
          linalgOp.getMatchingBlockArgument(&operand).use_empty())
        continue;
      FailureOr<ThreadPlace> at =
          operandPlace(linalgOp.getMatchingIndexingMap(&operand), loops);
      if (succeeded(at))
        visit(operand.get(), *at);
    }
    return;
  }
  if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp>(op)) {
    FailureOr<ThreadPlace> source = viewedPlace(op, place);
    if (succeeded(source))
      visit(op->getOperand(0), *source);
  }
}

FailureOr<Value> ThreadEmitter::evaluate(Value tensor,
                                         const ThreadPlace &place) {
  if (Value value = known.lookup(tensor, place))
    return value;
  FailureOr<Value> value = evaluateNew(tensor, place);
  if (succeeded(value))
    remember(tensor, place, *value);
  return value;
}

FailureOr<Value> ThreadEmitter::evaluateNew(Value tensor,
                                            const ThreadPlace &place) {
  Operation *op = tensor.getDefiningOp();
  if (!early.isPending && place.isVector() && isEarly(tensor, place))
    for (const KernelResult *result : early.results)
      if (result->value == tensor)
        return read(result->memory, place);
  if (auto toTensor = dyn_cast_or_null<ToTensorOp>(op))
    return read(toTensor.getBuffer(), place);
  if (!op)
    return emitError(loc, "expected tensors to be made in the kernel");
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return evaluateScalar(fill.value());
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
    if (elements.getElements().size() == 1)
      return evaluateScalar(elements.getElements()[0]);
  DenseElementsAttr splat;
  if (matchPattern(op, m_Constant(&splat)) && splat.isSplat())
    return arith::ConstantOp::create(
               builder, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>()))
        .getResult();
  if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp>(op)) {
    FailureOr<ThreadPlace> source = viewedPlace(op, place);
    if (failed(source))
      return failure();
    return evaluate(op->getOperand(0), *source);
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return op->emitOpError("has no form for one thread of a GPU");

  auto result = cast<OpResult>(tensor);
  if (linalgOp.getNumReductionLoops() > 0) {
    if (linalgOp.getNumReductionLoops() > 1)
      return op->emitOpError("expected one reduction loop in a kernel");
    if (failed(place.isVector() ? emitColumnSum(linalgOp, place)
                                : emitSum({linalgOp, place, false})))
      return failure();
    return known.lookup(tensor, place);
  }
  ThreadPlace loops =
      loopPlace(linalgOp, linalgOp.getIndexingMapMatchingResult(result), place);
  FailureOr<Values> values = evaluateBody(linalgOp, loops, {});
  if (failed(values))
    return failure();
  for (auto [other, value] : llvm::zip(op->getResults(), *values))
    if (linalgOp.getIndexingMapMatchingResult(other) ==
        linalgOp.getIndexingMapMatchingResult(result))
      remember(other, place, value);
  return (*values)[result.getResultNumber()];
}

/// base * factor + step. Equal sums are one value, since values are remembered
/// by the indices of their place.
Value ThreadEmitter::combineIndex(Value base, int64_t factor, Value step) {
  if (!base || !step)
    return Value();
  ThreadPlace at;
  at.index = {step};
  at.shift = factor;
  if (Value value = known.lookup(base, at))
    return value;
  Value scaled = base;
  if (factor != 1)
    scaled = arith::MulIOp::create(builder, loc, base, constant(factor));
  Value sum = arith::AddIOp::create(builder, loc, scaled, step);
  remember(base, at, sum);
  return sum;
}

/// Where the source of a slice is read.
FailureOr<ThreadPlace> ThreadEmitter::slicedPlace(tensor::ExtractSliceOp op,
                                                  const ThreadPlace &place) {
  ThreadPlace source = place;
  source.index.clear();
  source.along = -1;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  unsigned next = 0;
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    std::optional<int64_t> known = getConstantIntValue(offset);
    if (!known || getConstantIntValue(op.getMixedStrides()[dim]) != 1)
      return op.emitOpError("expected a static slice without strides");
    if (dropped.test(dim)) {
      source.index.push_back(constant(*known));
      continue;
    }
    Value index = place.index[next];
    if (place.along == int(next))
      source.along = dim;
    ++next;
    if (*known != 0)
      index = combineIndex(index, 1, constant(*known));
    source.index.push_back(index);
  }
  return source;
}

/// Where the source of [g, r, n] = [g r, n] is read.
FailureOr<ThreadPlace> ThreadEmitter::expandedPlace(tensor::ExpandShapeOp op,
                                                    const ThreadPlace &place) {
  ThreadPlace source = place;
  source.index.clear();
  source.along = -1;
  ArrayRef<int64_t> sizes = op.getResultType().getShape();
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value index;
    for (auto [number, part] : llvm::enumerate(group)) {
      if (place.along == part) {
        if (part != group.back())
          return op.emitOpError("expected vectors along contiguous elements");
        source.along = dim;
      }
      index = number == 0 ? place.index[part]
                          : combineIndex(index, sizes[part], place.index[part]);
    }
    source.index.push_back(index);
  }
  return source;
}

/// One iteration of an op's body. With `accumulators`, they stand for what the
/// op's results hold so far.
FailureOr<ThreadEmitter::Values>
ThreadEmitter::evaluateBody(linalg::LinalgOp op, const ThreadPlace &loops,
                            ValueRange accumulators) {
  Block &body = op->getRegion(0).front();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (arg.use_empty())
      continue;
    if (!accumulators.empty() && op.isDpsInit(&operand)) {
      mapping.map(
          arg, accumulators[operand.getOperandNumber() - op.getNumDpsInputs()]);
      continue;
    }
    FailureOr<Value> value = failure();
    if (isa<RankedTensorType>(operand.get().getType())) {
      FailureOr<ThreadPlace> at =
          operandPlace(op.getMatchingIndexingMap(&operand), loops);
      if (failed(at))
        return op->emitOpError("expected indexing maps of dimensions alone");
      value = evaluate(operand.get(), *at);
    } else {
      value = evaluateScalar(operand.get());
    }
    if (failed(value))
      return failure();
    mapping.map(arg, *value);
  }
  for (Operation &inner : body.without_terminator())
    if (failed(evaluateInner(op, inner, mapping, loops)))
      return failure();
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

LogicalResult ThreadEmitter::checkInner(Operation &inner) {
  if (failed(checkBodyOp(inner)))
    return failure();
  // Anything else of `math` would be a call of libdevice, which approximates.
  if (isa<math::MathDialect>(inner.getDialect()) &&
      !isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::AbsIOp,
           math::CopySignOp, math::FloorOp, math::CeilOp, math::RoundEvenOp,
           math::TruncOp>(inner))
    return inner.emitOpError("has no correctly rounded form on a GPU");
  return success();
}

/// An op of a body, on vectors if one of its operands is one.
LogicalResult ThreadEmitter::evaluateInner(linalg::LinalgOp op,
                                           Operation &inner, IRMapping &mapping,
                                           const ThreadPlace &loops) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    FailureOr<Value> value = evaluateIndex(index, loops);
    if (failed(value))
      return failure();
    mapping.map(index.getResult(), *value);
    return success();
  }
  if (failed(checkInner(inner)))
    return failure();
  int64_t width = loops.isVector() ? loops.width : 0;
  if (failed(mapOuterOperands(inner, mapping, [&](Value operand) {
        return evaluateScalar(operand);
      })))
    return failure();
  if (evaluateNarrow(inner, mapping) ||
      evaluateQuotient(op, inner, mapping, width))
    return success();
  if (failed(cloneBodyOp(builder, inner, mapping, width,
                         [&](Value value) { return toVector(value, width); })))
    return failure();
  Value result = mapping.lookup(inner.getResult(0));
  if (!isa<VectorType>(result.getType()) &&
      llvm::any_of(inner.getOperands(), [&](Value operand) {
        return guarded.contains(mapping.lookup(operand));
      }))
    guarded.insert(result);
  return success();
}

/// Binary64 numbers that were binary32 a moment ago need no binary64 root, and
/// rounding gives the binary32 number back. Only within a guard: see
/// RATIONALE.md.
bool ThreadEmitter::evaluateNarrow(Operation &inner, IRMapping &mapping) {
  if (inner.getNumOperands() != 1)
    return false;
  auto known = narrow.find(mapping.lookup(inner.getOperand(0)));
  if (known == narrow.end())
    return false;
  if (isa<arith::TruncFOp>(inner)) {
    mapping.map(inner.getResult(0), known->second);
    guarded.insert(known->second);
    return true;
  }
  if (!isa<math::SqrtOp>(inner))
    return false;
  Value root = math::SqrtOp::create(builder, loc, known->second);
  Value wide =
      arith::ExtFOp::create(builder, loc, inner.getResult(0).getType(), root);
  narrow[wide] = root;
  mapping.map(inner.getResult(0), wide);
  return true;
}

/// Elements divided by what their own norm made, within a guard: by its
/// reciprocal, which neither overflows nor is subnormal there.
bool ThreadEmitter::evaluateQuotient(linalg::LinalgOp op, Operation &inner,
                                     IRMapping &mapping, int64_t width) {
  auto quotient = dyn_cast<arith::DivFOp>(inner);
  if (!quotient || width == 0)
    return false;
  Value divisor = mapping.lookup(quotient.getRhs());
  auto element = dyn_cast<BlockArgument>(quotient.getLhs());
  if (!guarded.contains(divisor) || !element ||
      element.getOwner() != &op->getRegion(0).front() ||
      !guardedTensors.contains(op.getMatchingOpOperand(element)->get()))
    return false;
  Value reciprocal = known.lookup(divisor, ThreadPlace());
  if (!reciprocal) {
    Value one = arith::ConstantOp::create(
        builder, loc, builder.getFloatAttr(divisor.getType(), 1.0));
    reciprocal = arith::DivFOp::create(builder, loc, one, divisor);
    remember(divisor, ThreadPlace(), reciprocal);
  }
  mapping.map(inner.getResult(0),
              arith::MulFOp::create(builder, loc,
                                    toVector(mapping.lookup(element), width),
                                    toVector(reciprocal, width)));
  return true;
}

FailureOr<Value> ThreadEmitter::evaluateIndex(linalg::IndexOp op,
                                              const ThreadPlace &loops) {
  int64_t dim = op.getDim();
  Value index = loops.index[dim];
  Type type = builder.getIndexType();
  if (loops.along == dim) {
    SmallVector<int64_t> steps;
    for (int64_t lane = 0; lane < loops.width; ++lane)
      steps.push_back(loops.shift + lane);
    auto vectorType = VectorType::get({loops.width}, builder.getI64Type());
    Value offsets = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(vectorType, ArrayRef(steps)));
    index = arith::AddIOp::create(builder, loc, toVector(index, loops.width),
                                  offsets);
    type = VectorType::get({loops.width}, type);
  }
  return arith::IndexCastOp::create(builder, loc, type, index).getResult();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

LogicalResult ThreadEmitter::emitScalars() {
  for (Operation &op : shape.func.getBody().front().without_terminator()) {
    if (op.getNumRegions() > 0 || op.getNumResults() != 1 ||
        isa<ShapedType>(op.getResult(0).getType()))
      continue;
    // What reads a tensor waits for the tensor.
    bool known = llvm::all_of(op.getOperands(), [&](Value operand) {
      return scalars.contains(operand);
    });
    if (known && failed(evaluateScalar(op.getResult(0))))
      return failure();
  }
  return success();
}

/// A scalar of the kernel; what it takes from a tensor is evaluated.
FailureOr<Value> ThreadEmitter::evaluateScalar(Value scalar) {
  if (Value value = scalars.lookupOrNull(scalar))
    return value;
  if (Value value = known.lookup(scalar, ThreadPlace()))
    return value;
  Operation *op = scalar.getDefiningOp();
  if (!op)
    return emitError(loc, "expected a scalar of the kernel");
  FailureOr<Value> result = failure();
  bool local = false;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    ThreadPlace place;
    for (Value index : extract.getIndices()) {
      FailureOr<Value> value = evaluateScalar(index);
      if (failed(value))
        return failure();
      place.index.push_back(arith::IndexCastOp::create(
          builder, loc, builder.getI64Type(), *value));
    }
    result = evaluate(extract.getTensor(), place);
    local = true;
  } else if (isa<math::PowFOp>(op)) {
    result = emitPower(op);
  } else {
    if (failed(checkInner(*op)))
      return failure();
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> value = evaluateScalar(operand);
      if (failed(value))
        return failure();
      mapping.map(operand, *value);
      local |= !scalars.contains(operand);
    }
    result = builder.clone(*op, mapping)
                 ->getResult(cast<OpResult>(scalar).getResultNumber());
  }
  if (failed(result))
    return failure();
  if (local || known.depth() > 1)
    remember(scalar, ThreadPlace(), *result);
  else
    scalars.map(scalar, *result);
  return result;
}

/// x to an integer power, by squaring. No function of libdevice: the error of
/// n squarings is 2^-53 a factor, and 1 - x^n is used where n (1 - x) is of
/// order 1 at least.
FailureOr<Value> ThreadEmitter::emitPower(Operation *op) {
  auto exponent = op->getOperand(1).getDefiningOp<arith::SIToFPOp>();
  if (!exponent || !exponent.getIn().getType().isInteger(64))
    return op->emitOpError("expected the power of a converted i64: other "
                           "powers have no correctly rounded form on a GPU");
  FailureOr<Value> base = evaluateScalar(op->getOperand(0));
  FailureOr<Value> count = evaluateScalar(exponent.getIn());
  if (failed(base) || failed(count))
    return failure();
  Type type = base->getType();
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 1.0));
  Value unit = constant(1), zero = constant(0);
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{type, type, builder.getI64Type()},
      ValueRange{one, *base, *count},
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                           args[2], zero);
        scf::ConditionOp::create(b, loc, more, args);
      },
      [&](OpBuilder &b, Location loc, ValueRange args) {
        Value low = arith::AndIOp::create(b, loc, args[2], unit);
        Value odd =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, low, zero);
        Value product = arith::MulFOp::create(b, loc, args[0], args[1]);
        Value power = arith::SelectOp::create(b, loc, odd, product, args[0]);
        Value square = arith::MulFOp::create(b, loc, args[1], args[1]);
        Value left = arith::ShRUIOp::create(b, loc, args[2], unit);
        scf::YieldOp::create(b, loc, ValueRange{power, square, left});
      });
  return loop.getResult(0);
}
