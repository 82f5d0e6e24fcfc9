//===- CarryMeans.cpp - mean rows that follow from step to step -----------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/GeoDetail.h"
#include "dialects/Optim/Roles.h"
#include "passes/Geo/MeanRows.h"
#include "passes/Geo/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::geo {
#define GEN_PASS_DEF_CARRYMEANS
#include "passes/Geo/Passes.h.inc"
} // namespace mlir::geo

using namespace mlir;
using namespace mlir::geo;

static constexpr llvm::StringLiteral meanSuffix = "_mean";

static RankedTensorType getRowType(Type matrix) {
  auto type = cast<RankedTensorType>(matrix);
  return type.clone({1, type.getDimSize(1)});
}

static RankedTensorType getVectorType(Type matrix) {
  auto type = cast<RankedTensorType>(matrix);
  return type.clone({type.getDimSize(1)});
}

/// A row of one matrix as a vector, and back.
static Value flatten(OpBuilder &b, Location loc, Value row) {
  return tensor::CollapseShapeOp::create(b, loc, row,
                                         {ReassociationIndices{0, 1}});
}

static Value makeRow(OpBuilder &b, Location loc, Value vector, Type matrix) {
  return tensor::ExpandShapeOp::create(b, loc, getRowType(matrix), vector,
                                       {ReassociationIndices{0, 1}});
}

static Value createColumnMeans(OpBuilder &b, Location loc, Value matrix) {
  Value sums =
      geo::detail::createColumnSums(b, loc, matrix, /*ofSquares=*/false);
  return geo::detail::createMeanRow(b, loc, sums,
                                    geo::detail::createSize(b, loc, matrix, 0));
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// A projection whose mean row is known needs no more than one row at a time.
static Value subtractMean(OpBuilder &b, CenterOp op, Value row) {
  Location loc = op.getLoc();
  return geo::detail::createGeneric(
      b, loc, {{op.getInput(), {0, 1}}, {flatten(b, loc, row), {1}}},
      {{geo::detail::createEmpty(b, loc, op.getInput()), {0, 1}}}, "pp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::SubFOp::create(b, loc, v[0], v[1])};
      })[0];
}

/// Gives an update the mean rows of the states of these numbers as states of
/// their own, and the gradient's as an argument, and projects with them.
static void carry(func::FuncOp function, ArrayRef<unsigned> numbers) {
  MeanRows means(function);
  Type weight = function.getArgumentTypes().front();
  SmallVector<unsigned> states = optim::getArgs(function, "state"),
                        results = optim::getResults(function, "state");
  SmallVector<CenterOp> centers = means.getCenters();
  OpBuilder b(function.getContext());
  Location loc = function.getLoc();

  // Arguments: behind the states, or behind weight and gradient.
  unsigned at = states.empty() ? 2 : states.back() + 1;
  IRMapping rows;
  std::string carried;
  for (unsigned number : numbers) {
    auto name = function.getArgAttrOfType<StringAttr>(states[number],
                                                      optim::kStateAttr);
    carried += (", and that of " + name.getValue() + ", a state").str();
    NamedAttrList attributes(optim::getRole(b, "state"));
    attributes.set(optim::kConventionAttr, b.getStringAttr("mean"));
    attributes.set(optim::kStateAttr,
                   b.getStringAttr(name.getValue() + meanSuffix));
    (void)function.insertArgument(
        at, getRowType(weight), attributes.getDictionary(b.getContext()), loc);
    rows.map(function.getArgument(states[number]), function.getArgument(at++));
  }
  (void)function.insertArgument(at, getVectorType(weight),
                                optim::getRole(b, "gradient_mean"), loc);
  unsigned gradient = optim::getArgs(function, "gradient").front();
  // Rows come before all matrices: whose kernel reads them runs after theirs.
  b.setInsertionPointToStart(&function.getBody().front());
  rows.map(function.getArgument(gradient),
           makeRow(b, loc, function.getArgument(at), weight));
  for (CenterOp op : centers)
    (void)MeanRows::emit(b, op.getInput(), rows);
  SmallVector<Value> updates;
  for (unsigned number : numbers)
    updates.push_back(MeanRows::emit(
        b, optim::getReturn(function).getOperand(results[number]), rows));

  for (CenterOp op : centers) {
    b.setInsertionPoint(op);
    op.replaceAllUsesWith(subtractMean(b, op, rows.lookup(op.getInput())));
    remark::passed(op.getLoc(), remark::RemarkOpts::name("MeanCarried")
                                    .category("geo-carry-means")
                                    .function(function.getName()))
        << remark::add("the mean row follows from the gradient's{0}", carried);
    op.erase();
  }

  // Results: behind the states.
  func::ReturnOp ret = optim::getReturn(function);
  unsigned end = results.empty() ? 1 : results.back() + 1;
  for (Value row : updates) {
    (void)function.insertResult(end, row.getType(), optim::getRole(b, "state"));
    ret->insertOperands(end++, row);
  }
}

//===----------------------------------------------------------------------===//
// The functions beside them
//===----------------------------------------------------------------------===//

/// The squares of rows, and the gradient's mean row: both of one pass.
static func::FuncOp addSquares(func::FuncOp squares, SymbolTable &symbols) {
  std::string name = (squares.getSymName() + meanSuffix).str();
  if (auto known = symbols.lookup<func::FuncOp>(name))
    return known;
  func::FuncOp function = squares.clone();
  function.setSymName(name);
  symbols.insert(function, std::next(squares->getIterator()));
  func::ReturnOp ret = optim::getReturn(function);
  OpBuilder b(ret);
  Value mean = createColumnMeans(b, function.getLoc(), function.getArgument(0));
  unsigned end = function.getNumResults();
  (void)function.insertResult(end, mean.getType(),
                              optim::getRole(b, "gradient_mean"));
  ret->insertOperands(end, mean);
  return function;
}

/// Computes mean rows from the states that they are of: what a step begins
/// with where the rows are not known.
static func::FuncOp addRefresh(func::FuncOp update, ArrayRef<unsigned> numbers,
                               SymbolTable &symbols) {
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned state : optim::getArgs(update, "state")) {
    types.push_back(update.getArgumentTypes()[state]);
    attributes.push_back(update.getArgAttrDict(state));
  }
  OpBuilder b(update.getContext());
  auto function = func::FuncOp::create(update.getLoc(),
                                       (update.getSymName() + "_refresh").str(),
                                       b.getFunctionType(types, types));
  function.setAllArgAttrs(attributes);
  function.setAllResultAttrs(
      SmallVector<DictionaryAttr>(types.size(), optim::getRole(b, "state")));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  SmallVector<Value> values(body->getArguments());
  size_t first = types.size() - numbers.size();
  for (auto [i, number] : llvm::enumerate(numbers)) {
    Value mean = createColumnMeans(b, update.getLoc(), values[number]);
    values[first + i] =
        makeRow(b, update.getLoc(), mean, values[number].getType());
  }
  func::ReturnOp::create(b, update.getLoc(), values);
  symbols.insert(function, std::next(update->getIterator()));
  return function;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether a new state would have the name of another one.
static bool isNameTaken(func::FuncOp function, ArrayRef<unsigned> numbers) {
  SmallVector<unsigned> states = optim::getArgs(function, "state");
  auto getName = [&](unsigned number) {
    return function
        .getArgAttrOfType<StringAttr>(states[number], optim::kStateAttr)
        .getValue();
  };
  return llvm::any_of(numbers, [&](unsigned number) {
    std::string name = (getName(number) + meanSuffix).str();
    return llvm::any_of(llvm::seq<unsigned>(states.size()),
                        [&](unsigned other) { return getName(other) == name; });
  });
}

namespace {
struct CarryMeans : mlir::geo::impl::CarryMeansBase<CarryMeans> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto spec : getOperation().getOps<optim::SpecOp>())
      for (auto batch : spec.getBody().getOps<optim::BatchOp>())
        if (failed(rewrite(batch, symbols)))
          return signalPassFailure();
  }

private:
  LogicalResult rewrite(optim::BatchOp batch, SymbolTable &symbols);
};
} // namespace

LogicalResult CarryMeans::rewrite(optim::BatchOp batch, SymbolTable &symbols) {
  SmallVector<func::FuncOp> updates;
  for (FlatSymbolRefAttr symbol :
       {batch.getFunctionAttr(), batch.getUpdateAttr(), batch.getMeasuredAttr(),
        batch.getMeasuredUpdateAttr()})
    if (symbol) {
      updates.push_back(symbols.lookup<func::FuncOp>(symbol.getValue()));
      if (!updates.back())
        return batch.emitOpError("names ")
               << symbol << ", which is no function of the module";
    }
  func::FuncOp squares = symbols.lookup<func::FuncOp>(batch.getSquares());
  if (!squares)
    return batch.emitOpError("names ")
           << batch.getSquaresAttr() << ", which is no function of the module";
  if (batch.getRefresh())
    return success();

  // The states of all variants are the same.
  llvm::SetVector<unsigned> states;
  bool any = false;
  for (func::FuncOp update : updates) {
    MeanRows means(update);
    any |= !means.getCenters().empty();
    states.insert_range(means.getStates());
  }
  SmallVector<unsigned> numbers = llvm::to_vector(states);
  llvm::sort(numbers);
  if (!any || isNameTaken(updates.front(), numbers))
    return success();
  for (func::FuncOp update : updates)
    carry(update, numbers);
  batch.setSquares(addSquares(squares, symbols).getSymName());
  if (!numbers.empty())
    batch.setRefresh(
        addRefresh(updates.front(), numbers, symbols).getSymName());
  numCarried += numbers.size();
  return success();
}
