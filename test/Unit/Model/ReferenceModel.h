//===- ReferenceModel.h - the transformer in plain double loops -*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward pass written down once more, from the formulas and in float64,
// for finite differences; and small helpers of the tests.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_MODEL_REFERENCEMODEL_H
#define STEEP_TEST_UNIT_MODEL_REFERENCEMODEL_H

#include "runtime/Model/Model.h"

#include <vector>

namespace steep {

class ReferenceModel {
public:
  /// Takes the parameters' present values.
  explicit ReferenceModel(const Model &model);

  const ModelConfig config;
  std::vector<std::vector<double>> parameters;

  /// The final-normed hidden states of one sequence.
  std::vector<double> hidden(const int32_t *tokens, int64_t length) const;
  /// The mean loss.
  double loss(const std::vector<int32_t> &tokens,
              const std::vector<int32_t> &targets, int64_t batch,
              int64_t length) const;
};

/// Deterministic ids below `vocab`.
std::vector<int32_t> someTokens(int64_t count, int64_t vocab, uint64_t seed);
/// Random weights several times as large as the initial ones, so that every
/// part of the model matters in the gradient.
void drawLargeWeights(Model &model, uint64_t seed);
double frobenius(const Tensor &x);
/// |a - b| / |b|, Frobenius, in float64.
double relativeDifference(const Tensor &a, const Tensor &b);

} // namespace steep

#endif // STEEP_TEST_UNIT_MODEL_REFERENCEMODEL_H
