//===- Model.cpp - the paper's decoder-only transformer -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Model/Model.h"

#include "runtime/Core/Error.h"
#include "runtime/Model/ModelState.h"
#include "runtime/Model/Parallel.h"
#include "runtime/Model/Random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace steep;

static constexpr double initialDeviation = 0.02;
static constexpr double rotaryBase = 10000;
/// loss() and hiddenStates() take about this many tokens at a time.
static constexpr int64_t evaluationTokens = 2048;

static int checkThreads(int threads) {
  if (threads < 0 || threads > 1024)
    fail("model: {} threads asked for, expected 1 to 1024, or 0 for OpenMP's "
         "number",
         threads);
  return threads ? threads : parallelThreads();
}

static const ModelConfig &checkConfig(const ModelConfig &config) {
  config.validate();
  return config;
}

Model::State::State(const ModelConfig &c, int threads)
    : config(checkConfig(c)), threads(checkThreads(threads)),
      specs(parameterSpecs(config)), head(config, kernels, products) {
  for (const ParameterSpec &spec : specs) {
    parameters.emplace_back(DType::F32, spec.shape);
    gradients.emplace_back(DType::F32, spec.shape);
  }
  const int64_t half = config.headDim / 2;
  cosines.resize(config.context * half);
  sines.resize(config.context * half);
  for (int64_t i = 0; i < half; ++i) {
    const double rate = std::pow(rotaryBase, -2.0 * i / config.headDim);
    for (int64_t position = 0; position < config.context; ++position) {
      cosines[position * half + i] = float(std::cos(position * rate));
      sines[position * half + i] = float(std::sin(position * rate));
    }
  }
}

Model::Model(const ModelConfig &config, int threads)
    : state(std::make_unique<State>(config, threads)) {}
Model::~Model() = default;

const ModelConfig &Model::config() const { return state->config; }
int Model::threads() const { return state->threads; }
const std::vector<ParameterSpec> &Model::specs() const { return state->specs; }
const std::vector<Tensor> &Model::parameters() const {
  return state->parameters;
}
const std::vector<Tensor> &Model::gradients() const { return state->gradients; }

std::size_t Model::parameterIndex(const std::string &name) const {
  for (std::size_t i = 0; i < state->specs.size(); ++i)
    if (state->specs[i].name == name)
      return i;
  fail("model: there is no parameter named '{}'", name);
}

void Model::initialise(uint64_t seed) {
  const ThreadScope scope(state->threads);
  for (std::size_t i = 0; i < state->specs.size(); ++i) {
    const uint64_t key = normalKey(seed, state->specs[i].name);
    const Tensor &tensor = state->parameters[i];
    // Pairs of elements, since numbers are drawn in pairs.
    parallelRanges((tensor.count() + 1) / 2, [&](int64_t begin, int64_t end) {
      initialiseNormal(tensor.f32() + 2 * begin, 2 * begin,
                       std::min(2 * end, tensor.count()), key,
                       initialDeviation);
    });
  }
}

static void checkBatch(const ModelConfig &config, int64_t batch,
                       int64_t length) {
  if (length < 1 || length > config.context)
    fail("model: a sequence has {} tokens, expected 1 to {} (the context)",
         length, config.context);
  const int64_t most = (int64_t(1) << 31) / length;
  if (batch < 1 || batch > most)
    fail("model: a batch has {} sequences of {} tokens, expected 1 to {}",
         batch, length, most);
}

static void checkIds(const char *what, const int32_t *ids, int64_t batch,
                     int64_t length, int64_t vocab) {
  for (int64_t i = 0; i < batch * length; ++i)
    if (ids[i] < 0 || ids[i] >= vocab)
      fail("model: {} {} of sequence {} is {}, expected 0 to {}", what,
           i % length, i / length, ids[i], vocab - 1);
}

double Model::forwardBackward(const int32_t *tokens, const int32_t *targets,
                              int64_t batch, int64_t length,
                              double gradientScale, bool accumulate) {
  State &s = *state;
  checkBatch(s.config, batch, length);
  checkIds("token", tokens, batch, length, s.config.vocab);
  checkIds("target", targets, batch, length, s.config.vocab);
  const ThreadScope scope(s.threads);
  const int64_t n = batch * length;
  s.forward(tokens, batch, length, /*training=*/true);
  const double sum =
      s.head.backward(s.act.hidden, targets, n, s.headWeight(),
                      float(gradientScale / double(n)), s.act.dNormed,
                      s.gradients.back().f32(), accumulate);
  s.backward(tokens, batch, length, accumulate);
  return sum / double(n);
}

/// Calls body(first, count) for groups of whole sequences.
template <typename Body>
static void forEachGroup(int64_t batch, int64_t length, const Body &body) {
  const int64_t group = std::max<int64_t>(1, evaluationTokens / length);
  for (int64_t first = 0; first < batch; first += group)
    body(first, std::min(group, batch - first));
}

double Model::loss(const int32_t *tokens, const int32_t *targets, int64_t batch,
                   int64_t length) {
  State &s = *state;
  checkBatch(s.config, batch, length);
  checkIds("token", tokens, batch, length, s.config.vocab);
  checkIds("target", targets, batch, length, s.config.vocab);
  const ThreadScope scope(s.threads);
  double sum = 0;
  forEachGroup(batch, length, [&](int64_t first, int64_t count) {
    s.forward(tokens + first * length, count, length, /*training=*/false);
    sum += s.head.loss(s.act.hidden, targets + first * length, count * length,
                       s.headWeight());
  });
  return sum / double(batch * length);
}

Tensor Model::hiddenStates(const int32_t *tokens, int64_t batch,
                           int64_t length) {
  State &s = *state;
  checkBatch(s.config, batch, length);
  checkIds("token", tokens, batch, length, s.config.vocab);
  const ThreadScope scope(s.threads);
  const int64_t d = s.config.dim;
  Tensor states(DType::F32, {batch * length, d});
  forEachGroup(batch, length, [&](int64_t first, int64_t count) {
    s.forward(tokens + first * length, count, length, /*training=*/false);
    std::memcpy(states.f32() + first * length * d, s.act.hidden,
                count * length * d * sizeof(float));
  });
  return states;
}
