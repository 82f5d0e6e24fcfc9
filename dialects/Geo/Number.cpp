//===- Number.cpp - numbers in specs --------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Number.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

/// Source buffers end in a zero.
static const char *nextText(AsmParser &parser) {
  return parser.getCurrentLocation().getPointer();
}

static StringRef wordAt(const char *text) {
  size_t length = 0;
  while (llvm::isAlnum(text[length]) || text[length] == '_' ||
         text[length] == '.' || text[length] == '$')
    ++length;
  return StringRef(text, length);
}

StringRef geo::peekWord(AsmParser &parser) { return wordAt(nextText(parser)); }

std::string geo::butGot(AsmParser &parser) {
  const char *text = nextText(parser);
  if (!*text)
    return "";
  size_t length = wordAt(text).size();
  if (length == 0) // a name behind its sign, or a sign alone
    length = 1 + wordAt(text + 1).size() * StringRef("@#%!-").contains(*text);
  return ", but got '" + std::string(text, length) + "'";
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The decimal integer that begins here, sign included; empty where none does.
static StringRef integerAt(const char *text) {
  size_t length = *text == '-', sign = length;
  while (llvm::isDigit(text[length]))
    ++length;
  bool isWhole = length > sign && text[length] != '.';
  return StringRef(text, isWhole ? length : 0);
}

static bool isHuge(StringRef integer) {
  int64_t value;
  return !integer.empty() && integer.getAsInteger(10, value);
}

ParseResult geo::refuseHugeIntegers(AsmParser &parser, const Twine &expected) {
  const char *text = nextText(parser);
  bool isList = *text == '[';
  do {
    text += *text == '[' || *text == ',' || *text == ' ';
    StringRef integer = integerAt(text);
    if (isHuge(integer))
      return parser.emitError(SMLoc::getFromPointer(text), "expected ")
             << expected << ", but " << integer << " has more than 64 bits";
    text += integer.size();
  } while (isList && (*text == '[' || *text == ',' || *text == ' '));
  return success();
}

ParseResult geo::parseCount(AsmParser &parser, int64_t &count, StringRef name) {
  std::string expected = ("an integer (i64) for '" + name + "'").str();
  if (refuseHugeIntegers(parser, expected))
    return failure();
  OptionalParseResult parsed = parser.parseOptionalInteger(count);
  if (parsed.has_value())
    return *parsed;
  return parser.emitError(parser.getCurrentLocation(), "expected ")
         << expected << butGot(parser);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

ParseResult geo::parseNumber(AsmParser &parser, Attribute &value,
                             const Twine &expected) {
  SMLoc loc = parser.getCurrentLocation();
  // How a number is spelt is lost once it is an attribute.
  const char *text = loc.getPointer();
  if (text[0] == '0' && text[1] == 'x') {
    for (text += 2; llvm::isHexDigit(*text) || *text == ' ';)
      ++text;
    if (*text != ':')
      return parser.parseAttribute(value, parser.getBuilder().getF64Type());
  }
  StringRef whole = integerAt(loc.getPointer());
  // `1e-2` is an integer and a name to the lexer.
  if (!whole.empty() && (*whole.end() == 'e' || *whole.end() == 'E'))
    return parser.emitError(loc, "expected a decimal point in a number with an "
                                 "exponent, as in 1.0e-2");
  if (isHuge(whole))
    return parser.emitError(loc, "expected a decimal point in a number of more "
                                 "than 64 bits, as in 1.0e20");
  OptionalParseResult parsed = parser.parseOptionalAttribute(value);
  if (!parsed.has_value())
    return parser.emitError(loc, "expected ") << expected << butGot(parser);
  if (failed(*parsed))
    return failure();
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || !integer.getType().isSignlessInteger(64))
    return success();
  value = parser.getBuilder().getF64FloatAttr(
      static_cast<double>(integer.getInt()));
  return success();
}

ParseResult geo::parseNumbers(AsmParser &parser, Attribute &value,
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

ParseResult geo::parseNumber(AsmParser &parser, double &number,
                             StringRef name) {
  SMLoc loc = parser.getCurrentLocation();
  std::string expected = ("a float (f64) for '" + name + "'").str();
  Attribute value;
  if (parseNumber(parser, value, expected))
    return failure();
  auto parsed = dyn_cast<FloatAttr>(value);
  if (!parsed || !parsed.getType().isF64())
    return parser.emitError(loc, "expected ")
           << expected << ", but got " << value;
  number = parsed.getValueAsDouble();
  return success();
}
