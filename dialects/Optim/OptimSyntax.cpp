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

ParseResult optim::detail::parseRate(OpAsmParser &parser, FloatAttr &rate) {
  double value;
  if (geo::parseNumber(parser, value))
    return failure();
  rate = parser.getBuilder().getF64FloatAttr(value);
  return success();
}

void optim::detail::printRate(OpAsmPrinter &printer, Operation *,
                              FloatAttr rate) {
  if (rate.getValue().isFinite())
    printer << getShortest(rate.getValueAsDouble());
  else
    printer.printAttribute(rate);
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

/// The word that comes next, without taking it; empty where none does. One with
/// a dot is the name of the next op.
static StringRef peekWord(OpAsmParser &parser) {
  // Source buffers end in a zero.
  const char *text = parser.getCurrentLocation().getPointer();
  size_t length = 0;
  while (llvm::isAlnum(text[length]) || text[length] == '_' ||
         text[length] == '.' || text[length] == '$')
    ++length;
  return StringRef(text, length);
}

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
    StringRef word = peekWord(parser);
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
                                 "#geo.shift_invariant");
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
    SMLoc at = parser.getCurrentLocation();
    OptionalParseResult parsed =
        parser.parseOptionalInteger(sizes.emplace_back());
    if (parsed.has_value())
      return *parsed;
    return parser.emitError(at, "expected split [SIZE, ...], of integers");
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseSize))
    return failure();
  split = parser.getBuilder().getDenseI64ArrayAttr(sizes);
  return success();
}

static ParseResult parseCount(OpAsmParser &parser, IntegerAttr &count) {
  int64_t value;
  if (parser.parseInteger(value))
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
    StringRef word = peekWord(parser);
    if (word.empty() || word.contains('.') || word == "loc")
      break;
    if (word == "wd")
      result = failure(take(word, wd) || parseRate(parser, wd));
    else if (word == "facts")
      result = failure(take(word, facts) || parseFacts(parser, facts));
    else if (word == "split")
      result = failure(take(word, split) || parseSplit(parser, split));
    else if (word == "per_head")
      result = failure(take(word, perHead) || parseCount(parser, perHead));
    else if (word == "axis")
      result = failure(take(word, axis) || parseCount(parser, axis));
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

void optim::detail::printClauses(OpAsmPrinter &printer, Operation *op,
                                 FloatAttr wd, ArrayAttr facts,
                                 DenseI64ArrayAttr split, IntegerAttr perHead,
                                 IntegerAttr axis, UnitAttr stacked,
                                 UnitAttr convolution) {
  if (wd && !wd.getValue().isPosZero()) {
    printer << " wd ";
    printRate(printer, op, wd);
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
