//===- ElementwiseLoops.cpp - kernels that work element by element --------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/ProductLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::block;

namespace {
/// Rows outside, columns inside; where a matrix is read transposed, as many
/// rows at once as a vector has lanes, so that it is read along its own rows.
class ElementwiseLoops {
public:
  ElementwiseLoops(func::FuncOp func, ConfigAttr config,
                   ArrayRef<TileOutput> outputs)
      : func(func), outputs(outputs), loc(func.getLoc()),
        builder(func.getBody().front().getTerminator()), values(builder, func),
        lanes(config.getLanes() ? config.getLanes() : 16),
        rows(outputs[0].type().getDimSize(0)),
        columns(outputs[0].type().getDimSize(1)),
        blockRows(std::clamp<int64_t>(config.getRows(), 1, rows)) {}

  LogicalResult emit();

private:
  using Body = llvm::function_ref<LogicalResult(Value)>;

  int64_t findPanel();
  bool transposes();
  LogicalResult buildFor(Value begin, Value end, int64_t step, Body body);
  LogicalResult emitRows(Value row, int64_t count);
  LogicalResult emitPart(Value row, int64_t count, Value column, int64_t width);
  Value smaller(Value x, Value y) {
    return builder.createOrFold<arith::MinUIOp>(loc, x, y);
  }
  Value larger(Value x, Value y) {
    return builder.createOrFold<arith::MaxUIOp>(loc, x, y);
  }

  func::FuncOp func;
  ArrayRef<TileOutput> outputs;
  Location loc;
  OpBuilder builder;
  TileEmitter values;
  int64_t lanes, rows, columns, blockRows;
};
} // namespace

/// The width of the panels that the kernel touches; all are equal.
int64_t ElementwiseLoops::findPanel() {
  for (const TileOutput &output : outputs)
    if (output.memory.panel)
      return output.memory.panel;
  for (auto unpack : func.getBody().getOps<linalg::UnPackOp>())
    return unpack.getStaticInnerTiles()[0];
  return lanes;
}

bool ElementwiseLoops::transposes() {
  for (auto op : func.getBody().getOps<linalg::LinalgOp>())
    for (AffineMap map : op.getIndexingMapsArray())
      if (map.getNumResults() == 2 && !map.isIdentity())
        return true;
  return false;
}

LogicalResult ElementwiseLoops::buildFor(Value begin, Value end, int64_t step,
                                         Body body) {
  auto loop =
      scf::ForOp::create(builder, loc, begin, end, values.constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  values.known.enter();
  llvm::scope_exit leave([&] { values.known.leave(); });
  return body(loop.getInductionVar());
}

LogicalResult ElementwiseLoops::emit() {
  values.readScalars();
  // Groups of rows must not cross a panel.
  int64_t group = transposes() && blockRows % lanes == 0 ? lanes : 1;
  scf::ForallOp grid =
      createGrid(builder, func, llvm::divideCeil(rows, blockRows));
  builder.setInsertionPoint(grid.getTerminator());
  Value begin = builder.createOrFold<arith::MulIOp>(
      loc, grid.getInductionVar(0), values.constant(blockRows));
  Value end = smaller(builder.createOrFold<arith::AddIOp>(
                          loc, begin, values.constant(blockRows)),
                      values.constant(rows));
  Value whole = values.constant(rows - rows % group);
  if (failed(buildFor(begin, smaller(end, whole), group,
                      [&](Value row) { return emitRows(row, group); })))
    return failure();
  if (rows % group == 0)
    return success();
  return buildFor(larger(begin, whole), end, 1,
                  [&](Value row) { return emitRows(row, 1); });
}

LogicalResult ElementwiseLoops::emitRows(Value row, int64_t count) {
  int64_t panel = findPanel(), whole = columns / panel;
  if (count > 1)
    values.setGroup(row, count);
  else
    values.setGroup(Value(), 0);
  auto emitParts = [&](Value column, int64_t size) {
    for (auto [at, width] : cutIntoVectors(size, lanes))
      if (failed(emitPart(row, count, values.index(column, at), width)))
        return failure();
    return success();
  };
  if (whole > 0 &&
      failed(buildFor(
          values.constant(0), values.constant(whole), 1, [&](Value number) {
            Value column = arith::MulIOp::create(builder, loc, number,
                                                 values.constant(panel));
            values.setPanel(column, panel, number, values.constant(0));
            return emitParts(column, panel);
          })))
    return failure();
  return columns % panel == 0
             ? success()
             : emitParts(values.constant(whole * panel), columns % panel);
}

LogicalResult ElementwiseLoops::emitPart(Value row, int64_t count, Value column,
                                         int64_t width) {
  values.known.enter();
  llvm::scope_exit leave([&] { values.known.leave(); });
  for (int64_t i = 0; i < count; ++i) {
    TilePlace place{{{values.index(row, i), column}, 1, width}};
    SmallVector<Value> results;
    for (const TileOutput &output : outputs) {
      FailureOr<Value> value = values.evaluate(output.value, place);
      if (failed(value))
        return failure();
      results.push_back(values.toVector(*value, width));
    }
    for (auto [output, value] : llvm::zip(outputs, results))
      values.store(value, output.memory, place);
  }
  return success();
}

LogicalResult block::emitElementwise(func::FuncOp func, ConfigAttr config,
                                     ArrayRef<TileOutput> outputs) {
  return ElementwiseLoops(func, config, outputs).emit();
}
