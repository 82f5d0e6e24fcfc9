//===- GeoOps.cpp - syntax and verifiers of the geo ops -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/Geo/Geo.h"
#include "dialects/Geo/GeoDetail.h"
#include "dialects/Geo/Number.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mlir::geo;
using geo::detail::parseRadius;
using geo::detail::printNumbers;
using geo::detail::printRadius;
using geo::detail::str;
using geo::detail::strNumbers;
using geo::detail::verifyBall;
using geo::detail::verifyBeta;
using geo::detail::verifyEps;
using geo::detail::verifyRadius;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// The type that specs are written in, and that is not spelled out.
static Type getSpecMatrixType(MLIRContext *context) {
  return RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                               Float32Type::get(context));
}

/// The shortest decimal that is this f64, in the form that the parser reads.
static std::string getShortest(double value) {
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value)
      break;
  }
  if (text.find_first_of(".n") == std::string::npos) // nan, inf have an n
    text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

static bool isDefault(NamedAttribute setting) {
  StringRef name = setting.getName();
  if (auto number = dyn_cast<FloatAttr>(setting.getValue()))
    return ((name == "eps" || name == "floor") &&
            number.getValue().isPosZero()) ||
           (name == "distance" && number.getValueAsDouble() == 1.1);
  if (auto count = dyn_cast<IntegerAttr>(setting.getValue()))
    return (name == "ahead" || name == "repulsion" || name == "warmup_steps") &&
           count.getInt() == 0;
  auto text = dyn_cast<StringAttr>(setting.getValue());
  return text && ((name == "kind" && text == "original") ||
                  (name == "order" && text == "rows_columns") ||
                  (name == "form" && text == "standard") ||
                  (name == "normalization" && text == "frobenius"));
}

static bool isFiniteNumber(Attribute value) {
  auto number = dyn_cast<FloatAttr>(value);
  return number && number.getType().isF64() && number.getValue().isFinite();
}

void geo::detail::printNumbers(raw_ostream &stream, Attribute value) {
  auto count = dyn_cast<IntegerAttr>(value);
  if (isFiniteNumber(value)) {
    stream << getShortest(cast<FloatAttr>(value).getValueAsDouble());
  } else if (count && count.getType().isSignlessInteger(64)) {
    stream << count.getInt();
  } else if (auto list = dyn_cast<ArrayAttr>(value)) {
    stream << '[';
    llvm::interleaveComma(list, stream, [&](Attribute element) {
      printNumbers(stream, element);
    });
    stream << ']';
  } else {
    stream << value;
  }
}

/// Prints the attributes that the syntax does not show elsewhere, numbers as
/// people write them.
static void printSettingList(OpAsmPrinter &printer, DictionaryAttr settings) {
  SmallVector<NamedAttribute> shown;
  for (NamedAttribute setting : settings)
    if (!isDefault(setting) && !isa<DotAttr>(setting.getValue()) &&
        setting.getName() != "operandSegmentSizes")
      shown.push_back(setting);
  if (!shown.empty()) {
    printer << " {";
    llvm::interleaveComma(shown, printer, [&](NamedAttribute setting) {
      Attribute value = setting.getValue();
      if (isa<IntegerAttr, FloatAttr, ArrayAttr>(value)) {
        printer << setting.getName().getValue() << " = ";
        printNumbers(printer.getStream(), value);
      } else {
        printer.printNamedAttribute(setting);
      }
    });
    printer << '}';
  }
}

/// The settings, then the type of the matrices.
static void printSettings(OpAsmPrinter &printer, Operation *op,
                          DictionaryAttr settings, Type type, StringRef = {}) {
  printSettingList(printer, settings);
  if (type != getSpecMatrixType(op->getContext()))
    printer << " : " << type;
}

/// The sort of value that a setting takes; nothing for attributes that are no
/// settings, since the syntax shows them elsewhere.
enum class SettingKind {
  none,
  number,
  numbers,
  count,
  counts,
  text,
  textOrTable,
  flag
};

/// Whether the op's definition lets the attribute be this.
static bool accepts(OperationName op, StringRef name, Attribute value) {
  MLIRContext *context = op.getContext();
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) {});
  NamedAttrList attributes;
  attributes.append(name, value);
  return succeeded(op.verifyInherentAttrs(
      attributes, [&] { return emitError(UnknownLoc::get(context)); }));
}

/// Which it is follows from the attribute's constraint in the op's definition:
/// a new op brings settings of any names without a word here.
static SettingKind getSettingKind(OperationName op, StringRef name) {
  auto names = op.getRegisteredInfo()->getAttributeNames();
  if (name == "operandSegmentSizes" ||
      llvm::none_of(names, [&](StringAttr known) { return known == name; }))
    return SettingKind::none;
  Builder b(op.getContext());
  Attribute number = b.getF64FloatAttr(1), count = b.getI64IntegerAttr(1);
  if (accepts(op, name, number))
    return SettingKind::number;
  if (accepts(op, name, count))
    return SettingKind::count;
  if (accepts(op, name, b.getStringAttr("x")))
    return accepts(op, name, b.getArrayAttr({})) ? SettingKind::textOrTable
                                                 : SettingKind::text;
  if (accepts(op, name, b.getUnitAttr()))
    return SettingKind::flag;
  if (accepts(op, name, b.getArrayAttr(number)))
    return SettingKind::numbers;
  if (accepts(op, name, b.getArrayAttr(count)))
    return SettingKind::counts;
  return SettingKind::none;
}

static bool hasNumbers(SettingKind kind) {
  return kind == SettingKind::number || kind == SettingKind::numbers ||
         kind == SettingKind::textOrTable;
}

/// The value as an attribute of that kind, or null where it is of another. An
/// integer is a number too, as people write `eps = 0`.
static Attribute convertSetting(SettingKind kind, Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  bool isCount = integer && integer.getType().isSignlessInteger(64);
  Builder builder(value.getContext());
  switch (kind) {
  case SettingKind::number:
    if (isCount)
      return builder.getF64FloatAttr(static_cast<double>(integer.getInt()));
    if (auto number = dyn_cast<FloatAttr>(value))
      return number.getType().isF64() ? value : Attribute();
    return {};
  case SettingKind::numbers: {
    auto list = dyn_cast<ArrayAttr>(value);
    SmallVector<Attribute> numbers;
    for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>())
      numbers.push_back(convertSetting(SettingKind::number, element));
    if (!list || llvm::is_contained(numbers, Attribute()))
      return {};
    return builder.getArrayAttr(numbers);
  }
  case SettingKind::count:
    return isCount ? value : Attribute();
  case SettingKind::counts: {
    auto list = dyn_cast<ArrayAttr>(value);
    bool fits = list && llvm::all_of(list, [](Attribute element) {
                  auto number = dyn_cast<IntegerAttr>(element);
                  return number && number.getType().isSignlessInteger(64);
                });
    return fits ? value : Attribute();
  }
  case SettingKind::text:
    return isa<StringAttr>(value) ? value : Attribute();
  case SettingKind::textOrTable:
    return isa<StringAttr, ArrayAttr>(value) ? value : Attribute();
  case SettingKind::flag:
    return isa<UnitAttr>(value) ? value : Attribute();
  case SettingKind::none:
    return {};
  }
  llvm_unreachable("all kinds are handled");
}

static StringRef describe(SettingKind kind) {
  switch (kind) {
  case SettingKind::number:
    return "a float (f64)";
  case SettingKind::numbers:
    return "an array of floats (f64)";
  case SettingKind::count:
    return "an integer (i64)";
  case SettingKind::counts:
    return "a list of integers (i64)";
  case SettingKind::text:
    return "a string";
  case SettingKind::textOrTable:
    return "a string or a list of triples";
  case SettingKind::flag:
    return "no value";
  case SettingKind::none:
    return "nothing";
  }
  llvm_unreachable("all kinds are handled");
}

static ParseResult refuseSetting(OpAsmParser &parser, SMLoc loc, StringRef name,
                                 OperationName op) {
  InFlightDiagnostic diag = parser.emitError(loc, "unknown setting '")
                            << name << "', expected ";
  if (name == "dot" && llvm::any_of(op.getRegisteredInfo()->getAttributeNames(),
                                    [](StringAttr n) { return n == "dot"; }))
    return diag << "precision in front of the braces, as in dot(bf16)";
  SmallVector<StringRef> known;
  for (StringAttr other : op.getRegisteredInfo()->getAttributeNames())
    if (getSettingKind(op, other) != SettingKind::none)
      known.push_back(other);
  if (known.empty())
    return diag << "none here";
  if (known.size() > 1)
    diag << "one of ";
  llvm::interleaveComma(known, diag,
                        [&](StringRef other) { diag << "'" << other << "'"; });
  return diag;
}

/// Parses a value of a setting of that kind, or one of another, which is for
/// the caller to refuse.
static ParseResult parseValue(OpAsmParser &parser, Attribute &value,
                              SettingKind kind, StringRef name) {
  std::string expected = (describe(kind) + " for '" + name + "'").str();
  if (hasNumbers(kind))
    return parseNumbers(parser, value, expected);
  if (refuseHugeIntegers(parser, expected))
    return failure();
  OptionalParseResult parsed = parser.parseOptionalAttribute(value);
  if (parsed.has_value())
    return *parsed;
  return parser.emitError(parser.getCurrentLocation(), "expected ")
         << expected << butGot(parser);
}

/// Parses `name` or `name = value` of an op. A name with a dot belongs to a
/// dialect and is left alone.
static ParseResult parseSetting(OpAsmParser &parser, NamedAttrList &settings,
                                OperationName op) {
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  Attribute value = parser.getBuilder().getUnitAttr();
  if (parser.parseKeywordOrString(&name))
    return failure();
  bool isForeign = StringRef(name).contains('.');
  SettingKind kind = isForeign ? SettingKind::none : getSettingKind(op, name);
  if (!isForeign && kind == SettingKind::none)
    return refuseSetting(parser, loc, name, op);
  if (settings.get(name))
    return parser.emitError(loc, "setting '") << name << "' is given twice";
  if (succeeded(parser.parseOptionalEqual())) {
    loc = parser.getCurrentLocation();
    if (parseValue(parser, value, kind, name))
      return failure();
  }
  Attribute converted = isForeign ? value : convertSetting(kind, value);
  if (!converted)
    return parser.emitError(loc, "expected ")
           << describe(kind) << " for '" << name << "', but got "
           << strNumbers(value);
  settings.append(name, converted);
  loc = parser.getCurrentLocation();
  if (char next = *loc.getPointer(); next != ',' && next != '}')
    return parser.emitError(loc, "expected ',' or '}' behind '") << name << "'";
  return success();
}

static ParseResult parseSettingList(OpAsmParser &parser,
                                    NamedAttrList &settings, StringRef op) {
  OperationName name(op, parser.getContext());
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::OptionalBraces,
      [&] { return parseSetting(parser, settings, name); });
}

static ParseResult parseSettings(OpAsmParser &parser, NamedAttrList &settings,
                                 Type &type, StringRef op) {
  if (parseSettingList(parser, settings, op))
    return failure();
  if (succeeded(parser.parseOptionalColon()))
    return parser.parseType(type);
  type = getSpecMatrixType(parser.getContext());
  return success();
}

ParseResult geo::detail::parseSettings(OpAsmParser &parser,
                                       NamedAttrList &settings, Type &type,
                                       StringRef op) {
  return ::parseSettings(parser, settings, type, op);
}

void geo::detail::printSettings(OpAsmPrinter &printer, Operation *op,
                                Type type) {
  ::printSettings(printer, op, op->getAttrDictionary(), type);
}

/// One moment a row, as specs write it.
static Type getSpecMomentsType(MLIRContext *context) {
  return RankedTensorType::get({ShapedType::kDynamic, 1},
                               Float32Type::get(context));
}

/// The settings of an op on a matrix and its moments, then both types.
static ParseResult parseMomentSettings(OpAsmParser &parser,
                                       NamedAttrList &settings, Type &type,
                                       Type &moments, StringRef op) {
  if (parseSettingList(parser, settings, op))
    return failure();
  if (succeeded(parser.parseOptionalColon()))
    return failure(parser.parseType(type) || parser.parseComma() ||
                   parser.parseType(moments));
  type = getSpecMatrixType(parser.getContext());
  moments = getSpecMomentsType(parser.getContext());
  return success();
}

static void printMomentSettings(OpAsmPrinter &printer, Operation *op,
                                DictionaryAttr settings, Type type,
                                Type moments, StringRef = {}) {
  printSettingList(printer, settings);
  if (type != getSpecMatrixType(op->getContext()) ||
      moments != getSpecMomentsType(op->getContext()))
    printer << " : " << type << ", " << moments;
}

static ParseResult parseDot(OpAsmParser &parser, DotAttr &dot) {
  dot = DotAttr::get(parser.getContext(), Dot::ieee);
  if (failed(parser.parseOptionalKeyword("dot")))
    return success();
  StringRef keyword;
  if (parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalKeyword(&keyword))
    return parser.emitError(loc, "expected ieee, tf32x3 or bf16");
  std::optional<Dot> value = symbolizeDot(keyword);
  if (!value)
    return parser.emitError(loc, "expected ieee, tf32x3 or bf16, but got ")
           << keyword;
  dot = DotAttr::get(parser.getContext(), *value);
  return parser.parseRParen();
}

static void printDot(OpAsmPrinter &printer, Operation *, DotAttr dot) {
  if (dot && dot.getValue() != Dot::ieee)
    printer << " dot(" << stringifyDot(dot.getValue()) << ')';
}

/// `decay(LR, WD)`, or nothing.
static ParseResult
parseDecay(OpAsmParser &parser,
           std::optional<OpAsmParser::UnresolvedOperand> &lr,
           std::optional<OpAsmParser::UnresolvedOperand> &wd) {
  if (failed(parser.parseOptionalKeyword("decay")))
    return success();
  auto refuse = [&]() -> ParseResult {
    return parser.emitError(parser.getCurrentLocation(),
                            "expected decay(LR, WD), learning rate and weight "
                            "decay")
           << butGot(parser);
  };
  if (failed(parser.parseOptionalLParen()))
    return refuse();
  OptionalParseResult rate = parser.parseOptionalOperand(lr.emplace());
  if (!rate.has_value() || failed(*rate) || failed(parser.parseOptionalComma()))
    return refuse();
  OptionalParseResult decay = parser.parseOptionalOperand(wd.emplace());
  if (!decay.has_value() || failed(*decay) ||
      failed(parser.parseOptionalRParen()))
    return refuse();
  return success();
}

static void printDecay(OpAsmPrinter &printer, Operation *, Value lr, Value wd) {
  if (lr)
    printer << " decay(" << lr << ", " << wd << ')';
}

ParseResult MomentumOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand buffer, gradient;
  Type type;
  if (parser.parseOperand(buffer) || parser.parseComma() ||
      parser.parseOperand(gradient) ||
      parseSettings(parser, result.attributes, type, getOperationName()) ||
      parser.resolveOperands({buffer, gradient}, type, result.operands))
    return failure();
  // The look-ahead is a result only where it is asked for.
  bool nesterov = bool(result.attributes.get(getNesterovAttrName(result.name)));
  size_t count = nesterov ? 2 : 1, named = parser.getNumResults();
  if (named && named != count)
    return parser.emitError(parser.getNameLoc(), "expected ")
           << (nesterov ? "two results with nesterov, the momentum and its "
                          "look-ahead"
                        : "one result without nesterov")
           << ", but " << named << (named == 1 ? " is" : " are") << " named";
  result.addTypes(SmallVector<Type>(count, type));
  return success();
}

void MomentumOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getBuffer() << ", " << getGradient();
  printSettings(printer, *this, (*this)->getAttrDictionary(),
                getBuffer().getType());
}

#define GET_OP_CLASSES
#include "dialects/Geo/GeoOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

std::string geo::detail::strNumbers(Attribute value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printNumbers(stream, value);
  return text;
}

std::string geo::detail::str(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

LogicalResult geo::detail::verifyBeta(Operation *op, StringRef name,
                                      APFloat beta) {
  double value = beta.convertToDouble();
  if (!(value >= 0 && value < 1))
    return op->emitOpError("expected ")
           << name << " in [0, 1), but got " << str(value);
  // An average that keeps all of itself learns nothing.
  if (static_cast<float>(value) == 1)
    return op->emitOpError("expected ")
           << name << " to be less than 1 in f32 too, but "
           << getShortest(value) << " rounds to 1";
  return success();
}

LogicalResult geo::detail::verifyEps(Operation *op, APFloat eps) {
  double value = eps.convertToDouble();
  if (!std::isfinite(value) || value < 0)
    return op->emitOpError("expected eps to be finite and at least 0, but got ")
           << str(value);
  if (value >= geo::detail::epsBound)
    return op->emitOpError("expected eps below ")
           << str(geo::detail::epsBound) << ", but got " << str(value);
  if (value != 0 && static_cast<float>(value) == 0)
    return op->emitOpError("expected eps to be 0 or at least 1e-45, the "
                           "smallest f32, but got ")
           << str(value);
  return success();
}

LogicalResult geo::detail::verifyRadius(Operation *op, Value radius) {
  APFloat value(0.0f);
  if (!matchPattern(radius, m_ConstantFloat(&value)) || value.isFinite())
    return success();
  return op->emitOpError("expected a finite radius, but got ")
         << str(value.convertToFloat());
}

LogicalResult EmaOp::verify() { return verifyBeta(*this, "beta", getBeta()); }

LogicalResult CorrectBiasOp::verify() {
  if (failed(verifyBeta(*this, "beta", getBeta())))
    return failure();
  int64_t ahead = getAhead();
  if (ahead < 0 || ahead > 1)
    return emitOpError("expected ahead in 0..1, but got ") << ahead;
  // What another rate makes of zeros is not 1 - beta^t short of its average.
  auto average = getInput().getDefiningOp<EmaOp>();
  if (average && average.getBeta() != getBeta())
    return emitOpError("expected the beta of the average that it corrects, ")
           << getShortest(average.getBeta().convertToDouble()) << ", but got "
           << getShortest(getBeta().convertToDouble());
  return success();
}

LogicalResult MomentumOp::verify() {
  if (failed(verifyBeta(*this, "beta", getBeta())))
    return failure();
  unsigned expected = getNesterov() ? 2 : 1;
  if (getNumResults() != expected)
    return emitOpError("expected ")
           << expected << (getNesterov() ? " results with" : " result without")
           << " nesterov, but got " << getNumResults();
  Type type = getBuffer().getType();
  if (getGradient().getType() != type ||
      llvm::any_of(getResultTypes(), [&](Type t) { return t != type; }))
    return emitOpError("expected buffer, gradient and results of one type, ")
           << type;
  return success();
}

LogicalResult NormalizeRowsOp::verify() { return verifyEps(*this, getEps()); }
LogicalResult MaxRowOp::verify() { return verifyBall(*this); }
LogicalResult CommonBallOp::verify() { return verifyBall(*this); }

LogicalResult RowSquaresOp::verify() {
  if (getInput().getType().getDimSize(0) != getResult().getType().getDimSize(0))
    return emitOpError("expected one value a row of ")
           << getInput().getType() << ", but got " << getResult().getType();
  return success();
}

LogicalResult RowSquaresOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location>,
                                             ValueRange operands,
                                             DictionaryAttr, OpaqueProperties,
                                             RegionRange,
                                             SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(operands.front().getType());
  types.push_back(RankedTensorType::get(input.getShape().take_front(),
                                        Float64Type::get(context)));
  return success();
}

LogicalResult ShapeScaleOp::verify() {
  if (failed(verifyRadius(*this, getRadius())))
    return failure();
  constexpr StringLiteral kinds[] = {"original", "original_columns",
                                     "ratio",    "match_rms_adamw",
                                     "row_rms",  "rms",
                                     "mean"};
  if (llvm::is_contained(kinds, getKind()))
    return success();
  InFlightDiagnostic diag = emitOpError("expected kind to be one of ");
  llvm::interleaveComma(kinds, diag,
                        [&](StringRef kind) { diag << '"' << kind << '"'; });
  return diag << ", but got \"" << getKind() << '"';
}

LogicalResult AdamWOp::verify() {
  if (failed(verifyBeta(*this, "beta1", getBeta1())) ||
      failed(verifyBeta(*this, "beta2", getBeta2())) ||
      failed(verifyEps(*this, getEps())))
    return failure();
  // An element that never had a gradient would be 0/0.
  if (getEps().isZero())
    return emitOpError("expected eps to be positive");
  return success();
}

LogicalResult ApplyOp::verify() {
  if (bool(getLr()) != bool(getWd()))
    return emitOpError("expected decay to name both learning rate and decay");
  if (getCautious() && !getLr())
    return emitOpError("expected decay(...) with cautious, which says what "
                       "decays");
  return success();
}

//===----------------------------------------------------------------------===//
// What passes ask of a geometry
//===----------------------------------------------------------------------===//

StringRef MaxRowOp::getDualNorm() { return "sum_i ||g_i||"; }

StringRef CommonBallOp::getDualNorm() { return "sum_i ||(P G)_i||"; }
bool CommonBallOp::isBlindToRowShifts() { return true; }
bool CommonBallOp::hasCenteredResult() { return true; }
