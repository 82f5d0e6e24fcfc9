//===- Explain.h - the routing table ----------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_EXPLAIN_H
#define STEEP_LIB_COMPILER_EXPLAIN_H

#include "lib/Compiler/Remarks.h"
#include "lib/Target/Plan.h"

namespace steepc {

/// Prints which parameter is updated by which rule and kernels, what a step
/// costs (bytes and operations of the compiled code beside the least possible
/// bytes), what passes said of the fusions that they made and missed, and the
/// memory that a step works in.
void explain(const Plan &plan, const RemarkList &remarks,
             llvm::raw_ostream &out);

} // namespace steepc

#endif // STEEP_LIB_COMPILER_EXPLAIN_H
