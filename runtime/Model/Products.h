//===- Products.h - matrix products in oneDNN -------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_MODEL_PRODUCTS_H
#define STEEP_RUNTIME_MODEL_PRODUCTS_H

#include <cstdint>
#include <memory>

namespace steep {

/// FP32 products of row-major matrices. A product's primitive is made at its
/// first use and kept, so a training run makes each once. The number of
/// threads is OpenMP's at the call, and must be the same at every call.
class Products {
public:
  Products();
  ~Products();

  enum class Result { Write, Add };

  /// C (m x n) = A (m x k) B (k x n).
  void nn(Result result, int64_t m, int64_t n, int64_t k, const float *a,
          const float *b, float *c);
  /// C (m x n) = A (m x k) B^T, B is n x k: a layer's outputs from its weight.
  void nt(Result result, int64_t m, int64_t n, int64_t k, const float *a,
          const float *b, float *c);
  /// C (m x n) = A^T B, A is k x m, B is k x n: a weight's gradient.
  void tn(Result result, int64_t m, int64_t n, int64_t k, const float *a,
          const float *b, float *c);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace steep

#endif // STEEP_RUNTIME_MODEL_PRODUCTS_H
