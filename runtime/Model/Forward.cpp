//===- Forward.cpp - from tokens to hidden states -------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/ModelState.h"
#include "runtime/Model/Parallel.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace steep;

AttentionHead Model::State::headOf(const BlockActivations &block,
                                   int64_t sequence, int64_t head,
                                   int64_t length) const {
  const int64_t at = sequence * length * config.dim + head * config.headDim;
  const int64_t row = (sequence * config.heads + head) * length;
  AttentionHead args{};
  args.length = length;
  args.headDim = config.headDim;
  args.stride = config.dim;
  args.q = block.q + at;
  args.k = block.k + at;
  args.v = block.v + at;
  args.out = block.attended + at;
  args.rowMax = block.rowMax + row;
  args.rowInverse = block.rowInverse + row;
  return args;
}

void Model::State::attention(const BlockActivations &block, int64_t batch,
                             int64_t length) {
  const int64_t tiles = (length + attentionTile - 1) / attentionTile;
  const int64_t heads = config.heads;
  // Later tiles see more keys: the long tasks come first.
  parallelTasks(tiles * batch * heads, [&](int64_t task, int thread) {
    const int64_t tile = tiles - 1 - task / (batch * heads);
    const int64_t sequence = task % (batch * heads) / heads;
    const int64_t head = task % heads;
    const AttentionHead args = headOf(block, sequence, head, length);
    kernels.attention(args, tile * attentionTile,
                      std::min(length, (tile + 1) * attentionTile),
                      act.scratch + thread * act.scratchStride);
  });
}

void Model::State::forward(const int32_t *tokens, int64_t batch, int64_t length,
                           bool training) {
  using Result = Products::Result;
  const int64_t n = batch * length, d = config.dim, wide = config.mlpDim();
  act.prepare(config, n, threads, training);

  const float *embed = embedding();
  parallelRanges(n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      std::memcpy(act.streams[0] + row * d, embed + tokens[row] * d,
                  d * sizeof(float));
  });
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const BlockActivations &block = act.blocks[layer];
    const float *in = act.streams[layer];
    float *out = act.streams[layer + 1];
    parallelRanges(n, [&](int64_t begin, int64_t end) {
      kernels.norm(in + begin * d, act.normed + begin * d,
                   block.attentionNorm + begin, end - begin, d);
    });
    products.nt(Result::Write, n, d, d, act.normed, weight(layer, Weight::Q),
                block.q);
    products.nt(Result::Write, n, d, d, act.normed, weight(layer, Weight::K),
                block.k);
    products.nt(Result::Write, n, d, d, act.normed, weight(layer, Weight::V),
                block.v);
    parallelRanges(n, [&](int64_t begin, int64_t end) {
      for (auto [x, scales] :
           {std::pair(block.q, block.qNorm), std::pair(block.k, block.kNorm)})
        kernels.normRotate(x + begin * d, scales + begin * config.heads,
                           cosines.data(), sines.data(), begin, end - begin,
                           length, config.heads, config.headDim);
      // The products below add to the residual stream in place.
      std::memcpy(block.middle + begin * d, in + begin * d,
                  (end - begin) * d * sizeof(float));
    });
    attention(block, batch, length);
    products.nt(Result::Add, n, d, d, block.attended,
                weight(layer, Weight::Out), block.middle);
    parallelRanges(n, [&](int64_t begin, int64_t end) {
      kernels.norm(block.middle + begin * d, act.normed + begin * d,
                   block.mlpNorm + begin, end - begin, d);
    });
    products.nt(Result::Write, n, wide, d, act.normed,
                weight(layer, Weight::Gate), block.gate);
    products.nt(Result::Write, n, wide, d, act.normed,
                weight(layer, Weight::Up), block.up);
    parallelRanges(n, [&](int64_t begin, int64_t end) {
      kernels.swiglu(block.gate + begin * wide, block.up + begin * wide,
                     act.activation + begin * wide, (end - begin) * wide);
      std::memcpy(out + begin * d, block.middle + begin * d,
                  (end - begin) * d * sizeof(float));
    });
    products.nt(Result::Add, n, d, wide, act.activation,
                weight(layer, Weight::Down), out);
  }
  const float *last = act.streams[config.layers];
  parallelRanges(n, [&](int64_t begin, int64_t end) {
    kernels.norm(last + begin * d, act.hidden + begin * d,
                 act.finalNorm + begin, end - begin, d);
  });
}
