//===- ProductAhead.cpp - what a product will read next -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands that lie in panels are asked for before they are read: processors do
// not prefetch over the end of a page, and do not see which pieces of a panel
// belong together. Each term asks for its share, since many requests at once
// would keep loads waiting.
//
//===----------------------------------------------------------------------===//
#include "passes/CPU/ProductLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::block;

/// How far ahead of the sums panels are asked for: what some hundreds of cycles
/// read, longer than memory takes, a part of a small first-level cache.
static constexpr int64_t bytesAhead = 6 * 1024;
static constexpr int64_t lineBytes = 64;

/// Rows of the result that are asked for at once.
static constexpr int64_t mostRows = 4;

/// Asks for what the sums at `places` will want some terms after number `i` of
/// these. Whole panels lie one behind the other, so their ends need no care.
void ProductLoops::askAhead(ArrayRef<Value> terms, int64_t i,
                            ArrayRef<TilePlace> places) {
  // An FP32 number or a pair of BF16 a column.
  constexpr int64_t columnBytes = 4;
  auto ask = [&](const TileMemory &memory, TilePlace at, int64_t rowsAhead,
                 int64_t column) {
    at.index[0] = values.index(at.index[0], rowsAhead * (isPaired ? 2 : 1));
    at.index[1] = values.index(at.index[1], column);
    values.prefetch(memory, at);
  };
  auto isRead = [&](const std::optional<TileMemory> &memory) {
    return memory && memory->layout && memory->layout.pairs == isPaired;
  };
  std::optional<TileMemory> right =
      values.findMemory(product.getDpsInputs()[1]);
  if (!isRead(right))
    return;
  // Lines of the panel that begin in this term's row.
  const int64_t rowBytes = right->layout.width * columnBytes;
  const int64_t ahead = std::max<int64_t>(1, bytesAhead / rowBytes);
  for (int64_t at = llvm::alignTo(i * rowBytes, lineBytes);
       at < (i + 1) * rowBytes; at += lineBytes)
    ask(*right, operandAt(1, places.front(), terms[i]), ahead,
        (at - i * rowBytes) / columnBytes);
  std::optional<TileMemory> left = values.findMemory(product.getDpsInputs()[0]);
  if (isRead(left) && readsAcross(0))
    ask(*left, operandAt(0, places.front(), terms[i]), ahead, 0);
}

/// Asks for the next panel of a left operand that is read along its rows, of
/// which a few are one piece of memory in each panel: number `i` of `count`
/// terms from `start` on asks for its part of what is as long as they are.
void ProductLoops::askForNextPanel(Value start, int64_t i, Value panel,
                                   ArrayRef<TilePlace> places) {
  TileMemory left = *values.findMemory(product.getDpsInputs()[0]);
  const int64_t rows = llvm::count_if(places, [&](const TilePlace &place) {
    return place.index[1] == places.front().index[1];
  });
  // Elements that a term has in the piece, and that a line has.
  const int64_t size = isPaired ? 2 * rows : rows;
  const int64_t line =
      8 * lineBytes / left.elementType().getIntOrFloatBitWidth();
  // A value of its own, which is in another panel than `start`.
  Value next =
      arith::MulIOp::create(builder, loc, start, values.constant(size));
  values.setPanel(next, leftPanel, values.index(panel, 1), next);
  for (int64_t at = llvm::alignTo(i * size, line); at < (i + 1) * size;
       at += line)
    values.prefetch(left,
                    {{{places.front().index[0], values.index(next, at)}}});
}

/// Asks for a part of what the sums will be stored to, in one of so many steps
/// of summing: stores wait in a short queue, and to ask for all of a tile at
/// once would keep the operands waiting.
void ProductLoops::askForResult(const Slab &slab, const Tile &tile, Value step,
                                int64_t steps) {
  const int64_t count = llvm::divideCeil(tile.rows, steps);
  // Too short to hide anything behind.
  if (count > mostRows)
    return;
  Value row = arith::MulIOp::create(builder, loc, step, values.constant(count));
  // The last rows more than once.
  if (steps * count > tile.rows)
    row = arith::MinUIOp::create(builder, loc, row,
                                 values.constant(tile.rows - count));
  row = arith::AddIOp::create(builder, loc, tile.row, row);
  for (auto [number, memory] : llvm::enumerate(memories)) {
    // Between slabs there are only sums, which later slabs have loaded.
    if (number == sumsOutput ? !slab.isFirst : !slab.isLast)
      continue;
    const bool isPairs = memory.layout.pairs;
    const int64_t line =
        8 * lineBytes / memory.elementType().getIntOrFloatBitWidth();
    for (int64_t i = 0; i < count; ++i)
      for (int64_t at = 0; at < tile.columns; at += isPairs ? line / 2 : line)
        values.prefetch(
            memory, {{{values.index(row, i), values.index(tile.column, at)}}},
            /*isWrite=*/true);
  }
}
