//===- ModelState.h - the inside of a Model ---------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_MODELSTATE_H
#define STEEP_RUNTIME_MODEL_MODELSTATE_H

#include "runtime/Model/Activations.h"
#include "runtime/Model/Head.h"
#include "runtime/Model/Kernels/Kernels.h"
#include "runtime/Model/Model.h"
#include "runtime/Model/Products.h"

namespace steep {

/// The place of a parameter within its block.
enum class Weight { Q, K, V, Out, Gate, Up, Down };

struct Model::State {
  const ModelConfig config;
  const int threads;
  const std::vector<ParameterSpec> specs;
  const Kernels &kernels = bestKernels();
  std::vector<Tensor> parameters, gradients;
  std::vector<float> cosines, sines; ///< context x headDim/2
  Products products;
  Head head;
  Activations act;

  State(const ModelConfig &config, int threads);

  /// Forward.cpp: fills act.hidden from `tokens`; `training` keeps what
  /// backward needs.
  void forward(const int32_t *tokens, int64_t batch, int64_t length,
               bool training);
  /// Backward.cpp: from act.dNormed = the gradient at act.hidden to those of
  /// all parameters but the head.
  void backward(const int32_t *tokens, int64_t batch, int64_t length,
                bool accumulate);

  float *embedding() const { return parameters.front().f32(); }
  float *headWeight() const { return parameters.back().f32(); }
  float *weight(int64_t layer, Weight which) const {
    return parameters[index(layer, which)].f32();
  }
  float *gradient(int64_t layer, Weight which) const {
    return gradients[index(layer, which)].f32();
  }

private:
  static std::size_t index(int64_t layer, Weight which) {
    return 1 + 7 * layer + static_cast<int>(which);
  }
  /// Forward.cpp: where one head of one sequence lies in a block's activations;
  /// the gradients' places stay empty.
  AttentionHead headOf(const BlockActivations &block, int64_t sequence,
                       int64_t head, int64_t length) const;
  void attention(const BlockActivations &block, int64_t batch, int64_t length);
  void attentionBackward(const BlockActivations &block, int64_t batch,
                         int64_t length);
  void mlpBackward(int64_t layer, int64_t tokens, bool accumulate);
  void attentionBlockBackward(int64_t layer, int64_t batch, int64_t length,
                              bool accumulate);
  void embeddingBackward(const int32_t *tokens, int64_t count, bool accumulate);
};

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_MODELSTATE_H
