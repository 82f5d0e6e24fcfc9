//===- Roles.h - what arguments and results of a function are ---*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_OPTIM_ROLES_H
#define STEEP_DIALECTS_OPTIM_ROLES_H

#include "dialects/Optim/Optim.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::optim {

/// Attributes of an argument or a result that has this role and nothing else.
inline DictionaryAttr getRole(Builder &builder, StringRef role) {
  return builder.getDictionaryAttr(
      builder.getNamedAttr(kRoleAttr, builder.getStringAttr(role)));
}

/// `optim.role` of an argument; empty where there is none.
inline StringRef getArgRole(func::FuncOp function, unsigned index) {
  auto role = function.getArgAttrOfType<StringAttr>(index, kRoleAttr);
  return role ? role.getValue() : "";
}

inline StringRef getResultRole(func::FuncOp function, unsigned index) {
  auto role = function.getResultAttrOfType<StringAttr>(index, kRoleAttr);
  return role ? role.getValue() : "";
}

/// The arguments of a role, by number. The i-th state is returned as the i-th
/// result of that role.
inline SmallVector<unsigned> getArgs(func::FuncOp function, StringRef role) {
  return llvm::filter_to_vector(
      llvm::seq<unsigned>(0, function.getNumArguments()),
      [&](unsigned i) { return getArgRole(function, i) == role; });
}

inline SmallVector<unsigned> getResults(func::FuncOp function, StringRef role) {
  return llvm::filter_to_vector(
      llvm::seq<unsigned>(0, function.getNumResults()),
      [&](unsigned i) { return getResultRole(function, i) == role; });
}

inline func::ReturnOp getReturn(func::FuncOp function) {
  return cast<func::ReturnOp>(function.getBody().front().getTerminator());
}

} // namespace mlir::optim

#endif // STEEP_DIALECTS_OPTIM_ROLES_H
