//===- Activations.h - the memory of one pass -------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_ACTIVATIONS_H
#define STEEP_RUNTIME_MODEL_ACTIVATIONS_H

#include "runtime/Core/Tensor.h"
#include "runtime/Model/Config.h"

#include <vector>

namespace steep {

/// What one block keeps for backward: with n tokens of width d about 14 n d
/// floats. The norms' outputs and silu(gate) * up are recomputed.
struct BlockActivations {
  float *middle;              ///< n x d: the stream between attention and MLP
  float *q, *k, *v;           ///< n x d: q and k normalised and rotated
  float *attended;            ///< n x d: the attention's output, before Wout
  float *gate, *up;           ///< n x 4d
  float *attentionNorm;       ///< n: scale of the norm before attention
  float *mlpNorm;             ///< n: scale of the norm before the MLP
  float *qNorm, *kNorm;       ///< n x heads
  float *rowMax, *rowInverse; ///< a sequence, a head, a position
};

/// All buffers of a pass, carved out of one piece of memory that only grows.
struct Activations {
  /// streams[l] (n x d) enters block l, streams[layers] the last norm.
  std::vector<float *> streams;
  std::vector<BlockActivations> blocks;
  float *hidden;    ///< n x d: what the head sees
  float *finalNorm; ///< n
  // Reused by every block.
  float *normed;     ///< n x d
  float *activation; ///< n x 4d
  float *dStream;    ///< n x d; this and the following only in training
  float *dNormed;    ///< n x d
  float *dWide;      ///< n x 4d: dActivation, then the next four
  float *dq, *dk, *dv, *dAttended; ///< n x d each, inside dWide
  float *scratch;                  ///< attentionScratch a thread
  int64_t scratchStride;

  /// Lays the buffers out for `tokens` tokens. In training every block has its
  /// own; otherwise all share those of one.
  void prepare(const ModelConfig &config, int64_t tokens, int threads,
               bool training);

private:
  Tensor memory;
  /// Sets all pointers from `base` and returns the number of floats.
  int64_t carve(const ModelConfig &config, int64_t tokens, int threads,
                bool training, float *base);
};

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_ACTIVATIONS_H
