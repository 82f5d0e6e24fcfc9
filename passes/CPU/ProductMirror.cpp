//===- ProductMirror.cpp - products whose result is symmetric -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/ProductLoops.h"

#include "passes/Block/Config.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::block;

/// Tiles reach exactly to the vectors that hold the diagonal. Rows in pairs are
/// copied in squares of vectors only.
bool ProductLoops::canMirror() const {
  auto isWhole = [&](std::pair<int64_t, int64_t> vector) {
    return vector.second % rows.step == 0;
  };
  if (usesAMX())
    return rows.size == columns.size && rows.size % amxMicro == 0;
  return rows.size == columns.size &&
         llvm::all_of(cutIntoVectors(columns.step, lanes), isWhole) &&
         (squares() == rows.size ||
          llvm::none_of(outputs, [](const TileOutput &output) {
            return output.layout.pairs;
          }));
}

/// What lies at and below the diagonal in the block's columns: for each of its
/// panels the rows of that number, then the rows below the block. Rows are
/// copied in groups, while they are in the first- or second-level cache.
LogicalResult ProductLoops::emitTriangle(const Slab &slab) {
  int64_t whole = columns.whole();
  Value none = values.constant(0);
  if (whole > 0) {
    Value size = extent(firstColumn, columns, whole);
    if (failed(values.buildFor(none, size, columns.step, [&](Value panel) {
          Value first = add(firstColumn, panel);
          if (failed(emitBelow(slab, squares() > 0, first,
                               add(first, values.constant(columns.step)),
                               panel)))
            return failure();
          return emitDiagonal(slab, first, columns.step);
        })))
      return failure();
    Value below = add(firstColumn, size), end = values.constant(squares());
    if (failed(values.buildFor(below, end, rowsOfGroup(), [&](Value first) {
          Value next = add(first, values.constant(rowsOfGroup()));
          return emitBelow(slab, /*mirrors=*/true, first,
                           arith::MinUIOp::create(builder, loc, next, end),
                           size);
        })))
      return failure();
    if (squares() < rows.whole() &&
        failed(emitBelow(slab, /*mirrors=*/false,
                         arith::MaxUIOp::create(builder, loc, below, end),
                         values.constant(rows.whole()), size)))
      return failure();
  }
  if (whole == columns.size)
    return success();
  return buildIf(isLastBlock(columnBlock, columns), [&] {
    return emitDiagonal(slab, values.constant(whole), columns.size - whole);
  });
}

/// Some rows of the block's first `size` columns, which all lie below the
/// diagonal.
LogicalResult ProductLoops::emitBelow(const Slab &slab, bool mirrors,
                                      Value first, Value end, Value size) {
  Value none = values.constant(0);
  // A tile on AMX is whole cache lines above the diagonal, too, which were
  // asked for while it was summed up.
  const bool atOnce = slab.isLast && mirrors && usesAMX();
  if (failed(values.buildFor(first, end, rows.step, [&](Value row) {
        return values.buildFor(none, size, columns.step, [&](Value offset) {
          Value column = add(firstColumn, offset);
          if (failed(emitTile(slab, {row, rows.step, column, columns.step})))
            return failure();
          if (atOnce)
            mirrorRows(row, add(row, values.constant(rows.step)), column,
                       add(column, values.constant(columns.step)));
          return success();
        });
      })))
    return failure();
  if (slab.isLast && mirrors && !atOnce)
    mirrorRows(first, end, firstColumn, add(firstColumn, size));
  return success();
}

/// The square of `size` rows and columns from `first` on: rows by rows, each up
/// to the vector that holds the diagonal.
LogicalResult ProductLoops::emitDiagonal(const Slab &slab, Value first,
                                         int64_t size) {
  // Both halves of a square are computed, of the same products in the same
  // order.
  if (usesAMX())
    return emitTile(slab, {first, size, first, size});
  for (auto [at, width] : cutIntoVectors(size, lanes)) {
    int64_t end = at + width;
    // The last rows, which make no tile, are computed whole.
    if (width < rows.step)
      break;
    if (failed(values.buildFor(
            values.constant(at), values.constant(end), rows.step,
            [&](Value row) {
              return emitTile(slab, {add(first, row), rows.step, first, end});
            })))
      return failure();
    if (!slab.isLast || width < lanes || squares() == 0)
      continue;
    Value corner = values.index(first, at);
    mirrorRows(corner, values.index(first, end), first, corner);
    mirrorDiagonal(corner);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Copies above the diagonal
//===----------------------------------------------------------------------===//

/// Copies whole squares of some rows and columns to their places above the
/// diagonal.
void ProductLoops::mirrorRows(Value row, Value rowEnd, Value column,
                              Value columnEnd) {
  auto at = [&](Value row, Value column) {
    return TilePlace{{{row, column}, 1, lanes}};
  };
  for (const TileMemory &memory : memories)
    (void)values.buildFor(column, columnEnd, lanes, [&](Value column) {
      return values.buildFor(row, rowEnd, lanes, [&](Value row) {
        Values below = values.loadRows(memory, at(row, column), lanes);
        values.storeRows(transposeSquare(builder, loc, std::move(below)),
                         memory, at(column, row));
        return success();
      });
    });
}

/// The square on the diagonal from `first` on takes what is below it.
void ProductLoops::mirrorDiagonal(Value first) {
  TilePlace place{{{first, first}, 1, lanes}};
  for (const TileMemory &memory : memories) {
    Values square = values.loadRows(memory, place, lanes);
    Values across = transposeSquare(builder, loc, square);
    for (int64_t i = 0; i < lanes; ++i) {
      SmallVector<bool> below(lanes);
      std::fill_n(below.begin(), i + 1, true);
      Value mask = arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(VectorType::get({lanes}, builder.getI1Type()),
                                 below));
      square[i] =
          arith::SelectOp::create(builder, loc, mask, square[i], across[i]);
    }
    values.storeRows(square, memory, place);
  }
}

/// The last rows, which make no square, one element at a time.
void ProductLoops::mirrorLastRows() {
  if (squares() == rows.size)
    return;
  Value size = extent(firstColumn, columns, columns.size);
  for (const TileMemory &memory : memories)
    (void)values.buildFor(values.constant(0), size, 1, [&](Value number) {
      Value column = add(firstColumn, number);
      Value begin =
          arith::MaxUIOp::create(builder, loc, add(column, values.constant(1)),
                                 values.constant(squares()));
      return values.buildFor(
          begin, values.constant(rows.size), 1, [&](Value row) {
            Value value = values.load(memory, {{{row, column}}});
            values.store(value, memory, {{{column, row}}});
            return success();
          });
    });
}
