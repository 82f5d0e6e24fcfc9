//===- Head.h - the language-model head and its loss ------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax cross entropy in chunks of tokens: of a batch, the logits of at most
// Model::headChunk tokens exist. Nothing is filtered or rounded below FP32, so
// that the gradient's column sums vanish to rounding (a fact that updates of
// the head rely on).
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_HEAD_H
#define STEEP_RUNTIME_MODEL_HEAD_H

#include "runtime/Model/Config.h"
#include "runtime/Model/Kernels/Kernels.h"
#include "runtime/Model/Products.h"

#include <vector>

namespace steep {

class Head {
public:
  Head(const ModelConfig &config, const Kernels &kernels, Products &products);

  /// The sum of the losses of `tokens` rows of hidden states.
  double loss(const float *hidden, const int32_t *targets, int64_t tokens,
              const float *weight);
  /// The same, with the gradients of scale * sum: dHidden is written, dWeight
  /// written or added to.
  double backward(const float *hidden, const int32_t *targets, int64_t tokens,
                  const float *weight, float scale, float *dHidden,
                  float *dWeight, bool accumulate);

private:
  /// A chunk's logits, maxima and sums. `keep` stores all blocks of the
  /// vocabulary one after another, each tokens x (columns of the block);
  /// otherwise they overwrite each other.
  double forwardChunk(const float *hidden, const int32_t *targets,
                      int64_t tokens, const float *weight, bool keep);
  void backwardChunk(const float *hidden, const int32_t *targets,
                     int64_t tokens, const float *weight, float scale,
                     float *dHidden, float *dWeight, bool accumulate);
  template <typename Body> void forEachBlock(const Body &body) const;

  int64_t vocab, dim;
  const Kernels &kernels;
  Products &products;
  std::vector<float> logits;
  std::vector<float> rowMax, rowScale;
  std::vector<double> rowSum, targetLogit;
};

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_HEAD_H
