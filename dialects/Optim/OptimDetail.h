//===- OptimDetail.h - shared by the files of the dialect -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_OPTIM_OPTIMDETAIL_H
#define STEEP_DIALECTS_OPTIM_OPTIMDETAIL_H

#include "dialects/Optim/Optim.h"
#include "mlir/IR/OpImplementation.h"

#include <string>

namespace mlir::optim::detail {

/// A number as a person writes it: the shortest decimal that is this f64, in
/// the form that the parser reads; "nan", "inf", "-inf" for messages.
std::string getShortest(double value);

//===----------------------------------------------------------------------===//
// Syntax of specs and groups; the generated parsers and printers call these
//===----------------------------------------------------------------------===//

ParseResult parseLr(OpAsmParser &parser, FloatAttr &lr);
void printLr(OpAsmPrinter &printer, Operation *, FloatAttr lr);
ParseResult parseWd(OpAsmParser &parser, FloatAttr &wd);
void printWd(OpAsmPrinter &printer, Operation *, FloatAttr wd);

/// `["PATTERN", ...]`
ParseResult parsePatterns(OpAsmParser &parser, ArrayAttr &patterns);
void printPatterns(OpAsmPrinter &printer, Operation *, ArrayAttr patterns);

/// `@RULE`
ParseResult parseRuleName(OpAsmParser &parser, FlatSymbolRefAttr &rule);
void printRuleName(OpAsmPrinter &printer, Operation *, FlatSymbolRefAttr rule);

/// What follows the name of an optim.spec, in any order, each at most once.
ParseResult parseSpecClauses(OpAsmParser &parser, WarmupCosineAttr &schedule,
                             GlobalNormAttr &clip, NonFiniteAttr &nonfinite);
void printSpecClauses(OpAsmPrinter &printer, Operation *,
                      WarmupCosineAttr schedule, GlobalNormAttr clip,
                      NonFiniteAttr nonfinite);

/// What follows the rate of an optim.group, in any order, each at most once.
ParseResult parseClauses(OpAsmParser &parser, FloatAttr &wd, ArrayAttr &facts,
                         DenseI64ArrayAttr &split, IntegerAttr &perHead,
                         IntegerAttr &axis, UnitAttr &stacked,
                         UnitAttr &convolution);
void printClauses(OpAsmPrinter &printer, Operation *op, FloatAttr wd,
                  ArrayAttr facts, DenseI64ArrayAttr split, IntegerAttr perHead,
                  IntegerAttr axis, UnitAttr stacked, UnitAttr convolution);

} // namespace mlir::optim::detail

#endif // STEEP_DIALECTS_OPTIM_OPTIMDETAIL_H
