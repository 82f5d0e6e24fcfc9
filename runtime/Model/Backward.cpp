//===- Backward.cpp - from the head's gradient to the parameters' ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/ModelState.h"
#include "runtime/Model/Parallel.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

using namespace steep;
using Result = Products::Result;

void Model::State::attentionBackward(const BlockActivations &block,
                                     int64_t batch, int64_t length) {
  const int64_t heads = config.heads;
  parallelTasks(batch * heads, [&](int64_t task, int thread) {
    const int64_t sequence = task / heads, head = task % heads;
    const int64_t at = sequence * length * config.dim + head * config.headDim;
    AttentionHead args = headOf(block, sequence, head, length);
    args.dOut = act.dAttended + at;
    args.dq = act.dq + at;
    args.dk = act.dk + at;
    args.dv = act.dv + at;
    kernels.attentionBackward(args, act.scratch + thread * act.scratchStride);
  });
}

/// dStream holds the gradient behind the MLP, then the one before it.
void Model::State::mlpBackward(int64_t layer, int64_t n, bool accumulate) {
  const Result mode = accumulate ? Result::Add : Result::Write;
  const int64_t d = config.dim, wide = config.mlpDim();
  const BlockActivations &block = act.blocks[layer];
  products.nn(Result::Write, n, wide, d, act.dStream,
              weight(layer, Weight::Down), act.dWide);
  parallelRanges(n, [&](int64_t begin, int64_t end) {
    const int64_t at = begin * wide, count = (end - begin) * wide;
    kernels.swiglu(block.gate + at, block.up + at, act.activation + at, count);
    kernels.swigluBackward(block.gate + at, block.up + at, act.dWide + at,
                           count);
    kernels.norm(block.middle + begin * d, act.normed + begin * d,
                 block.mlpNorm + begin, end - begin, d);
  });
  products.tn(mode, d, wide, n, act.dStream, act.activation,
              gradient(layer, Weight::Down));
  // gate and up now hold their gradients.
  products.tn(mode, wide, d, n, block.gate, act.normed,
              gradient(layer, Weight::Gate));
  products.tn(mode, wide, d, n, block.up, act.normed,
              gradient(layer, Weight::Up));
  products.nn(Result::Write, n, d, wide, block.gate,
              weight(layer, Weight::Gate), act.dNormed);
  products.nn(Result::Add, n, d, wide, block.up, weight(layer, Weight::Up),
              act.dNormed);
  parallelRanges(n, [&](int64_t begin, int64_t end) {
    kernels.normBackward(block.middle + begin * d, block.mlpNorm + begin,
                         act.dNormed + begin * d, act.dStream + begin * d,
                         end - begin, d, true);
  });
}

void Model::State::attentionBlockBackward(int64_t layer, int64_t batch,
                                          int64_t length, bool accumulate) {
  const Result mode = accumulate ? Result::Add : Result::Write;
  const int64_t n = batch * length, d = config.dim, heads = config.heads;
  const BlockActivations &block = act.blocks[layer];
  products.tn(mode, d, d, n, act.dStream, block.attended,
              gradient(layer, Weight::Out));
  products.nn(Result::Write, n, d, d, act.dStream, weight(layer, Weight::Out),
              act.dAttended);
  attentionBackward(block, batch, length);
  const float *in = act.streams[layer];
  parallelRanges(n, [&](int64_t begin, int64_t end) {
    kernels.normRotateBackward(block.q + begin * d, block.qNorm + begin * heads,
                               act.dq + begin * d, cosines.data(), sines.data(),
                               begin, end - begin, length, heads,
                               config.headDim);
    kernels.normRotateBackward(block.k + begin * d, block.kNorm + begin * heads,
                               act.dk + begin * d, cosines.data(), sines.data(),
                               begin, end - begin, length, heads,
                               config.headDim);
    kernels.norm(in + begin * d, act.normed + begin * d,
                 block.attentionNorm + begin, end - begin, d);
  });
  Result sum = Result::Write;
  for (auto [which, from] :
       {std::pair(Weight::Q, act.dq), std::pair(Weight::K, act.dk),
        std::pair(Weight::V, act.dv)}) {
    products.tn(mode, d, d, n, from, act.normed, gradient(layer, which));
    products.nn(sum, n, d, d, from, weight(layer, which), act.dNormed);
    sum = Result::Add;
  }
  parallelRanges(n, [&](int64_t begin, int64_t end) {
    kernels.normBackward(in + begin * d, block.attentionNorm + begin,
                         act.dNormed + begin * d, act.dStream + begin * d,
                         end - begin, d, true);
  });
}

/// Each row of the table sums its tokens' gradients in the order of the
/// batch, whatever the number of threads.
void Model::State::embeddingBackward(const int32_t *tokens, int64_t count,
                                     bool accumulate) {
  const int64_t d = config.dim;
  std::vector<int64_t> order(count), starts;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return tokens[a] != tokens[b] ? tokens[a] < tokens[b] : a < b;
  });
  for (int64_t i = 0; i < count; ++i)
    if (i == 0 || tokens[order[i]] != tokens[order[i - 1]])
      starts.push_back(i);
  starts.push_back(count);

  float *table = gradients.front().f32();
  if (!accumulate)
    parallelRanges(config.vocab, [&](int64_t begin, int64_t end) {
      std::memset(table + begin * d, 0, (end - begin) * d * sizeof(float));
    });
  parallelRanges(int64_t(starts.size()) - 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = starts[begin]; i < starts[end]; ++i) {
      const float *from = act.dStream + order[i] * d;
      float *to = table + tokens[order[i]] * d;
      for (int64_t j = 0; j < d; ++j)
        to[j] += from[j];
    }
  });
}

void Model::State::backward(const int32_t *tokens, int64_t batch,
                            int64_t length, bool accumulate) {
  const int64_t n = batch * length, d = config.dim;
  const float *last = act.streams[config.layers];
  parallelRanges(n, [&](int64_t begin, int64_t end) {
    kernels.normBackward(last + begin * d, act.finalNorm + begin,
                         act.dNormed + begin * d, act.dStream + begin * d,
                         end - begin, d, false);
  });
  for (int64_t layer = config.layers - 1; layer >= 0; --layer) {
    mlpBackward(layer, n, accumulate);
    attentionBlockBackward(layer, batch, length, accumulate);
  }
  embeddingBackward(tokens, n, accumulate);
}
