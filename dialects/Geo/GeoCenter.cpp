//===- GeoCenter.cpp - geo.center in terms of linalg ----------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::geo;
using geo::detail::createGeneric;
using geo::detail::createSize;
using geo::detail::createZeros;

/// Adds the rows of `matrix` to the row `sums`, in f64, from the first on.
static Value addRows(OpBuilder &b, Location loc, Value matrix, Value sums) {
  return createGeneric(
      b, loc, {{matrix, {0, 1}}}, {{sums, {1}}}, "rp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = v[0];
        if (x.getType() != v[1].getType())
          x = arith::ExtFOp::create(b, loc, v[1].getType(), x);
        return {arith::AddFOp::create(b, loc, v[1], x)};
      })[0];
}

/// Rows [begin, end) of a matrix.
static Value sliceRows(OpBuilder &b, Location loc, Value matrix, int64_t begin,
                       int64_t end) {
  auto type = cast<RankedTensorType>(matrix.getType());
  if (begin == 0 && end == type.getDimSize(0))
    return matrix;
  SmallVector<OpFoldResult> offsets = {b.getIndexAttr(begin),
                                       b.getIndexAttr(0)};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(end - begin),
                                     b.getIndexAttr(type.getDimSize(1))};
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, matrix, offsets, sizes,
                                        strides);
}

/// How many rows are summed by themselves first: some 256 KiB of them, which
/// stay in a second-level cache while their columns are gone through. Fewer
/// would make the sums of groups too many.
static int64_t getGroupRows(int64_t columns) {
  return std::clamp<int64_t>(65536 / std::max<int64_t>(1, columns), 64, 1024);
}

/// The column sums, in f64. Of a matrix with many rows, groups of rows are
/// summed by themselves, so that blocks can share them, and then added in their
/// order; the rows that make no whole group come last. The order depends on the
/// shape alone.
static Value createColumnSums(OpBuilder &b, Location loc, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, matrix);
  Value sums =
      createZeros(b, loc, ArrayRef(sizes).drop_front(), b.getF64Type());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t group = ShapedType::isDynamic(columns) ? 0 : getGroupRows(columns);
  if (group == 0 || ShapedType::isDynamic(rows) || rows < 2 * group)
    return addRows(b, loc, matrix, sums);

  int64_t groups = rows / group, whole = groups * group;
  auto shape =
      RankedTensorType::get({groups, group, columns}, type.getElementType());
  SmallVector<ReassociationIndices> split = {{0, 1}, {2}};
  Value inGroups = tensor::ExpandShapeOp::create(
      b, loc, shape, sliceRows(b, loc, matrix, 0, whole), split);
  Value zeros =
      createZeros(b, loc, {b.getIndexAttr(groups), b.getIndexAttr(columns)},
                  b.getF64Type());
  Value partial = createGeneric(
      b, loc, {{inGroups, {0, 1, 2}}}, {{zeros, {0, 2}}}, "prp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = arith::ExtFOp::create(b, loc, v[1].getType(), v[0]);
        return {arith::AddFOp::create(b, loc, v[1], x)};
      })[0];
  sums = addRows(b, loc, partial, sums);
  return whole == rows
             ? sums
             : addRows(b, loc, sliceRows(b, loc, matrix, whole, rows), sums);
}

FailureOr<SmallVector<Value>> CenterOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, getInput());
  auto columns = ArrayRef(sizes).drop_front();

  // 1. Column sums.
  Value sums = createColumnSums(b, loc, getInput());

  // 2. The mean row, rounded once.
  Value rows = createSize(b, loc, getInput(), 0);
  Value empty = tensor::EmptyOp::create(b, loc, columns, b.getF32Type());
  Value mean = createGeneric(
      b, loc, {{sums, {0}}}, {{empty, {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value quotient = arith::DivFOp::create(b, loc, v[0], rows);
        return {arith::TruncFOp::create(b, loc, b.getF32Type(), quotient)};
      })[0];

  // 3. Subtract it.
  return createGeneric(
      b, loc, {{getInput(), {0, 1}}, {mean, {1}}},
      {{geo::detail::createEmpty(b, loc, getInput()), {0, 1}}}, "pp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::SubFOp::create(b, loc, v[0], v[1])};
      });
}
