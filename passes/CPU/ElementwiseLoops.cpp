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
  int64_t findPanel();
  bool transposes();
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
  SmallVector<TileMemory> memories; // of the outputs
};
} // namespace

/// The width of the panels that the kernel touches; all are equal.
int64_t ElementwiseLoops::findPanel() {
  for (const TileOutput &output : outputs)
    if (output.layout)
      return output.layout.width;
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

LogicalResult ElementwiseLoops::emit() {
  values.readScalars();
  bool hasPairs = false;
  for (const TileOutput &output : outputs) {
    memories.push_back(values.getMemory(output.memref, output.layout));
    hasPairs |= output.layout.pairs;
  }
  if (hasPairs && (rows % 2 != 0 || (blockRows % 2 != 0 && blockRows < rows)))
    return func.emitOpError("expected an even number of rows for pairs");
  // Groups of rows must not cross a panel.
  int64_t least = hasPairs ? 2 : 1;
  int64_t group = transposes() && blockRows % lanes == 0 ? lanes : least;
  scf::ForallOp grid =
      createGrid(builder, func, llvm::divideCeil(rows, blockRows));
  builder.setInsertionPoint(grid.getTerminator());
  Value begin = builder.createOrFold<arith::MulIOp>(
      loc, grid.getInductionVar(0), values.constant(blockRows));
  Value end = smaller(builder.createOrFold<arith::AddIOp>(
                          loc, begin, values.constant(blockRows)),
                      values.constant(rows));
  Value whole = values.constant(rows - rows % group);
  if (failed(values.buildFor(begin, smaller(end, whole), group,
                             [&](Value row) { return emitRows(row, group); })))
    return failure();
  if (rows % group == 0)
    return success();
  return values.buildFor(larger(begin, whole), end, least,
                         [&](Value row) { return emitRows(row, least); });
}

LogicalResult ElementwiseLoops::emitRows(Value row, int64_t count) {
  int64_t panel = findPanel(), whole = columns / panel;
  if (count == lanes && transposes())
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
      failed(values.buildFor(
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
  SmallVector<SmallVector<Value>> results(outputs.size());
  for (int64_t i = 0; i < count; ++i) {
    TilePlace place{{{values.index(row, i), column}, 1, width}};
    for (auto [output, list] : llvm::zip(outputs, results)) {
      FailureOr<Value> value = values.evaluate(output.value, place);
      if (failed(value))
        return failure();
      list.push_back(values.toVector(*value, width));
    }
    for (auto [memory, list] : llvm::zip(memories, results)) {
      if (!memory.layout.pairs)
        values.store(list[i], memory, place);
      else if (i % 2 == 1)
        values.storePairs(list[i - 1], list[i], memory,
                          {{{values.index(row, i - 1), column}, 1, width}});
    }
  }
  return success();
}

LogicalResult block::emitElementwise(func::FuncOp func, ConfigAttr config,
                                     ArrayRef<TileOutput> outputs) {
  return ElementwiseLoops(func, config, outputs).emit();
}
