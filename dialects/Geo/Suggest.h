//===- Suggest.h - what a wrong name may have meant ----------- -*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_SUGGEST_H
#define STEEP_DIALECTS_GEO_SUGGEST_H

#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

#include <string>

namespace mlir::geo {

/// The end of a message about a name that is none of `known`: "; did you mean
/// 'x'?" where one is near, else "; expected x, y or z". `prefix` stands before
/// each.
std::string suggest(StringRef name, ArrayRef<StringRef> known,
                    StringRef prefix = "");

/// Reports that a dialect has no attribute of this name, and which ones,
/// `known`, it has; null.
Attribute refuseAttribute(DialectAsmParser &parser, StringRef dialect,
                          StringRef name, ArrayRef<StringRef> known);

/// What a dialect's getParseOperationHook() gives for an op that the dialect
/// does not have: an error that says which ones there are.
ParseResult refuseOperation(OpAsmParser &parser, OperationState &result);

} // namespace mlir::geo

#endif // STEEP_DIALECTS_GEO_SUGGEST_H
