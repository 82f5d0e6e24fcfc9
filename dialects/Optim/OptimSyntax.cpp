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
// Clauses of a group
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

/// `(FACT, ...)`
static ParseResult parseFacts(OpAsmParser &parser, ArrayAttr &facts) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
        return parser.parseAttribute(list.emplace_back());
      }))
    return failure();
  facts = parser.getBuilder().getArrayAttr(list);
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
  SMLoc loc;
  // Takes the word, unless the clause was there before.
  auto take = [&](StringRef word, Attribute given) -> ParseResult {
    if (given)
      return parser.emitError(loc, "'") << word << "' is given twice";
    return parser.parseKeyword(word);
  };
  ParseResult result = success();
  while (succeeded(result)) {
    loc = parser.getCurrentLocation();
    StringRef word = peekWord(parser);
    if (word.empty() || word.contains('.') || word == "loc")
      break;
    if (word == "wd")
      result = failure(take(word, wd) || parseRate(parser, wd));
    else if (word == "facts")
      result = failure(take(word, facts) || parseFacts(parser, facts));
    else if (word == "split")
      result = failure(take(word, split) ||
                       parser.parseCustomAttributeWithFallback(split));
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
