//===- Optim.h - the optim dialect ------------------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_OPTIM_OPTIM_H
#define STEEP_DIALECTS_OPTIM_OPTIM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Optim/OptimDialect.h.inc"
#include "dialects/Optim/OptimEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Optim/OptimAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Optim/OptimTypes.h.inc"

namespace mlir::optim {

/// Attributes on functions of the bound level, their arguments and results.
/// The dialect's text (OptimDialect.td) lists the values.
inline constexpr llvm::StringLiteral kRoleAttr("optim.role");
inline constexpr llvm::StringLiteral kStateAttr("optim.state");
inline constexpr llvm::StringLiteral kConventionAttr("optim.convention");
inline constexpr llvm::StringLiteral kBetaAttr("optim.beta");
inline constexpr llvm::StringLiteral kRuleAttr("optim.rule");
inline constexpr llvm::StringLiteral kCountAttr("optim.count");

/// A part of a parameter, seen as one matrix, that is a matrix to its rule:
/// where it begins, and its size.
struct MatrixBlock {
  int64_t row, column, rows, columns;
};

} // namespace mlir::optim

#define GET_OP_CLASSES
#include "dialects/Optim/OptimOps.h.inc"

#endif // STEEP_DIALECTS_OPTIM_OPTIM_H
