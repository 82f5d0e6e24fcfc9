//===- OptimAttrs.cpp - attributes and types of the optim dialect ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Geo/Number.h"
#include "dialects/Geo/Suggest.h"
#include "dialects/Optim/Optim.h"
#include "dialects/Optim/OptimDetail.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mlir::optim;

#include "dialects/Optim/OptimEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Optim/OptimAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Optim/OptimTypes.cpp.inc"

void OptimDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Optim/OptimAttrs.cpp.inc"
      >();
}

void OptimDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Optim/OptimTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Names that the dialect does not have
//===----------------------------------------------------------------------===//

Attribute OptimDialect::parseAttribute(DialectAsmParser &parser,
                                       Type type) const {
  StringRef name;
  Attribute attribute;
  if (generatedAttributeParser(parser, &name, type, attribute).has_value())
    return attribute;
  return geo::refuseAttribute(
      parser, getNamespace(), name,
      {WarmupCosineAttr::getMnemonic(), GlobalNormAttr::getMnemonic()});
}

void OptimDialect::printAttribute(Attribute attribute,
                                  DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attribute, printer);
}

std::optional<Dialect::ParseOpHook>
OptimDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook(geo::refuseOperation);
}

std::string mlir::optim::detail::getShortest(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value)
      break;
  }
  // The parser takes only literals with a point for floats.
  if (text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

//===----------------------------------------------------------------------===//
// WarmupCosineAttr
//===----------------------------------------------------------------------===//

LogicalResult
WarmupCosineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         APFloat warmup, APFloat floor) {
  // Written so that NaN fails too.
  double share = warmup.convertToDouble(), last = floor.convertToDouble();
  if (!(share >= 0.0 && share < 1.0))
    return emitError() << "expected warmup in [0, 1), but got "
                       << optim::detail::getShortest(share);
  if (!(last >= 0.0 && last <= 1.0))
    return emitError() << "expected floor in [0, 1], but got "
                       << optim::detail::getShortest(last);
  return success();
}

Attribute WarmupCosineAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  std::optional<double> warmup, floor;
  auto parseOne = [&]() -> ParseResult {
    SMLoc at = parser.getCurrentLocation();
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name)) ||
        (name != "warmup" && name != "floor"))
      return parser.emitError(at, "expected warmup = X and floor = X")
             << (name.empty() ? geo::butGot(parser)
                              : (", but got '" + name + "'").str());
    std::optional<double> &value = name == "warmup" ? warmup : floor;
    if (value)
      return parser.emitError(at, "'") << name << "' is given twice";
    if (failed(parser.parseOptionalEqual()))
      return parser.emitError(parser.getCurrentLocation(), "expected ")
             << name << " = X" << geo::butGot(parser);
    return geo::parseNumber(parser, value.emplace(), name);
  };
  bool isEmpty = failed(parser.parseOptionalLess()) ||
                 succeeded(parser.parseOptionalGreater());
  if (!isEmpty &&
      (parser.parseCommaSeparatedList(parseOne) || parser.parseGreater()))
    return {};
  if (!warmup || !floor) {
    parser.emitError(loc, "expected warmup = X and floor = X, as in "
                          "#optim.warmup_cosine<warmup = 0.1, floor = 0.1>, "
                          "but got ")
        << (isEmpty  ? "none"
            : warmup ? "warmup alone"
                     : "floor alone");
    return {};
  }
  return parser.getChecked<WarmupCosineAttr>(loc, parser.getContext(),
                                             APFloat(*warmup), APFloat(*floor));
}

void WarmupCosineAttr::print(AsmPrinter &printer) const {
  printer << "<warmup = "
          << optim::detail::getShortest(getWarmup().convertToDouble())
          << ", floor = "
          << optim::detail::getShortest(getFloor().convertToDouble()) << ">";
}

//===----------------------------------------------------------------------===//
// GlobalNormAttr
//===----------------------------------------------------------------------===//

LogicalResult
GlobalNormAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       APFloat max) {
  if (!max.isFinite() || max.isNegative() || max.isZero())
    return emitError() << "expected a positive, finite norm, but got "
                       << optim::detail::getShortest(max.convertToDouble());
  return success();
}

Attribute GlobalNormAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  double max = 0;
  if (failed(parser.parseOptionalLess()) ||
      succeeded(parser.parseOptionalGreater())) {
    parser.emitError(loc, "expected the largest norm, as in "
                          "#optim.global_norm<1.0>, but got none");
    return {};
  }
  if (geo::parseNumber(parser, max, "global_norm") || parser.parseGreater())
    return {};
  return parser.getChecked<GlobalNormAttr>(loc, parser.getContext(),
                                           APFloat(max));
}

void GlobalNormAttr::print(AsmPrinter &printer) const {
  printer << "<" << optim::detail::getShortest(getMax().convertToDouble())
          << ">";
}
