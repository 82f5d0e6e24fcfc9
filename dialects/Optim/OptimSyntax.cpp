//===- OptimSyntax.cpp - how groups are written ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Number.h"
#include "dialects/Optim/Optim.h"
#include "dialects/Optim/OptimDetail.h"

using namespace mlir;
using namespace mlir::optim;

static ParseResult parseRate(OpAsmParser &parser, FloatAttr &rate,
                             StringRef name) {
  double value;
  if (geo::parseNumber(parser, value, name))
    return failure();
  rate = parser.getBuilder().getF64FloatAttr(value);
  return success();
}

ParseResult optim::detail::parseLr(OpAsmParser &parser, FloatAttr &lr) {
  return parseRate(parser, lr, "lr");
}

ParseResult optim::detail::parseWd(OpAsmParser &parser, FloatAttr &wd) {
  return parseRate(parser, wd, "wd");
}

static void printRate(OpAsmPrinter &printer, FloatAttr rate) {
  if (rate.getValue().isFinite())
    printer << optim::detail::getShortest(rate.getValueAsDouble());
  else
    printer.printAttribute(rate);
}

void optim::detail::printLr(OpAsmPrinter &printer, Operation *, FloatAttr lr) {
  printRate(printer, lr);
}

void optim::detail::printWd(OpAsmPrinter &printer, Operation *, FloatAttr wd) {
  printRate(printer, wd);
}

//===----------------------------------------------------------------------===//
// Patterns and the rule
//===----------------------------------------------------------------------===//

ParseResult optim::detail::parsePatterns(OpAsmParser &parser,
                                         ArrayAttr &patterns) {
  SmallVector<Attribute> list;
  auto refuse = [&]() -> ParseResult {
    return parser.emitError(parser.getCurrentLocation(),
                            "expected patterns of names, as in [\"blocks.*\"]")
           << geo::butGot(parser);
  };
  auto parsePattern = [&]() -> ParseResult {
    std::string pattern;
    if (failed(parser.parseOptionalString(&pattern)))
      return refuse();
    list.push_back(parser.getBuilder().getStringAttr(pattern));
    return success();
  };
  if (failed(parser.parseOptionalLSquare()))
    return refuse();
  if (failed(parser.parseOptionalRSquare()) &&
      (parser.parseCommaSeparatedList(parsePattern) || parser.parseRSquare()))
    return failure();
  patterns = parser.getBuilder().getArrayAttr(list);
  return success();
}

void optim::detail::printPatterns(OpAsmPrinter &printer, Operation *,
                                  ArrayAttr patterns) {
  printer << patterns;
}

ParseResult optim::detail::parseRuleName(OpAsmParser &parser,
                                         FlatSymbolRefAttr &rule) {
  StringAttr name;
  if (failed(parser.parseOptionalSymbolName(name)))
    return parser.emitError(parser.getCurrentLocation(),
                            "expected the name of a rule, as in @muon")
           << geo::butGot(parser);
  rule = FlatSymbolRefAttr::get(name);
  return success();
}

void optim::detail::printRuleName(OpAsmPrinter &printer, Operation *,
                                  FlatSymbolRefAttr rule) {
  printer << rule;
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

/// Takes a clause's word, unless the clause was there before.
static ParseResult takeWord(OpAsmParser &parser, StringRef word,
                            Attribute given) {
  if (given)
    return parser.emitError(parser.getCurrentLocation(), "'")
           << word << "' is given twice";
  return parser.parseKeyword(word);
}

/// `(ATTRIBUTE)`, of one sort.
template <typename AttrTy>
static ParseResult parseOnly(OpAsmParser &parser, AttrTy &result,
                             StringRef expected) {
  if (parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  Attribute value;
  OptionalParseResult parsed = parser.parseOptionalAttribute(value);
  if (parsed.has_value() && failed(*parsed))
    return failure();
  result = dyn_cast_or_null<AttrTy>(value);
  if (result)
    return parser.parseRParen();
  InFlightDiagnostic diag = parser.emitError(loc, "expected ") << expected;
  if (value)
    diag << ", but got " << value;
  return diag;
}

static ParseResult parseNonFinite(OpAsmParser &parser,
                                  NonFiniteAttr &nonfinite) {
  if (parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  (void)parser.parseOptionalKeyword(&word);
  std::optional<NonFinite> value = symbolizeNonFinite(word);
  if (!value)
    return parser.emitError(loc, "expected skip or error, but got '")
           << word << "'";
  nonfinite = NonFiniteAttr::get(parser.getContext(), *value);
  return parser.parseRParen();
}

ParseResult optim::detail::parseSpecClauses(OpAsmParser &parser,
                                            WarmupCosineAttr &schedule,
                                            GlobalNormAttr &clip,
                                            NonFiniteAttr &nonfinite) {
  while (true) {
    StringRef word = geo::peekWord(parser);
    ParseResult result = success();
    if (word.empty() || word == "attributes")
      break;
    if (word == "schedule")
      result =
          failure(takeWord(parser, word, schedule) ||
                  parseOnly(parser, schedule,
                            "#optim.warmup_cosine<warmup = X, floor = X>"));
    else if (word == "clip")
      result = failure(takeWord(parser, word, clip) ||
                       parseOnly(parser, clip, "#optim.global_norm<X>"));
    else if (word == "nonfinite")
      result = failure(takeWord(parser, word, nonfinite) ||
                       parseNonFinite(parser, nonfinite));
    else
      return parser.emitError(parser.getCurrentLocation(),
                              "expected schedule(...), clip(...), "
                              "nonfinite(skip|error) or '{', but got '")
             << word << "'";
    if (failed(result))
      return failure();
  }
  if (!nonfinite)
    nonfinite = NonFiniteAttr::get(parser.getContext(), NonFinite::Skip);
  return success();
}

void optim::detail::printSpecClauses(OpAsmPrinter &printer, Operation *,
                                     WarmupCosineAttr schedule,
                                     GlobalNormAttr clip,
                                     NonFiniteAttr nonfinite) {
  if (schedule)
    printer << " schedule(" << schedule << ')';
  if (clip)
    printer << " clip(" << clip << ')';
  if (nonfinite && nonfinite.getValue() != NonFinite::Skip)
    printer << " nonfinite(" << stringifyNonFinite(nonfinite.getValue()) << ')';
}

//===----------------------------------------------------------------------===//
// Clauses of a group
//===----------------------------------------------------------------------===//

/// `(FACT, ...)`
static ParseResult parseFacts(OpAsmParser &parser, ArrayAttr &facts) {
  SmallVector<Attribute> list;
  auto parseFact = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    OptionalParseResult parsed =
        parser.parseOptionalAttribute(list.emplace_back());
    if (parsed.has_value())
      return *parsed;
    return parser.emitError(loc, "expected a fact, #geo.zero_column_sum or "
                                 "#geo.shift_invariant")
           << geo::butGot(parser);
  };
  if (parser.parseLParen() || parser.parseCommaSeparatedList(parseFact) ||
      parser.parseRParen())
    return failure();
  facts = parser.getBuilder().getArrayAttr(list);
  return success();
}

/// `[SIZE, ...]`
static ParseResult parseSplit(OpAsmParser &parser, DenseI64ArrayAttr &split) {
  SmallVector<int64_t> sizes;
  SMLoc loc = parser.getCurrentLocation();
  if (*loc.getPointer() != '[')
    return parser.emitError(loc, "expected split [SIZE, ...]");
  auto parseSize = [&]() -> ParseResult {
    return geo::parseCount(parser, sizes.emplace_back(), "split");
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseSize))
    return failure();
  split = parser.getBuilder().getDenseI64ArrayAttr(sizes);
  return success();
}

static ParseResult parseCount(OpAsmParser &parser, IntegerAttr &count,
                              StringRef name) {
  int64_t value;
  if (geo::parseCount(parser, value, name))
    return failure();
  count = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

ParseResult optim::detail::parseClauses(OpAsmParser &parser, FloatAttr &wd,
                                        ArrayAttr &facts,
                                        DenseI64ArrayAttr &split,
                                        IntegerAttr &perHead, IntegerAttr &axis,
                                        UnitAttr &stacked,
                                        UnitAttr &convolution) {
  auto take = [&](StringRef word, Attribute given) {
    return takeWord(parser, word, given);
  };
  ParseResult result = success();
  while (succeeded(result)) {
    SMLoc loc = parser.getCurrentLocation();
    if (*loc.getPointer() == ',')
      return parser.emitError(loc, "expected no comma: what a group says "
                                   "stands side by side");
    StringRef word = geo::peekWord(parser);
    if (word.empty() || word.contains('.') || word == "loc")
      break;
    if (word == "wd")
      result = failure(take(word, wd) || parseWd(parser, wd));
    else if (word == "facts")
      result = failure(take(word, facts) || parseFacts(parser, facts));
    else if (word == "split")
      result = failure(take(word, split) || parseSplit(parser, split));
    else if (word == "per_head")
      result =
          failure(take(word, perHead) || parseCount(parser, perHead, word));
    else if (word == "axis")
      result = failure(take(word, axis) || parseCount(parser, axis, word));
    else if (word == "stacked" && succeeded(result = take(word, stacked)))
      stacked = parser.getBuilder().getUnitAttr();
    else if (word == "convolution" &&
             succeeded(result = take(word, convolution)))
      convolution = parser.getBuilder().getUnitAttr();
    else if (succeeded(result))
      return parser.emitError(loc, "expected wd X, facts(...), split [...], "
                                   "per_head N, axis N, stacked or "
                                   "convolution, but got '")
             << word << "'";
  }
  if (!wd)
    wd = parser.getBuilder().getF64FloatAttr(0);
  return result;
}

void optim::detail::printClauses(OpAsmPrinter &printer, Operation *,
                                 FloatAttr wd, ArrayAttr facts,
                                 DenseI64ArrayAttr split, IntegerAttr perHead,
                                 IntegerAttr axis, UnitAttr stacked,
                                 UnitAttr convolution) {
  if (wd && !wd.getValue().isPosZero()) {
    printer << " wd ";
    printRate(printer, wd);
  }
  if (facts) {
    printer << " facts(";
    llvm::interleaveComma(facts, printer);
    printer << ')';
  }
  if (split) {
    printer << " split ";
    printer.printStrippedAttrOrType(split);
  }
  if (perHead)
    printer << " per_head " << perHead.getInt();
  if (axis)
    printer << " axis " << axis.getInt();
  if (stacked)
    printer << " stacked";
  if (convolution)
    printer << " convolution";
}
