//===- Roles.h - what arguments and results of a function are ---*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_PASSES_GEO_ROLES_H
#define STEEP_PASSES_GEO_ROLES_H

#include "dialects/Optim/Optim.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::geo {

/// `optim.role` of an argument; empty where there is none.
inline StringRef getArgRole(func::FuncOp function, unsigned index) {
  auto role = function.getArgAttrOfType<StringAttr>(index, optim::kRoleAttr);
  return role ? role.getValue() : "";
}

inline StringRef getResultRole(func::FuncOp function, unsigned index) {
  auto role = function.getResultAttrOfType<StringAttr>(index, optim::kRoleAttr);
  return role ? role.getValue() : "";
}

/// The arguments of a role, by number. The i-th state is returned as the i-th
/// result of that role.
inline SmallVector<unsigned> getArgs(func::FuncOp function, StringRef role) {
  SmallVector<unsigned> args;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (getArgRole(function, i) == role)
      args.push_back(i);
  return args;
}

inline SmallVector<unsigned> getResults(func::FuncOp function, StringRef role) {
  SmallVector<unsigned> results;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (getResultRole(function, i) == role)
      results.push_back(i);
  return results;
}

inline func::ReturnOp getReturn(func::FuncOp function) {
  return cast<func::ReturnOp>(function.getBody().front().getTerminator());
}

} // namespace mlir::geo

#endif // STEEP_PASSES_GEO_ROLES_H
