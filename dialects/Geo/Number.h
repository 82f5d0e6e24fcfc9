//===- Number.h - numbers in specs ---------------------------- -*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How specs spell numbers; what the ops of a spec share.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_DIALECTS_GEO_NUMBER_H
#define STEEP_DIALECTS_GEO_NUMBER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::geo {

/// The word that comes next, without taking it; empty where none does. One with
/// a dot is the name of the next op, or a number.
StringRef peekWord(AsmParser &parser);

/// ", but got 'X'" for the end of a message, X being what comes next; empty at
/// the end of the text.
std::string butGot(AsmParser &parser);

/// Parses a number that is not a count, as f64: `0.95`, `0`, `1.0e-2`, or the
/// bits of a double, `0x3FE0000000000000`. An attribute of another sort is
/// handed back as it is; where there is none, the error says what is expected.
ParseResult parseNumber(AsmParser &parser, Attribute &value,
                        const Twine &expected);

/// The same, or a list of such, `[[2, -1.5, 0.5], ...]`.
ParseResult parseNumbers(AsmParser &parser, Attribute &value,
                         const Twine &expected);

/// Parses the number `name` where nothing but one is expected.
ParseResult parseNumber(AsmParser &parser, double &number, StringRef name);

/// Refuses integers that 64 bits cannot hold, one that comes next or those of a
/// list that does: MLIR's parser has no words for them.
ParseResult refuseHugeIntegers(AsmParser &parser, const Twine &expected);

/// Parses the integer `name` where nothing but one is expected.
ParseResult parseCount(AsmParser &parser, int64_t &count, StringRef name);

} // namespace mlir::geo

#endif // STEEP_DIALECTS_GEO_NUMBER_H
