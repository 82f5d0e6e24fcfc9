//===- Head.cpp - the language-model head and its loss --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Head.h"

#include "runtime/Model/Model.h"
#include "runtime/Model/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace steep;

/// Rows of the head that one product takes: its part of the logits stays near
/// the cores until the softmax has seen it, and oneDNN is faster on it than on
/// the whole vocabulary (0.9 against 0.7 of its best for the weight gradient).
static constexpr int64_t blockColumns = 4096;

Head::Head(const ModelConfig &config, const Kernels &kernels,
           Products &products)
    : vocab(config.vocab), dim(config.dim), kernels(kernels),
      products(products), rowMax(Model::headChunk), rowScale(Model::headChunk),
      rowSum(Model::headChunk), targetLogit(Model::headChunk) {}

template <typename Body> void Head::forEachBlock(const Body &body) const {
  for (int64_t begin = 0; begin < vocab; begin += blockColumns)
    body(begin, std::min(blockColumns, vocab - begin));
}

/// Calls body(begin, count) for chunks of nearly equal size.
template <typename Body>
static void forEachChunk(int64_t tokens, const Body &body) {
  const int64_t chunks = (tokens + Model::headChunk - 1) / Model::headChunk;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t begin = tokens * chunk / chunks;
    body(begin, tokens * (chunk + 1) / chunks - begin);
  }
}

double Head::forwardChunk(const float *hidden, const int32_t *targets,
                          int64_t tokens, const float *weight, bool keep) {
  const int64_t needed =
      Model::headChunk * (keep ? vocab : std::min(vocab, blockColumns));
  if (int64_t(logits.size()) < needed)
    logits.resize(needed);
  std::fill(rowMax.begin(), rowMax.end(),
            -std::numeric_limits<float>::infinity());
  std::fill(rowSum.begin(), rowSum.end(), 0.0);
  forEachBlock([&](int64_t first, int64_t columns) {
    float *block = logits.data() + (keep ? tokens * first : 0);
    products.nt(Products::Result::Write, tokens, columns, dim, hidden,
                weight + first * dim, block);
    parallelRanges(tokens, [&](int64_t begin, int64_t end) {
      kernels.softmaxUpdate(block + begin * columns, end - begin, columns,
                            columns, &rowMax[begin], &rowSum[begin]);
      for (int64_t row = begin; row < end; ++row) {
        const int64_t column = targets[row] - first;
        if (column >= 0 && column < columns)
          targetLogit[row] = block[row * columns + column];
      }
    });
  });
  double sum = 0;
  for (int64_t row = 0; row < tokens; ++row)
    sum += double(rowMax[row]) + std::log(rowSum[row]) - targetLogit[row];
  return sum;
}

void Head::backwardChunk(const float *hidden, const int32_t *targets,
                         int64_t tokens, const float *weight, float scale,
                         float *dHidden, float *dWeight, bool accumulate) {
  for (int64_t row = 0; row < tokens; ++row)
    rowScale[row] = float(scale / rowSum[row]);
  forEachBlock([&](int64_t first, int64_t columns) {
    float *block = logits.data() + tokens * first;
    parallelRanges(tokens, [&](int64_t begin, int64_t end) {
      kernels.softmaxScale(block + begin * columns, end - begin, columns,
                           columns, &rowMax[begin], &rowScale[begin]);
      for (int64_t row = begin; row < end; ++row) {
        const int64_t column = targets[row] - first;
        if (column >= 0 && column < columns)
          block[row * columns + column] -= scale;
      }
    });
    products.nn(first ? Products::Result::Add : Products::Result::Write, tokens,
                dim, columns, block, weight + first * dim, dHidden);
    products.tn(accumulate ? Products::Result::Add : Products::Result::Write,
                columns, dim, tokens, block, hidden, dWeight + first * dim);
  });
}

double Head::loss(const float *hidden, const int32_t *targets, int64_t tokens,
                  const float *weight) {
  double sum = 0;
  forEachChunk(tokens, [&](int64_t begin, int64_t count) {
    sum += forwardChunk(hidden + begin * dim, targets + begin, count, weight,
                        false);
  });
  return sum;
}

double Head::backward(const float *hidden, const int32_t *targets,
                      int64_t tokens, const float *weight, float scale,
                      float *dHidden, float *dWeight, bool accumulate) {
  double sum = 0;
  forEachChunk(tokens, [&](int64_t begin, int64_t count) {
    sum += forwardChunk(hidden + begin * dim, targets + begin, count, weight,
                        true);
    backwardChunk(hidden + begin * dim, targets + begin, count, weight, scale,
                  dHidden + begin * dim, dWeight, accumulate || begin > 0);
  });
  return sum;
}
