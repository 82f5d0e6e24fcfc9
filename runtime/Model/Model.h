//===- Model.h - the paper's decoder-only transformer -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model of arXiv:2608.22253, forward and backward in FP32:
//
//   x = embed[token]
//   for each block:
//     h = norm(x);  q, k, v = Wq h, Wk h, Wv h
//     q, k = rotate(norm(q)), rotate(norm(k))            in each head
//     x = x + Wout attention(q, k, v)                    causal,
//     1/sqrt(headDim) h = norm(x);  x = x + Wdown (silu(Wgate h) * Wup h)
//   logits = U norm(x);  loss = mean cross entropy
//
// norm(x) = x / sqrt(mean(x^2) + 1e-6), without gain. rotate turns the pairs
// (i, i + headDim/2) of a head by position * 10000^(-2i/headDim): (a, b) to
// (a cos - b sin, b cos + a sin). There are no biases; embedding and head are
// not tied. The logits of more than `headChunk` tokens never exist at a time,
// and attention never stores a matrix of length x length.
//
// Matrix products run in oneDNN, the other loops on the same OpenMP threads.
// The results are the same bits for the same number of threads on the same
// machine.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_MODEL_H
#define STEEP_RUNTIME_MODEL_MODEL_H

#include "runtime/Core/Tensor.h"
#include "runtime/Model/Config.h"

#include <memory>
#include <string>
#include <vector>

namespace steep {

class Model {
public:
  /// Tokens whose logits exist at the same time.
  static constexpr int64_t headChunk = 256;

  /// Zero parameters; `threads` = 0 takes OpenMP's number. Throws Error on a
  /// bad configuration. Activations are allocated at the first call for a batch
  /// and kept; a larger batch later reallocates them, a smaller one does not.
  explicit Model(const ModelConfig &config, int threads = 0);
  ~Model();
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  const ModelConfig &config() const;
  int threads() const;
  /// Names and shapes; parameters() and gradients() are in this order.
  const std::vector<ParameterSpec> &specs() const;
  /// The parameters' own memory: a Tensor is a handle, so writing into it
  /// changes the model.
  const std::vector<Tensor> &parameters() const;
  /// Gradients of the last forwardBackward; allocated with the model.
  const std::vector<Tensor> &gradients() const;
  /// Index of a parameter; throws Error where there is no such name.
  std::size_t parameterIndex(const std::string &name) const;

  /// Draws every parameter from N(0, 0.02^2): initialiseNormal of Random.h
  /// with this seed and the parameter's name.
  void initialise(uint64_t seed);

  /// `tokens` and `targets` hold batch x length ids. Returns the mean loss and
  /// writes the gradients of gradientScale * mean loss, or adds them where
  /// `accumulate` is set: N micro-batches of one size make one batch with
  /// gradientScale = 1/N and accumulate from the second on. Throws Error, with
  /// nothing computed, where an id is out of range or a sequence too long.
  double forwardBackward(const int32_t *tokens, const int32_t *targets,
                         int64_t batch, int64_t length,
                         double gradientScale = 1, bool accumulate = false);

  /// The mean loss alone. Works on a few sequences at a time.
  double loss(const int32_t *tokens, const int32_t *targets, int64_t batch,
              int64_t length);

  /// The head's inputs norm(x), one row of `dim` values a position. Works on a
  /// few sequences at a time.
  Tensor hiddenStates(const int32_t *tokens, int64_t batch, int64_t length);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_MODEL_H
