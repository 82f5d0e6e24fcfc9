//===- ReferenceModel.cpp - the transformer in plain double loops ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ReferenceModel.h"

#include "runtime/Model/Random.h"

#include <algorithm>
#include <cmath>

using namespace steep;
using Values = std::vector<double>;

ReferenceModel::ReferenceModel(const Model &model) : config(model.config()) {
  for (const Tensor &tensor : model.parameters())
    parameters.emplace_back(tensor.f32(), tensor.f32() + tensor.count());
}

static void normalise(double *x, int64_t count) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i)
    squares += x[i] * x[i];
  const double scale = 1 / std::sqrt(squares / count + 1e-6);
  for (int64_t i = 0; i < count; ++i)
    x[i] *= scale;
}

static Values normalisedRows(Values x, int64_t width) {
  for (std::size_t row = 0; row < x.size(); row += width)
    normalise(&x[row], width);
  return x;
}

/// x (rows x in) times the transpose of weight (out x in).
static Values linear(const Values &x, const Values &weight, int64_t in) {
  const int64_t rows = x.size() / in, out = weight.size() / in;
  Values y(rows * out);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        y[r * out + o] += x[r * in + i] * weight[o * in + i];
  return y;
}

static void normaliseAndRotateHeads(Values &x, const ModelConfig &config) {
  const int64_t size = config.headDim, half = size / 2;
  for (std::size_t at = 0; at < x.size(); at += size) {
    normalise(&x[at], size);
    const double position = double(at / config.dim);
    for (int64_t i = 0; i < half; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * i / size);
      const double a = x[at + i], b = x[at + i + half];
      x[at + i] = a * std::cos(angle) - b * std::sin(angle);
      x[at + i + half] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
}

static Values attend(const Values &q, const Values &k, const Values &v,
                     const ModelConfig &config, int64_t length) {
  const int64_t d = config.dim, size = config.headDim;
  Values out(length * d);
  for (int64_t head = 0; head < config.heads; ++head)
    for (int64_t i = 0; i < length; ++i) {
      Values p(i + 1);
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (int64_t c = head * size; c < (head + 1) * size; ++c)
          score += q[i * d + c] * k[j * d + c];
        sum += p[j] = std::exp(score / std::sqrt(double(size)));
      }
      for (int64_t j = 0; j <= i; ++j)
        for (int64_t c = head * size; c < (head + 1) * size; ++c)
          out[i * d + c] += p[j] / sum * v[j * d + c];
    }
  return out;
}

Values ReferenceModel::hidden(const int32_t *tokens, int64_t length) const {
  const int64_t d = config.dim, wide = 4 * d;
  Values x(length * d);
  for (int64_t t = 0; t < length; ++t)
    for (int64_t i = 0; i < d; ++i)
      x[t * d + i] = parameters[0][tokens[t] * d + i];
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const Values *w = &parameters[1 + 7 * layer];
    Values h = normalisedRows(x, d);
    Values q = linear(h, w[0], d), k = linear(h, w[1], d);
    normaliseAndRotateHeads(q, config);
    normaliseAndRotateHeads(k, config);
    const Values o =
        linear(attend(q, k, linear(h, w[2], d), config, length), w[3], d);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += o[i];
    h = normalisedRows(x, d);
    Values gate = linear(h, w[4], d);
    const Values up = linear(h, w[5], d);
    for (std::size_t i = 0; i < gate.size(); ++i)
      gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    const Values down = linear(gate, w[6], wide);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] += down[i];
  }
  return normalisedRows(x, d);
}

double ReferenceModel::loss(const std::vector<int32_t> &tokens,
                            const std::vector<int32_t> &targets, int64_t batch,
                            int64_t length) const {
  double sum = 0;
  for (int64_t sequence = 0; sequence < batch; ++sequence) {
    const Values logits = linear(hidden(&tokens[sequence * length], length),
                                 parameters.back(), config.dim);
    for (int64_t t = 0; t < length; ++t) {
      const double *row = &logits[t * config.vocab];
      const double most = *std::max_element(row, row + config.vocab);
      double total = 0;
      for (int64_t i = 0; i < config.vocab; ++i)
        total += std::exp(row[i] - most);
      sum += most + std::log(total) - row[targets[sequence * length + t]];
    }
  }
  return sum / double(batch * length);
}

std::vector<int32_t> steep::someTokens(int64_t count, int64_t vocab,
                                       uint64_t seed) {
  std::vector<int32_t> ids(count);
  uint64_t state = seed * 2 + 1;
  for (int32_t &id : ids) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    id = int32_t((state >> 33) % uint64_t(vocab));
  }
  return ids;
}

void steep::drawLargeWeights(Model &model, uint64_t seed) {
  for (std::size_t i = 0; i < model.specs().size(); ++i) {
    const Tensor &tensor = model.parameters()[i];
    initialiseNormal(tensor.f32(), 0, tensor.count(),
                     normalKey(seed, model.specs()[i].name),
                     1.0 / std::sqrt(double(model.config().dim)));
  }
}

double steep::frobenius(const Tensor &x) {
  double squares = 0;
  for (int64_t i = 0; i < x.count(); ++i)
    squares += double(x.f32()[i]) * x.f32()[i];
  return std::sqrt(squares);
}

double steep::relativeDifference(const Tensor &a, const Tensor &b) {
  double squares = 0;
  for (int64_t i = 0; i < b.count(); ++i) {
    const double difference = double(a.f32()[i]) - b.f32()[i];
    squares += difference * difference;
  }
  return std::sqrt(squares) / std::max(frobenius(b), 1e-30);
}
