//===- BatchParameters.cpp - update equal matrices by one call ------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Optim/Optim.h"
#include "passes/Optim/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::optim {
#define GEN_PASS_DEF_BATCHPARAMETERS
#include "passes/Optim/Passes.h.inc"
} // namespace mlir::optim

using namespace mlir;
using namespace mlir::optim;

/// The function that a batch names, or an error.
static FailureOr<func::FuncOp> lookup(BatchOp batch, FlatSymbolRefAttr symbol,
                                      const SymbolTable &table) {
  if (auto function = table.lookup<func::FuncOp>(symbol.getValue()))
    return function;
  return batch.emitOpError("names ")
         << symbol << ", which is no function of the module";
}

/// Whether the function's weight has the type of each of the parameters.
static LogicalResult checkTypes(BatchOp batch, func::FuncOp function) {
  auto spec = cast<SpecOp>(batch->getParentOp());
  if (function.getArgumentTypes().empty())
    return batch.emitOpError("names @")
           << function.getSymName() << ", which takes no weight";
  Type weight = function.getArgumentTypes().front();
  llvm::SmallDenseSet<Attribute> names(batch.getParameters().begin(),
                                       batch.getParameters().end());
  // A parameter may hold several matrices, or be one in another shape.
  auto fits = [&](Type type) {
    auto shaped = cast<RankedTensorType>(type);
    return type == weight ||
           ((batch.getRows() || batch.getColumns() || shaped.getRank() != 2) &&
            shaped.getNumElements() >=
                cast<RankedTensorType>(weight).getNumElements());
  };
  for (auto parameter : spec.getBody().getOps<ParameterOp>())
    if (names.contains(parameter.getParamNameAttr()) &&
        !fits(parameter.getType()))
      return batch.emitOpError("names @")
             << function.getSymName() << ", which updates " << weight
             << ", but '" << parameter.getParamName() << "' has type "
             << parameter.getType();
  return success();
}

/// Joins the batches of one spec; returns how many are left.
static FailureOr<size_t> join(SpecOp spec, const SymbolTable &table) {
  Builder builder(spec.getContext());
  llvm::MapVector<Attribute, SmallVector<BatchOp>> byFunction;
  for (auto batch : spec.getBody().getOps<BatchOp>())
    byFunction[batch.getFunctionAttr()].push_back(batch);

  for (auto &[symbol, batches] : byFunction) {
    SmallVector<Attribute> names;
    SmallVector<int64_t> rows, columns;
    bool hasRows = false, hasColumns = false;
    BatchOp first = batches.front();
    auto function = lookup(first, first.getFunctionAttr(), table);
    auto update = lookup(first, first.getUpdateAttr(), table);
    if (failed(function) || failed(update) ||
        failed(lookup(first, first.getSquaresAttr(), table)))
      return failure();
    for (BatchOp batch : batches) {
      if (failed(checkTypes(batch, *function)))
        return failure();
      for (size_t i = 0; i < batch.getParameters().size(); ++i) {
        rows.push_back(batch.getFirstRow(i));
        columns.push_back(batch.getFirstColumn(i));
      }
      hasRows |= bool(batch.getRows());
      hasColumns |= bool(batch.getColumns());
      llvm::append_range(names, batch.getParameters());
      if (batch != first)
        batch.erase();
    }
    first.setParametersAttr(builder.getArrayAttr(names));
    if (hasRows)
      first.setRows(rows);
    if (hasColumns)
      first.setColumns(columns);
    IntegerAttr count = builder.getI64IntegerAttr(names.size());
    (*function)->setAttr(kCountAttr, count);
    (*update)->setAttr(kCountAttr, count);
    for (FlatSymbolRefAttr symbol :
         {first.getMeasuredAttr(), first.getMeasuredUpdateAttr()}) {
      if (!symbol)
        continue;
      auto measured = lookup(first, symbol, table);
      if (failed(measured))
        return failure();
      (*measured)->setAttr(kCountAttr, count);
    }
  }
  return byFunction.size();
}

namespace {
struct BatchParametersPass
    : optim::impl::BatchParametersBase<BatchParametersPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable table(getOperation());
    for (auto spec : getOperation().getOps<SpecOp>()) {
      FailureOr<size_t> left = join(spec, table);
      if (failed(left))
        return signalPassFailure();
      numBatches += *left;
    }
  }
};
} // namespace
