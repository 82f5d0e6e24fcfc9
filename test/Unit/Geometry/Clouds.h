//===- Clouds.h - gradients to try geometry on ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_GEOMETRY_CLOUDS_H
#define STEEP_TEST_UNIT_GEOMETRY_CLOUDS_H

#include "runtime/Core/Tensor.h"

#include <string>
#include <vector>

namespace steep::clouds {

/// What make() knows: gauss, zipf (row i divided by i), lowrank, simplex (V = d
/// + 1), collinear, zeros (half of the rows), duplicates, antipodal, offset (a
/// common 1e6), lm (the head's gradient of a random softmax model over 4 V
/// tokens of Zipf's law).
const std::vector<std::string> &kinds();

/// A gradient in FP64, the same for one seed.
Tensor make(const std::string &kind, int64_t rows, int64_t columns,
            unsigned seed);

/// The gradient of a head under softmax cross entropy: `tokens` targets drawn
/// from another model of the same kind.
Tensor languageModel(int64_t rows, int64_t columns, int64_t tokens,
                     unsigned seed);

/// `x` rounded to FP32.
Tensor rounded(const Tensor &x);

} // namespace steep::clouds

#endif // STEEP_TEST_UNIT_GEOMETRY_CLOUDS_H
