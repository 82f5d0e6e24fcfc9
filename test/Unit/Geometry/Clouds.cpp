//===- Clouds.cpp - gradients to try geometry on --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Geometry/Clouds.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

using namespace steep;

namespace {

using Engine = std::mt19937_64;

double normal(Engine &engine) {
  // std::normal_distribution differs between libraries; a test should not.
  double sum = 0;
  for (int i = 0; i < 12; ++i)
    sum += static_cast<double>(engine() >> 11) * 0x1p-53;
  return sum - 6;
}

void fillGaussian(Tensor &x, Engine &engine) {
  for (int64_t i = 0; i < x.count(); ++i)
    x.f64()[i] = normal(engine);
}

void scaleRow(Tensor &x, int64_t row, double factor) {
  for (int64_t k = 0; k < x.dim(1); ++k)
    x.f64()[row * x.dim(1) + k] *= factor;
}

void copyRow(Tensor &x, int64_t to, int64_t from, double factor) {
  for (int64_t k = 0; k < x.dim(1); ++k)
    x.f64()[to * x.dim(1) + k] = factor * x.f64()[from * x.dim(1) + k];
}

void fillLowRank(Tensor &x, Engine &engine) {
  const int64_t rows = x.dim(0), columns = x.dim(1);
  const int64_t rank = std::max<int64_t>(1, std::min(columns, rows - 1) / 4);
  std::vector<double> a(rows * rank), b(rank * columns);
  for (double &value : a)
    value = normal(engine);
  for (double &value : b)
    value = normal(engine);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      for (int64_t r = 0; r < rank; ++r)
        x.f64()[i * columns + k] += a[i * rank + r] * b[r * columns + k];
}

/// Gradients whose mean is zero in spite of `zeros`: the others carry it.
void fillZeros(Tensor &x, Engine &engine) {
  fillGaussian(x, engine);
  const int64_t rows = x.dim(0), columns = x.dim(1), kept = (rows + 1) / 2;
  for (int64_t k = 0; k < columns; ++k) {
    double mean = 0;
    for (int64_t i = 0; i < kept; ++i)
      mean += x.f64()[i * columns + k] / static_cast<double>(kept);
    for (int64_t i = 0; i < rows; ++i)
      x.f64()[i * columns + k] = i < kept ? x.f64()[i * columns + k] - mean : 0;
  }
}

} // namespace

const std::vector<std::string> &clouds::kinds() {
  static const std::vector<std::string> names = {
      "gauss", "zipf",       "lowrank",   "simplex", "collinear",
      "zeros", "duplicates", "antipodal", "offset",  "lm"};
  return names;
}

Tensor clouds::make(const std::string &kind, int64_t rows, int64_t columns,
                    unsigned seed) {
  if (kind == "lm")
    return languageModel(rows, columns, 4 * rows, seed);
  Engine engine(seed);
  Tensor x(DType::F64, {rows, columns});
  if (kind == "lowrank") {
    fillLowRank(x, engine);
  } else if (kind == "zeros") {
    fillZeros(x, engine);
  } else if (kind == "simplex") {
    for (int64_t i = 0; i < std::min(rows, columns); ++i)
      x.f64()[i * columns + i] = 1;
    // The last vertex of a simplex of columns + 1 rows.
    const double n = static_cast<double>(columns);
    for (int64_t k = 0; rows > columns && k < columns; ++k)
      x.f64()[columns * columns + k] = (1 - std::sqrt(n + 1)) / n;
  } else if (kind == "collinear") {
    for (int64_t k = 0; k < columns; ++k)
      x.f64()[k] = normal(engine);
    for (int64_t i = rows - 1; i >= 0; --i)
      copyRow(x, i, 0, normal(engine));
  } else {
    fillGaussian(x, engine);
    for (int64_t i = 0; i < rows; ++i) {
      if (kind == "zipf")
        scaleRow(x, i, 1 / static_cast<double>(i + 1));
      else if (kind == "duplicates")
        copyRow(x, i, i % std::max<int64_t>(2, rows / 3), 1);
      else if (kind == "antipodal" && i % 2)
        copyRow(x, i, i - 1, -1);
      else if (kind == "offset")
        for (int64_t k = 0; k < columns; ++k)
          x.f64()[i * columns + k] += 1e6;
      else if (kind != "gauss" && kind != "antipodal")
        throw std::invalid_argument(kind);
    }
  }
  return x;
}

Tensor clouds::languageModel(int64_t rows, int64_t columns, int64_t tokens,
                             unsigned seed) {
  Engine engine(seed);
  const double scale = 1 / std::sqrt(static_cast<double>(columns));
  // By columns, so that logits are sums of vectors.
  std::vector<float> head(rows * columns), truth(rows * columns), prior(rows);
  for (std::size_t i = 0; i < head.size(); ++i) {
    head[i] = static_cast<float>(normal(engine) * scale);
    truth[i] = static_cast<float>(0.7 * head[i] + 0.7 * normal(engine) * scale);
  }
  for (int64_t i = 0; i < rows; ++i)
    prior[i] = -std::log(static_cast<float>(i + 1));
  std::vector<double> mean(columns), h(columns);
  for (double &value : mean)
    value = 0.5 * normal(engine);
  Tensor gradient(DType::F64, {rows, columns});
  std::vector<float> logits(rows), other(rows);
  for (int64_t t = 0; t < tokens; ++t) {
    logits = other = prior;
    for (int64_t k = 0; k < columns; ++k) {
      h[k] = normal(engine) + mean[k];
      const float state = static_cast<float>(h[k]);
      for (int64_t i = 0; i < rows; ++i) {
        logits[i] += state * head[k * rows + i];
        other[i] += state * truth[k * rows + i];
      }
    }
    const float most = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (float &logit : logits)
      total += logit = std::exp(logit - most);
    int64_t target = 0;
    double best = -1e300;
    for (int64_t i = 0; i < rows; ++i) {
      // Gumbel's trick draws from the softmax of `other`.
      const double u = (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53;
      const double value = other[i] - std::log(-std::log(u));
      if (value > best) {
        best = value;
        target = i;
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      const double p = (logits[i] / total - (i == target ? 1 : 0)) /
                       static_cast<double>(tokens);
      for (int64_t k = 0; k < columns; ++k)
        gradient.f64()[i * columns + k] += p * h[k];
    }
  }
  return gradient;
}

Tensor clouds::rounded(const Tensor &x) {
  Tensor y(DType::F32, x.shape());
  for (int64_t i = 0; i < x.count(); ++i)
    y.f32()[i] = static_cast<float>(x.f64()[i]);
  return y;
}
