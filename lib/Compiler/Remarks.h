//===- Remarks.h - what passes say of a compilation -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_REMARKS_H
#define STEEP_LIB_COMPILER_REMARKS_H

#include "mlir/IR/MLIRContext.h"

#include <map>
#include <string>

namespace steepc {

/// A remark, and how often it was made.
struct RemarkEntry {
  std::string function, kind, text;

  bool operator<(const RemarkEntry &other) const {
    return std::tie(function, kind, text) <
           std::tie(other.function, other.kind, other.text);
  }
};
using RemarkList = std::map<RemarkEntry, int64_t>;

/// From now on remarks whose category matches `filter` are collected in `list`
/// and, where `print` is set, also printed as diagnostics. Fails where the
/// filter is no regular expression. `list` must outlive the context.
llvm::LogicalResult collectRemarks(mlir::MLIRContext &context,
                                   const std::string &filter, bool print,
                                   RemarkList &list);

} // namespace steepc

#endif // STEEP_LIB_COMPILER_REMARKS_H
