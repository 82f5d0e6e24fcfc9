//===- OnlyRule.h - one rule of a spec for every parameter ------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_COMPILER_ONLYRULE_H
#define STEEP_LIB_COMPILER_ONLYRULE_H

#include "dialects/Optim/Optim.h"

#include "llvm/Support/Error.h"

namespace steepc {

/// Leaves one group in the spec, for every parameter ("*"), which uses the rule
/// with the rates, facts and structure of the group that used it before;
/// where none did, with rates of 0 and no facts. `only` names the group where
/// several use the rule, or is empty. Schedule and clipping go: what is left is
/// the rule's bare update, as steep-run wants it. Other rules go, too.
///
/// The error says what is wrong with a name, without the file: no such rule or
/// group, or groups that promise the rule different facts or structures.
llvm::Error keepOnlyRule(mlir::optim::SpecOp spec, llvm::StringRef rule,
                         llvm::StringRef only = "");

} // namespace steepc

#endif // STEEP_LIB_COMPILER_ONLYRULE_H
