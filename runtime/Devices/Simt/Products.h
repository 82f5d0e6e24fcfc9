//===- Products.h - small matrix products -----------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_PRODUCTS_H
#define STEEP_RUNTIME_DEVICES_SIMT_PRODUCTS_H

namespace steep::simt {

/// C (m x n) += A (m x k) B (k x n), row-major and dense; n is a multiple of
/// 8. Each element is a chain of fused multiply-adds in the order of k.
void accumulate(const float *a, const float *b, float *c, unsigned m,
                unsigned n, unsigned k);

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_PRODUCTS_H
