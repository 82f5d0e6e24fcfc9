//===- Config.h - sizes and parameters of the transformer -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_CONFIG_H
#define STEEP_RUNTIME_MODEL_CONFIG_H

#include <cstdint>
#include <string>
#include <vector>

namespace steep {

/// The sizes of a model. The model itself is fixed: see Model.h.
struct ModelConfig {
  int64_t dim = 0;     ///< width of the residual stream
  int64_t layers = 0;  ///< blocks
  int64_t heads = 0;   ///< attention heads; heads * headDim = dim
  int64_t vocab = 0;   ///< token ids are 0 .. vocab - 1
  int64_t context = 0; ///< longest sequence
  int64_t headDim = 64;

  int64_t mlpDim() const { return 4 * dim; }
  /// Throws Error where a size is out of range or the heads do not fill dim.
  void validate() const;
};

/// A parameter's name and shape; rows are outputs.
struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
};

/// All parameters in the model's order: embed.weight, then for each block
/// blocks.N.attn.{q,k,v,out}.weight and blocks.N.mlp.{gate,up,down}.weight,
/// then lm_head.weight.
std::vector<ParameterSpec> parameterSpecs(const ModelConfig &config);

/// Number of parameters, with and without the two vocabulary matrices.
int64_t parameterCount(const ModelConfig &config);
int64_t backboneParameterCount(const ModelConfig &config);

/// Floating-point operations that one forward and backward pass over sequences
/// of `length` tokens needs per token: 6 a matrix parameter (the input
/// embedding is a table and needs none), plus the causal half of the attention
/// products, 6 * layers * length * dim. Recomputation does not count.
double trainingFlopsPerToken(const ModelConfig &config, int64_t length);

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_CONFIG_H
