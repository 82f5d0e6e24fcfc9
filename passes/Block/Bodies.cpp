//===- Bodies.cpp - evaluating the bodies of linalg ops -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Block/Bodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::block;

LogicalResult block::checkBodyOp(Operation &op) {
  if (op.getNumRegions() > 0 || !isMemoryEffectFree(&op) ||
      op.getNumResults() != 1)
    return op.emitOpError("is not supported in the body of a kernel's op");
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  if (fast && fast.getFastMathFlagsAttr() &&
      fast.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::none)
    return op.emitOpError("carries fast-math flags: multiply-adds and orders "
                          "of sums are explicit in a kernel");
  return success();
}

LogicalResult
block::mapOuterOperands(Operation &op, IRMapping &mapping,
                        llvm::function_ref<FailureOr<Value>(Value)> evaluate) {
  for (Value operand : op.getOperands()) {
    if (mapping.contains(operand))
      continue;
    FailureOr<Value> value = evaluate(operand);
    if (failed(value))
      return failure();
    mapping.map(operand, *value);
  }
  return success();
}

LogicalResult block::cloneBodyOp(OpBuilder &builder, Operation &op,
                                 IRMapping &mapping, int64_t width,
                                 llvm::function_ref<Value(Value)> toVector) {
  bool isVector = llvm::any_of(op.getOperands(), [&](Value operand) {
    return isa<VectorType>(mapping.lookup(operand).getType());
  });
  if (!isVector) {
    builder.clone(op, mapping);
    return success();
  }
  if (!OpTrait::hasElementwiseMappableTraits(&op))
    return op.emitOpError("has no vector form");
  IRMapping vectors;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    Value value = mapping.lookup(operand);
    // A condition that holds for all lanes chooses between whole vectors.
    bool condition = isa<arith::SelectOp>(op) && index == 0;
    vectors.map(operand, condition ? value : toVector(value));
  }
  Operation *copy = builder.clone(op, vectors);
  copy->getResult(0).setType(
      VectorType::get({width}, op.getResult(0).getType()));
  mapping.map(op.getResult(0), copy->getResult(0));
  return success();
}

unsigned block::getReductionLoop(linalg::LinalgOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  return loops.front();
}

int64_t block::getReductionExtent(linalg::LinalgOp op) {
  return op.getStaticLoopRanges()[getReductionLoop(op)];
}

TypedAttr block::getNeutral(Operation *combine, Type type) {
  if (isa<math::FmaOp>(combine)) // x * y + accumulator
    return FloatAttr::get(type, 0.0);
  return arith::getNeutralElement(combine).value_or(TypedAttr());
}

LogicalResult block::findCombiners(linalg::LinalgOp op,
                                   SmallVectorImpl<Operation *> &combiners) {
  Block &body = op->getRegion(0).front();
  for (auto [number, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    Operation *combine = value.getDefiningOp();
    Value accumulator = body.getArgument(op.getNumDpsInputs() + number);
    if (!combine || !llvm::is_contained(combine->getOperands(), accumulator) ||
        !getNeutral(combine, accumulator.getType()))
      return op->emitOpError("has a reduction that is neither a sum, a product "
                             "nor an extremum");
    combiners.push_back(combine);
  }
  return success();
}

Value block::combineTwo(OpBuilder &builder, Location loc, Operation *combine,
                        Value lhs, Value rhs) {
  if (isa<math::FmaOp>(combine))
    return arith::AddFOp::create(builder, loc, lhs, rhs);
  Operation *copy = builder.clone(*combine);
  copy->setOperands({lhs, rhs});
  copy->getResult(0).setType(lhs.getType());
  return copy->getResult(0);
}
