//===- Config.cpp - sizes and parameters of the transformer ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Config.h"

#include "runtime/Core/Error.h"

using namespace steep;

static void checkRange(const char *what, int64_t value, int64_t most) {
  if (value < 1 || value > most)
    fail("model: {} is {}, expected 1 to {}", what, value, most);
}

void ModelConfig::validate() const {
  // The bounds keep every size below 2^63 and every vocabulary id in int32.
  checkRange("dim", dim, 1 << 20);
  checkRange("layers", layers, 4096);
  checkRange("heads", heads, 1 << 20);
  checkRange("head dimension", headDim, 4096);
  checkRange("vocabulary", vocab, (1 << 30));
  checkRange("context", context, 1 << 20);
  if (headDim % 2 != 0)
    fail("model: head dimension is {}, expected an even number (RoPE turns "
         "pairs)",
         headDim);
  if (heads * headDim != dim)
    fail("model: {} heads of dimension {} make {}, but dim is {}", heads,
         headDim, heads * headDim, dim);
}

std::vector<ParameterSpec> steep::parameterSpecs(const ModelConfig &config) {
  const int64_t d = config.dim, wide = config.mlpDim();
  std::vector<ParameterSpec> specs;
  specs.push_back({"embed.weight", {config.vocab, d}});
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string block = fmt::format("blocks.{}.", layer);
    for (const char *name : {"q", "k", "v", "out"})
      specs.push_back({block + "attn." + name + ".weight", {d, d}});
    specs.push_back({block + "mlp.gate.weight", {wide, d}});
    specs.push_back({block + "mlp.up.weight", {wide, d}});
    specs.push_back({block + "mlp.down.weight", {d, wide}});
  }
  specs.push_back({"lm_head.weight", {config.vocab, d}});
  return specs;
}

int64_t steep::backboneParameterCount(const ModelConfig &config) {
  return config.layers * (4 * config.dim + 3 * config.mlpDim()) * config.dim;
}

int64_t steep::parameterCount(const ModelConfig &config) {
  return backboneParameterCount(config) + 2 * config.vocab * config.dim;
}

double steep::trainingFlopsPerToken(const ModelConfig &config, int64_t length) {
  const double matrices = double(backboneParameterCount(config)) +
                          double(config.vocab * config.dim);
  return 6 * matrices + 6.0 * config.layers * length * config.dim;
}
