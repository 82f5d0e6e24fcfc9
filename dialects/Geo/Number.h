//===- Number.h - numbers in specs ------------------------------*- C++ -*-===//
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
#include "llvm/ADT/StringExtras.h"

namespace mlir::geo {

/// Parses a number that is not a count, as f64: `0.95`, `0`, `1.0e-2`, or the
/// bits of a double, `0x3FE0000000000000`. An attribute of another sort is
/// handed back as it is; where there is none, the error says what is expected.
inline ParseResult parseNumber(AsmParser &parser, Attribute &value,
                               const Twine &expected = "a number") {
  SMLoc loc = parser.getCurrentLocation();
  // How a number is spelt is lost once it is an attribute. Source buffers end
  // in a zero.
  const char *text = loc.getPointer();
  if (text[0] == '0' && text[1] == 'x') {
    for (text += 2; llvm::isHexDigit(*text) || *text == ' ';)
      ++text;
    if (*text != ':')
      return parser.parseAttribute(value, parser.getBuilder().getF64Type());
  }
  text += *text == '-';
  while (llvm::isDigit(*text))
    ++text;
  // `1e-2` is an integer and a name to the lexer.
  if ((*text == 'e' || *text == 'E') && text > loc.getPointer() &&
      llvm::isDigit(text[-1]))
    return parser.emitError(loc, "expected a decimal point in a number with an "
                                 "exponent, as in 1.0e-2");
  OptionalParseResult parsed = parser.parseOptionalAttribute(value);
  if (!parsed.has_value())
    return parser.emitError(loc, "expected ") << expected;
  if (failed(*parsed))
    return failure();
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || !integer.getType().isSignlessInteger(64))
    return success();
  value = parser.getBuilder().getF64FloatAttr(
      static_cast<double>(integer.getInt()));
  return success();
}

/// The same, or a list of such, `[[2, -1.5, 0.5], ...]`.
inline ParseResult parseNumbers(AsmParser &parser, Attribute &value,
                                const Twine &expected) {
  if (failed(parser.parseOptionalLSquare()))
    return parseNumber(parser, value, expected);
  SmallVector<Attribute> elements;
  if (failed(parser.parseOptionalRSquare()) &&
      (parser.parseCommaSeparatedList([&] {
        return parseNumbers(parser, elements.emplace_back(), expected);
      }) ||
       parser.parseRSquare()))
    return failure();
  value = parser.getBuilder().getArrayAttr(elements);
  return success();
}

/// Parses a number where nothing but one is expected.
inline ParseResult parseNumber(AsmParser &parser, double &number) {
  SMLoc loc = parser.getCurrentLocation();
  Attribute value;
  if (parseNumber(parser, value))
    return failure();
  auto parsed = dyn_cast<FloatAttr>(value);
  if (!parsed || !parsed.getType().isF64())
    return parser.emitError(loc, "expected a float (f64), but got ") << value;
  number = parsed.getValueAsDouble();
  return success();
}

} // namespace mlir::geo

#endif // STEEP_DIALECTS_GEO_NUMBER_H
