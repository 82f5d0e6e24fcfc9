//===- Activations.cpp - the memory of one pass ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Activations.h"

#include "runtime/Model/Kernels/Kernels.h"

using namespace steep;

int64_t Activations::carve(const ModelConfig &config, int64_t tokens,
                           int threads, bool training, float *base) {
  int64_t used = 0;
  auto take = [&](int64_t rows, int64_t width) {
    float *start = base ? base + used : nullptr;
    used += (rows * width + 15) / 16 * 16; // keeps 64-byte alignment
    return start;
  };
  const int64_t n = tokens, d = config.dim, wide = config.mlpDim();
  streams.resize(config.layers + 1);
  blocks.resize(config.layers);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (!training && layer > 0) {
      streams[layer] = streams[0];
      blocks[layer] = blocks[0];
      continue;
    }
    streams[layer] = take(n, d);
    BlockActivations &block = blocks[layer];
    block.middle = take(n, d);
    block.q = take(n, d);
    block.k = take(n, d);
    block.v = take(n, d);
    block.attended = take(n, d);
    block.gate = take(n, wide);
    block.up = take(n, wide);
    block.attentionNorm = take(n, 1);
    block.mlpNorm = take(n, 1);
    block.qNorm = take(n, config.heads);
    block.kNorm = take(n, config.heads);
    block.rowMax = take(n, config.heads);
    block.rowInverse = take(n, config.heads);
  }
  streams[config.layers] = training ? take(n, d) : streams[0];
  hidden = take(n, d);
  finalNorm = take(n, 1);
  normed = take(n, d);
  activation = take(n, wide);
  scratchStride = (attentionScratch(config.headDim) + 15) / 16 * 16;
  scratch = take(threads, scratchStride);
  if (training) {
    dStream = take(n, d);
    dNormed = take(n, d);
    dq = dWide = take(n, wide);
    dk = base ? dq + n * d : nullptr;
    dv = base ? dk + n * d : nullptr;
    dAttended = base ? dv + n * d : nullptr;
  }
  return used;
}

void Activations::prepare(const ModelConfig &config, int64_t tokens,
                          int threads, bool training) {
  const int64_t needed = carve(config, tokens, threads, training, nullptr);
  if (memory.empty() || memory.count() < needed) {
    memory = Tensor(); // the old memory goes before the new one comes
    memory = Tensor(DType::F32, {needed});
  }
  carve(config, tokens, threads, training, memory.f32());
}
