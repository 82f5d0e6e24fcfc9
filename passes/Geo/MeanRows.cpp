//===- MeanRows.cpp - matrices whose mean row is known before them --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Geo/MeanRows.h"

#include "dialects/Optim/Roles.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::geo;

static bool isMatrix(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2;
}

/// A linear map of matrices that treats all rows alike: its results' mean rows
/// are its results for the operands' mean rows.
static bool isLinear(Operation *op) {
  return isa_and_nonnull<ScaleOp, CorrectBiasOp, EmaOp, MomentumOp,
                         SwitchedEmaOp, MixOp>(op);
}

/// A number that is known before all matrices.
static bool isEarly(Value number) {
  Operation *op = number.getDefiningOp();
  if (!op)
    return true;
  auto isNumber = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getOperands(), isEarly);
}

MeanRows::MeanRows(func::FuncOp function)
    : function(function), states(optim::getArgs(function, "state")),
      results(optim::getResults(function, "state")) {
  if (!function.getBody().hasOneBlock() || states.size() != results.size())
    return;
  Type weight = function.getArgumentTypes().front();
  for (unsigned state : states)
    if (function.getArgumentTypes()[state] == weight)
      carried.insert(function.getArgument(state));
  // Drop the assumptions that an update does not bear out, until it does.
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < states.size(); ++i)
      if (!follows(getUpdate(i)))
        changed |= carried.erase(function.getArgument(states[i]));
  }
}

Value MeanRows::getUpdate(unsigned state) const {
  return optim::getReturn(function).getOperand(results[state]);
}

bool MeanRows::follows(Value matrix) const {
  if (auto argument = dyn_cast<BlockArgument>(matrix))
    return carried.contains(argument) ||
           optim::getArgRole(function, argument.getArgNumber()) == "gradient";
  Operation *op = matrix.getDefiningOp();
  return isLinear(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return isMatrix(operand) ? follows(operand) : isEarly(operand);
         });
}

SmallVector<CenterOp> MeanRows::getCenters() const {
  SmallVector<CenterOp> centers;
  func::FuncOp(function).walk([&](CenterOp op) {
    if (follows(op.getInput()))
      centers.push_back(op);
  });
  return centers;
}

void MeanRows::collect(Value matrix, llvm::SetVector<unsigned> &found) const {
  if (auto argument = dyn_cast<BlockArgument>(matrix)) {
    const auto *state = llvm::find(states, argument.getArgNumber());
    if (state != states.end() && found.insert(state - states.begin()))
      collect(getUpdate(state - states.begin()), found);
    return;
  }
  for (Value operand : matrix.getDefiningOp()->getOperands())
    if (isMatrix(operand))
      collect(operand, found);
}

llvm::SetVector<unsigned> MeanRows::getStates() const {
  llvm::SetVector<unsigned> found;
  for (CenterOp op : getCenters())
    collect(op.getInput(), found);
  return found;
}

/// Makes a number available where `b` stands: moves what it is made of up
/// there, or `b` behind the op that it stands before.
static void moveUp(OpBuilder &b, Value number) {
  Operation *op = number.getDefiningOp(), *next = &*b.getInsertionPoint();
  if (!op || op->isBeforeInBlock(next))
    return;
  if (op == next) {
    b.setInsertionPointAfter(op);
    return;
  }
  for (Value operand : op->getOperands())
    moveUp(b, operand);
  op->moveBefore(&*b.getInsertionPoint());
}

Value MeanRows::emit(OpBuilder &b, Value matrix, IRMapping &rows) {
  if (Value row = rows.lookupOrNull(matrix))
    return row;
  Operation *op = matrix.getDefiningOp();
  for (Value operand : op->getOperands())
    if (isMatrix(operand))
      emit(b, operand, rows);
    else
      moveUp(b, operand);
  Operation *made = b.clone(*op, rows);
  for (Value result : made->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(type.clone({1, type.getDimSize(1)}));
  }
  return rows.lookup(matrix);
}
