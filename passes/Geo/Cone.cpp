//===- Cone.cpp - a matrix as a function of what is in memory -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Geo/Cone.h"

#include "dialects/Geo/Geo.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/TilingInterface.h"

using namespace mlir;
using namespace mlir::geo;

static bool isMatrix(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2;
}

/// Whether the value is in memory once the update is done.
static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::ReturnLike>();
  });
}

/// An op of matrices that works row by row and says how, of one shape.
static bool isRowWise(Operation *op) {
  return op && isa<GeoDialect>(op->getDialect()) &&
         isa<linalg::AggregatedOpInterface>(op) && isa<TilingInterface>(op) &&
         op->getNumResults() == 1 && isMatrix(op->getResult(0)) &&
         cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape();
}

void Cone::decompose(Value matrix, RewriterBase &rewriter) {
  Operation *op = matrix.getDefiningOp();
  if (isReturned(matrix))
    return;
  // What is decomposed already leads on to what is not.
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op)) {
    SmallVector<Value> inputs = generic.getDpsInputs();
    if (llvm::count_if(inputs, isMatrix) == 1)
      decompose(*llvm::find_if(inputs, isMatrix), rewriter);
    return;
  }
  if (!isRowWise(op) || llvm::count_if(op->getOperands(), isMatrix) != 1)
    return;
  Value from = *llvm::find_if(op->getOperands(), isMatrix);
  rewriter.setInsertionPoint(op);
  FailureOr<SmallVector<Value>> values =
      cast<linalg::AggregatedOpInterface>(op).decomposeOperation(rewriter);
  if (failed(values))
    return;
  rewriter.replaceOp(op, *values);
  decompose(from, rewriter);
}

//===----------------------------------------------------------------------===//
// What it is made from
//===----------------------------------------------------------------------===//

Cone::Cone(Value matrix) : matrix(matrix) {
  bool followed = follow(matrix);
  // The matrix among the inputs goes first.
  auto first = llvm::find_if(inputs, [](const detail::Operand &input) {
    return input.axes.size() == 2;
  });
  if (followed && first != inputs.end()) {
    std::rotate(inputs.begin(), first, first + 1);
    return;
  }
  ops.clear();
  inputs = {{matrix, {0, 1}}};
}

void Cone::add(Value value, detail::Axes axes) {
  if (llvm::none_of(inputs, [&](const detail::Operand &input) {
        return input.value == value;
      }))
    inputs.push_back({value, std::move(axes)});
}

/// Adds what `value` is made from; false where that is a second matrix.
bool Cone::follow(Value value) {
  auto addMatrix = [&] {
    add(value, {0, 1});
    return llvm::count_if(inputs, [](const detail::Operand &input) {
             return input.axes.size() == 2;
           }) == 1;
  };
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || isReturned(value) || op.getNumResults() != 1 ||
      op.getNumParallelLoops() != 2 || op.getNumReductionLoops() > 0 ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() ||
      !op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty())
    return addMatrix();
  for (OpOperand *input : op.getDpsInputOperands())
    if (!op.getMatchingIndexingMap(input).isProjectedPermutation() ||
        (isMatrix(input->get()) &&
         !op.getMatchingIndexingMap(input).isIdentity()))
      return addMatrix();
  ops.insert(op);
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value operand = input->get();
    if (isMatrix(operand)) {
      if (!follow(operand))
        return false;
    } else if (isa<RankedTensorType>(operand.getType())) {
      detail::Axes axes;
      for (AffineExpr axis : op.getMatchingIndexingMap(input).getResults())
        axes.push_back(cast<AffineDimExpr>(axis).getPosition());
      add(operand, axes);
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

Value Cone::emit(OpBuilder &b, Value value,
                 llvm::DenseMap<Value, Value> &known) const {
  if (Value element = known.lookup(value))
    return element;
  auto op = value.getDefiningOp<linalg::GenericOp>();
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands())
    mapping.map(op.getMatchingBlockArgument(input),
                isa<RankedTensorType>(input->get().getType())
                    ? emit(b, input->get(), known)
                    : input->get());
  Block &body = op.getRegion().front();
  for (Operation &inner : body.without_terminator())
    b.clone(inner, mapping);
  Value element = mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
  known[value] = element;
  return element;
}

Value Cone::emit(OpBuilder &b, ValueRange elements) const {
  llvm::DenseMap<Value, Value> known;
  for (auto [input, element] : llvm::zip_equal(inputs, elements))
    known[input.value] = element;
  return emit(b, matrix, known);
}
