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
using geo::detail::ColumnTerm;
using geo::detail::createColumnSums;
using geo::detail::createGeneric;
using geo::detail::createSize;
using geo::detail::createZeros;
using geo::detail::Operand;

/// Adds the terms of all rows of `matrix` to the row `sums`, in f64, from the
/// first on; `vector` has a value a row, or is null.
static Value addRows(OpBuilder &b, Location loc, Value matrix, Value vector,
                     Value sums, ColumnTerm add) {
  SmallVector<Operand> inputs = {{matrix, {0, 1}}};
  if (vector)
    inputs.push_back({vector, {0}});
  return createGeneric(
      b, loc, inputs, {{sums, {1}}}, "rp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = v[0];
        if (x.getType() != v.back().getType())
          x = arith::ExtFOp::create(b, loc, v.back().getType(), x);
        return {add(b, loc, x, vector ? v[1] : Value(), v.back())};
      })[0];
}

static Value addTerm(OpBuilder &b, Location loc, Value x, Value, Value sum) {
  return arith::AddFOp::create(b, loc, sum, x);
}

/// Rows [begin, end) of a matrix, or elements of a vector.
static Value sliceRows(OpBuilder &b, Location loc, Value tensor, int64_t begin,
                       int64_t end) {
  if (!tensor)
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  if (begin == 0 && end == type.getDimSize(0))
    return tensor;
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, tensor);
  offsets[0] = b.getIndexAttr(begin);
  sizes[0] = b.getIndexAttr(end - begin);
  return tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes,
                                        strides);
}

/// The first dimension in groups.
static Value splitRows(OpBuilder &b, Location loc, Value tensor,
                       int64_t groups) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape = {groups, type.getDimSize(0) / groups};
  SmallVector<ReassociationIndices> split = {{0, 1}};
  for (int64_t dim = 1; dim < type.getRank(); ++dim) {
    shape.push_back(type.getDimSize(dim));
    split.push_back({dim + 1});
  }
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), tensor,
                                       split);
}

/// How many rows are summed by themselves first: some 256 KiB of them, which
/// stay in a second-level cache while their columns are gone through. Fewer
/// would make the sums of groups too many.
static int64_t getGroupRows(int64_t columns) {
  return std::clamp<int64_t>(65536 / std::max<int64_t>(1, columns), 64, 1024);
}

Value geo::detail::createColumnSums(OpBuilder &b, Location loc, Value matrix,
                                    Value vector, ColumnTerm add) {
  auto type = cast<RankedTensorType>(matrix.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, matrix);
  Value sums =
      createZeros(b, loc, ArrayRef(sizes).drop_front(), b.getF64Type());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t group = ShapedType::isDynamic(columns) ? 0 : getGroupRows(columns);
  if (group == 0 || ShapedType::isDynamic(rows) || rows < 2 * group)
    return addRows(b, loc, matrix, vector, sums, add);

  int64_t groups = rows / group, whole = groups * group;
  SmallVector<Operand> inputs = {
      {splitRows(b, loc, sliceRows(b, loc, matrix, 0, whole), groups),
       {0, 1, 2}}};
  if (vector)
    inputs.push_back(
        {splitRows(b, loc, sliceRows(b, loc, vector, 0, whole), groups),
         {0, 1}});
  Value zeros =
      createZeros(b, loc, {b.getIndexAttr(groups), b.getIndexAttr(columns)},
                  b.getF64Type());
  Value partial = createGeneric(
      b, loc, inputs, {{zeros, {0, 2}}}, "prp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value x = arith::ExtFOp::create(b, loc, v.back().getType(), v[0]);
        return {add(b, loc, x, vector ? v[1] : Value(), v.back())};
      })[0];
  sums = addRows(b, loc, partial, Value(), sums, addTerm);
  return whole == rows
             ? sums
             : addRows(b, loc, sliceRows(b, loc, matrix, whole, rows),
                       sliceRows(b, loc, vector, whole, rows), sums, add);
}

Value geo::detail::createColumnSums(OpBuilder &b, Location loc, Value matrix,
                                    bool ofSquares) {
  return createColumnSums(
      b, loc, matrix, /*vector=*/Value(),
      [=](OpBuilder &b, Location loc, Value x, Value, Value sum) -> Value {
        // The square of an f32 is exact in f64.
        if (ofSquares)
          x = arith::MulFOp::create(b, loc, x, x);
        return arith::AddFOp::create(b, loc, sum, x);
      });
}

FailureOr<SmallVector<Value>> CenterOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, getInput());
  auto columns = ArrayRef(sizes).drop_front();

  // 1. Column sums.
  Value sums = createColumnSums(b, loc, getInput(), /*ofSquares=*/false);

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
