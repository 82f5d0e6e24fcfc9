//===- Centering.cpp - which matrices are centred, who could tell ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Geo/Centering.h"

#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Roles.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::geo;

//===----------------------------------------------------------------------===//
// ColumnSums
//===----------------------------------------------------------------------===//

/// The results of `op` that are centred if the values of `zero` are.
static SmallVector<Value> getCenteredResults(Operation *op,
                                             const DenseSet<Value> &zero) {
  auto all = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value v) { return zero.contains(v); });
  };
  // A linear map of matrices that treats all rows alike keeps the property.
  return TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case([&](CenterOp op) { return SmallVector<Value>{op.getResult()}; })
      .Case([&](GeometryOpInterface op) {
        return op.hasCenteredResult() ? SmallVector<Value>(op->getResults())
                                      : SmallVector<Value>{};
      })
      .Case<ScaleOp, CorrectBiasOp>([&](auto op) {
        return all(op.getInput()) ? SmallVector<Value>{op.getResult()}
                                  : SmallVector<Value>{};
      })
      .Case<EmaOp, MomentumOp, SwitchedEmaOp>([&](auto op) {
        return all({op.getBuffer(), op.getGradient()})
                   ? SmallVector<Value>(op->getResults())
                   : SmallVector<Value>{};
      })
      .Case([&](MixOp op) {
        return all(op.getInputs()) ? SmallVector<Value>{op.getResult()}
                                   : SmallVector<Value>{};
      })
      .Case([&](ApplyOp op) {
        return all({op.getWeight(), op.getIncrement()})
                   ? SmallVector<Value>{op.getResult()}
                   : SmallVector<Value>{};
      })
      .Default(SmallVector<Value>{});
}

void ColumnSums::propagate(func::FuncOp function, ArrayRef<unsigned> states) {
  zero.clear();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (hasFact<ZeroColumnSumAttr>(function, i) ||
        llvm::is_contained(states, i))
      zero.insert(function.getArgument(i));
  for (Operation &op : function.getBody().front())
    for (Value result : getCenteredResults(&op, zero))
      zero.insert(result);
}

ColumnSums::ColumnSums(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return;
  SmallVector<unsigned> states = optim::getArgs(function, "state"),
                        results = optim::getResults(function, "state");
  if (states.size() != results.size()) {
    propagate(function, {});
    return;
  }
  // Drop the assumptions that do not survive an update, until all do.
  func::ReturnOp ret = optim::getReturn(function);
  while (true) {
    propagate(function, states);
    SmallVector<unsigned> keptStates, keptResults;
    for (auto [state, result] : llvm::zip_equal(states, results))
      if (zero.contains(ret.getOperand(result))) {
        keptStates.push_back(state);
        keptResults.push_back(result);
      }
    if (keptStates.size() == states.size())
      return;
    states = keptStates;
    results = keptResults;
  }
}

//===----------------------------------------------------------------------===//
// RowShifts
//===----------------------------------------------------------------------===//

/// A weight may be shifted if the fact says that the model does not see it,
/// and if the rule does not see it at the next update.
bool RowShifts::isBlindReturn(unsigned result) {
  StringRef role = optim::getResultRole(function, result);
  if (role != "weight" && role != "update")
    return false;
  SmallVector<unsigned> weights = optim::getArgs(function, "weight");
  return weights.size() == 1 &&
         hasFact<ShiftInvariantAttr>(function, weights[0]) &&
         areUnseen(function.getArgument(weights[0]));
}

bool RowShifts::isBlind(OpOperand &use) {
  return TypeSwitch<Operation *, bool>(use.getOwner())
      .Case<CenterOp, ShapeScaleOp, MeasureOpInterface>(
          [](Operation *) { return true; })
      .Case<ApplyOp, ScaleOp>(
          [&](auto op) { return areUnseen(op.getResult()); })
      .Case([&](GeometryOpInterface op) {
        return &use == &op.getGradientMutable() && op.isBlindToRowShifts();
      })
      .Case(
          [&](func::ReturnOp) { return isBlindReturn(use.getOperandNumber()); })
      .Default(false);
}

bool RowShifts::areUnseen(Value value) {
  // One that sees a shift makes the whole answer false: an assumption never
  // outlives its refutation.
  if (!assumed.insert(value).second)
    return true;
  return llvm::all_of(value.getUses(),
                      [&](OpOperand &use) { return isBlind(use); });
}
