//===- RowDiameter.cpp - what the row-diameter oracle costs ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Schedules/RowDiameter.h"

#include <algorithm>
#include <cmath>

using namespace steep::schedules;

namespace {

constexpr int64_t block = 64, columnPadding = 32, denseEdges = 768, star = 32;

int64_t roundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

/// Adds up arrays, each aligned to 64 bytes.
class Sum {
public:
  void add(int64_t count, int64_t size, int64_t times = 1) {
    bytes += times * roundUp(count * size, 64);
  }
  /// Points by rows and by columns, and their squares.
  void addCloud(int64_t padded, int64_t stride, int64_t size) {
    add(padded * stride, size, 2);
    add(padded, size);
  }
  /// A Cholesky factor with the inverses of its diagonal blocks.
  void addFactor(int64_t side, int64_t size) {
    add(side * side, size);
    add(side * block, size, 2);
    add((side + block) * block, size);
  }
  int64_t bytes = 0;
};

/// The Newton steps' part.
void addNewton(Sum &sum, int64_t rows, int64_t stride) {
  const int64_t padded = roundUp(rows, block), points = padded * stride;
  const int64_t m = std::min(rows * (rows - 1) / 2, 96 * rows + 1024);
  const int64_t dense = roundUp(std::min(m, denseEdges), block);
  const int64_t denseSide = std::min(padded, roundUp(denseEdges + 1, block));
  sum.add(m, 4, 2); // pairs
  sum.add(m, 8, 3);
  sum.add((rows * rows + 7) / 8, 1);
  sum.add(4 * rows, 8); // candidates
  sum.add(4 * rows, 4);
  sum.addCloud(padded, stride, 8);
  sum.addFactor(padded, 8);
  sum.add(points, 8, 3);
  sum.add(padded + stride, 8);
  sum.add(roundUp(m, block), 8, 7);
  sum.addFactor(dense, 8);
  sum.add(denseSide * denseSide, 8, 2);
  sum.add(dense * stride, 8, 2);
  if (m > denseEdges) {
    sum.add(m, 4); // stars
    sum.add(rows + 1, 4);
    sum.add(m * star, 4);
    sum.add(star * stride, 8);
    sum.addFactor(padded, 4);
    sum.add(points, 4, 3);
  }
}

} // namespace

RowDiameterLimits steep::schedules::rowDiameterLimits(RowDiameterForm form) {
  if (form == RowDiameterForm::Exact)
    return {4096, 4096};
  return {int64_t(1) << 22, int64_t(1) << 16};
}

int64_t steep::schedules::rowDiameterBytes(RowDiameterForm form, int64_t rows,
                                           int64_t columns) {
  const RowDiameterLimits limits = rowDiameterLimits(form);
  if (rows < 1 || columns < 1 || rows > limits.rows || columns > limits.columns)
    return -1;
  const int64_t stride = roundUp(columns, columnPadding);
  const int64_t padded = roundUp(rows, block), points = padded * stride;
  Sum sum;
  sum.add(points, 8, 3); // the gradient, X, and what is stored
  sum.add(rows, 8);
  sum.add(2 * rows + 16 + 4 * stride, 8);
  sum.addCloud(padded, stride, 4);
  if (form == RowDiameterForm::Repair) {
    sum.addCloud(padded, stride, 4);
    sum.add(rows * stride, 8);
    sum.add(rows, 8, 3);
    return sum.bytes;
  }
  sum.add(rows, 4, 2);
  sum.add(points, 8);
  sum.add(rows, 8);
  sum.add(std::min(rows, columns) * stride, 8);
  addNewton(sum, rows, stride);
  return sum.bytes;
}

int64_t steep::schedules::measureBytes(int64_t rows, int64_t columns) {
  const int64_t stride = roundUp(columns, columnPadding);
  const int64_t padded = roundUp(rows, block);
  Sum sum;
  sum.add(padded * stride, 8);
  sum.add(padded, 8, 2);
  sum.add(rows, 4);
  sum.add(20 * stride, 8);
  sum.addCloud(padded, stride, 4);
  return sum.bytes;
}

double steep::schedules::jungRatio(int64_t rows, int64_t columns) {
  const double k = static_cast<double>(std::min(rows - 1, columns));
  return k < 1 ? 1 : std::sqrt((k + 1) / (2 * k));
}
