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
using geo::detail::RowTerm;

/// Adds the terms of all rows to the row `sums`, in f64, from the first on.
static Value addRows(OpBuilder &b, Location loc, ArrayRef<Operand> inputs,
                     Value sums, RowTerm add) {
  return createGeneric(
      b, loc, inputs, {{sums, {1}}}, "rp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {add(b, loc, v.drop_back(), v.back())};
      })[0];
}

/// An element as f64.
static Value extend(OpBuilder &b, Location loc, Value x) {
  return x.getType().isF64()
             ? x
             : arith::ExtFOp::create(b, loc, b.getF64Type(), x).getResult();
}

static Value addTerm(OpBuilder &b, Location loc, ValueRange x, Value sum) {
  return arith::AddFOp::create(b, loc, sum, extend(b, loc, x[0]));
}

static bool hasRows(const Operand &operand) {
  return !operand.axes.empty() && operand.axes.front() == 0;
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
/// stay in a second-level cache while their columns are gone through, or twice
/// as many where that leaves every thread some groups, since one thread adds
/// those up. Fewer would make the groups too many.
static int64_t getGroupRows(int64_t rows, int64_t columns) {
  int64_t group =
      std::clamp<int64_t>(65536 / std::max<int64_t>(1, columns), 64, 1024);
  return rows >= 32 * group && group <= 512 ? 2 * group : group;
}

Value geo::detail::createColumnSums(OpBuilder &b, Location loc,
                                    ArrayRef<Operand> inputs, RowTerm add) {
  Value matrix = inputs.front().value;
  auto type = cast<RankedTensorType>(matrix.getType());
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, matrix);
  Value sums =
      createZeros(b, loc, ArrayRef(sizes).drop_front(), b.getF64Type());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  if (ShapedType::isDynamic(columns) || ShapedType::isDynamic(rows))
    return addRows(b, loc, inputs, sums, add);
  int64_t group = getGroupRows(rows, columns);
  if (rows < 2 * group)
    return addRows(b, loc, inputs, sums, add);

  int64_t groups = rows / group, whole = groups * group;
  SmallVector<Operand> grouped, rest;
  for (const Operand &input : inputs) {
    rest.push_back(input);
    Operand in = input;
    for (unsigned &axis : in.axes)
      axis += axis != 0;
    if (hasRows(input)) {
      in.value =
          splitRows(b, loc, sliceRows(b, loc, input.value, 0, whole), groups);
      in.axes.insert(in.axes.begin() + 1, 1);
    }
    grouped.push_back(in);
  }
  Value zeros =
      createZeros(b, loc, {b.getIndexAttr(groups), b.getIndexAttr(columns)},
                  b.getF64Type());
  Value partial = createGeneric(
      b, loc, grouped, {{zeros, {0, 2}}}, "prp",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {add(b, loc, v.drop_back(), v.back())};
      })[0];
  sums = addRows(b, loc, {{partial, {0, 1}}}, sums, addTerm);
  if (whole == rows)
    return sums;
  for (Operand &input : rest)
    if (hasRows(input))
      input.value = sliceRows(b, loc, input.value, whole, rows);
  return addRows(b, loc, rest, sums, add);
}

Value geo::detail::createColumnSums(OpBuilder &b, Location loc, Value matrix,
                                    Value vector, ColumnTerm add) {
  SmallVector<Operand> inputs = {{matrix, {0, 1}}};
  if (vector)
    inputs.push_back({vector, {0}});
  return createColumnSums(
      b, loc, inputs,
      [&](OpBuilder &b, Location loc, ValueRange x, Value sum) -> Value {
        return add(b, loc, extend(b, loc, x[0]), vector ? x[1] : Value(), sum);
      });
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

Value geo::detail::createMeanRow(OpBuilder &b, Location loc, Value sums,
                                 Value rows) {
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, sums), b.getF32Type());
  return createGeneric(
      b, loc, {{sums, {0}}}, {{empty, {0}}}, "p",
      [&](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        Value quotient = arith::DivFOp::create(b, loc, v[0], rows);
        return {arith::TruncFOp::create(b, loc, b.getF32Type(), quotient)};
      })[0];
}

FailureOr<SmallVector<Value>> CenterOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  // 1. Column sums.
  Value sums = createColumnSums(b, loc, getInput(), /*ofSquares=*/false);

  // 2. The mean row.
  Value mean = geo::detail::createMeanRow(b, loc, sums,
                                          createSize(b, loc, getInput(), 0));

  // 3. Subtract it.
  return createGeneric(
      b, loc, {{getInput(), {0, 1}}, {mean, {1}}},
      {{geo::detail::createEmpty(b, loc, getInput()), {0, 1}}}, "pp",
      [](OpBuilder &b, Location loc, ValueRange v) -> SmallVector<Value> {
        return {arith::SubFOp::create(b, loc, v[0], v[1])};
      });
}
