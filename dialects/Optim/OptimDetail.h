//===- OptimDetail.h - shared by the files of the dialect -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_OPTIM_OPTIMDETAIL_H
#define STEEP_DIALECTS_OPTIM_OPTIMDETAIL_H

#include <string>

namespace mlir::optim::detail {

/// A number as a person writes it: the shortest decimal that is this f64, in
/// the form that the parser reads; "nan", "inf", "-inf" for messages.
std::string getShortest(double value);

} // namespace mlir::optim::detail

#endif // STEEP_DIALECTS_OPTIM_OPTIMDETAIL_H
