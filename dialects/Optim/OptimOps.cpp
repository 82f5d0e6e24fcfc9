//===- OptimOps.cpp - ops of the optim dialect ----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Geo/Number.h"
#include "dialects/Optim/Optim.h"
#include "dialects/Optim/OptimDetail.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::optim;
using optim::detail::parseClauses;
using optim::detail::parseLr;
using optim::detail::parsePatterns;
using optim::detail::parseRuleName;
using optim::detail::parseSpecClauses;
using optim::detail::parseWd;
using optim::detail::printClauses;
using optim::detail::printLr;
using optim::detail::printPatterns;
using optim::detail::printRuleName;
using optim::detail::printSpecClauses;
using optim::detail::printWd;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// The type that a rule's matrices have unless it says otherwise.
static Type getUnknownMatrix(MLIRContext *context) {
  int64_t sizes[] = {ShapedType::kDynamic, ShapedType::kDynamic};
  return RankedTensorType::get(sizes, Float32Type::get(context));
}

/// `%a, %b : TYPE, TYPE`; types are left out where all are tensor<?x?xf32>.
static ParseResult
parseMatrices(OpAsmParser &parser,
              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &values,
              SmallVectorImpl<Type> &types) {
  if (parser.parseOperandList(values))
    return failure();
  if (succeeded(parser.parseOptionalColon()))
    return parser.parseTypeList(types);
  types.assign(values.size(), getUnknownMatrix(parser.getContext()));
  return success();
}

static void printMatrices(OpAsmPrinter &printer, Operation *op,
                          OperandRange values, TypeRange types) {
  printer << values;
  Type usual = getUnknownMatrix(op->getContext());
  if (llvm::all_of(types, [&](Type type) { return type == usual; }))
    return;
  printer << " : ";
  llvm::interleaveComma(types, printer);
}

/// `measures(%a "name", %b "other")`, or nothing.
static ParseResult
parseMeasures(OpAsmParser &parser,
              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &measures,
              ArrayAttr &names) {
  SmallVector<Attribute> read;
  auto parseMeasure = [&]() -> ParseResult {
    std::string name;
    if (parser.parseOperand(measures.emplace_back()) ||
        parser.parseString(&name))
      return failure();
    read.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("measures")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseMeasure))
    return failure();
  names = parser.getBuilder().getArrayAttr(read);
  return success();
}

static void printMeasures(OpAsmPrinter &printer, Operation *,
                          OperandRange measures, ArrayAttr names) {
  if (measures.empty())
    return;
  printer << " measures(";
  llvm::interleaveComma(llvm::zip(measures, names), printer, [&](auto pair) {
    printer << std::get<0>(pair) << ' ' << std::get<1>(pair);
  });
  printer << ')';
}

#define GET_OP_CLASSES
#include "dialects/Optim/OptimOps.cpp.inc"

//===----------------------------------------------------------------------===//
// RuleOp
//===----------------------------------------------------------------------===//

YieldOp RuleOp::getYield() { return cast<YieldOp>(getBody().front().back()); }

ParseResult RuleOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Attribute> states;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(args, AsmParser::Delimiter::Paren,
                               /*allowType=*/true))
    return failure();

  // A state's name is read as such: as an attribute it would take the type
  // behind the colon.
  auto parseState = [&]() -> ParseResult {
    OpAsmParser::Argument &arg = args.emplace_back();
    std::string state;
    if (parser.parseArgument(arg))
      return failure();
    if (failed(parser.parseOptionalString(&state)))
      return parser.emitError(parser.getCurrentLocation(),
                              "expected the state's name, as in "
                              "\"momentum_buffer\"")
             << geo::butGot(parser);
    if (parser.parseColonType(arg.type))
      return failure();
    states.push_back(parser.getBuilder().getStringAttr(state));
    return success();
  };
  if (succeeded(parser.parseOptionalKeyword("state")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseState))
    return failure();
  result.addAttribute(getStateNamesAttrName(result.name),
                      parser.getBuilder().getArrayAttr(states));
  Region *body = result.addRegion();
  return failure(parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*body, args));
}

void RuleOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments().take_front(kFirstState), printer,
      [&](BlockArgument arg) { printer.printRegionArgument(arg); });
  printer << ')';
  if (!getStateNames().empty()) {
    printer << " state(";
    llvm::interleaveComma(
        llvm::zip(getStates(), getStateNames()), printer, [&](auto pair) {
          printer << std::get<0>(pair) << ' ' << std::get<1>(pair) << ": "
                  << std::get<0>(pair).getType();
        });
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getStateNamesAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void RuleOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  if (region.empty() || region.getNumArguments() < kFirstState)
    return;
  setName(region.getArgument(kWeight), "w");
  setName(region.getArgument(kGradient), "g");
  setName(region.getArgument(kScalars), "h");
  for (auto [state, name] :
       llvm::zip(getStates(), getStateNames().getAsValueRange<StringAttr>()))
    setName(state, name);
}

void ScalarsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getLr(), "lr");
  setName(getWd(), "wd");
  setName(getClip(), "clip");
  setName(getStep(), "t");
}

/// Whether the text can be a name in C and in a checkpoint's tensor names.
static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A state is as large as the weight, or holds one number a row of it.
static bool isStateType(Type type, RankedTensorType weight) {
  return type == weight || type == weight.clone({weight.getDimSize(0), 1});
}

LogicalResult RuleOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() < kFirstState)
    return emitOpError("expected a weight, a gradient and !optim.scalars, but "
                       "got ")
           << block.getNumArguments() << " arguments";
  auto weight = dyn_cast<RankedTensorType>(getWeight().getType());
  if (!weight || weight.getRank() != 2 || !weight.getElementType().isF32())
    return emitOpError("expected the weight to be a tensor of rank 2 of f32, "
                       "but got ")
           << getWeight().getType();
  if (getGradient().getType() != weight)
    return emitOpError("expected the gradient to have the weight's type ")
           << weight << ", but got " << getGradient().getType();
  if (!isa<ScalarsType>(getScalars().getType()))
    return emitOpError("expected the third argument to be !optim.scalars, but "
                       "got ")
           << getScalars().getType();

  if (getStates().size() != getStateNames().size())
    return emitOpError("expected ")
           << getStateNames().size() << " states, one for each name, but got "
           << getStates().size();
  llvm::SmallDenseSet<StringRef> seen;
  for (auto [state, nameAttr] : llvm::zip(getStates(), getStateNames())) {
    StringRef name = cast<StringAttr>(nameAttr).getValue();
    if (!isIdentifier(name))
      return emitOpError("expected the name of a state to be an identifier, "
                         "but got ")
             << nameAttr;
    if (llvm::is_contained({"param", "grad", "update", "step"}, name))
      return emitOpError("expected another name than ")
             << nameAttr << " for a state: it means something else in the "
             << "files of an update";
    if (!seen.insert(name).second)
      return emitOpError("expected states of different names, but ")
             << nameAttr << " is declared twice";
    if (!isStateType(state.getType(), weight))
      return emitOpError("expected state ")
             << nameAttr << " to have the weight's type " << weight
             << " or one column, but got " << state.getType();
  }
  return success();
}

/// The ops that some yielded value is computed from. What is dead does not
/// count: it may be erased.
static llvm::SmallPtrSet<Operation *, 16> getLiveOps(RuleOp rule) {
  llvm::SmallPtrSet<Operation *, 16> live;
  SmallVector<Value> values(rule.getYield()->getOperands());
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    // Of an op with a body, all that the body reads.
    if (op && live.insert(op).second)
      op->walk([&](Operation *inner) {
        live.insert(inner);
        llvm::append_range(values, inner->getOperands());
      });
  }
  return live;
}

/// A state that costs memory and changes nothing is a slip of the pen. Another
/// state, the weight or the gradient are fine as a new value: it is what they
/// were at the step before.
static LogicalResult verifyStates(RuleOp rule) {
  YieldOp yield = rule.getYield();
  llvm::SmallPtrSet<Operation *, 16> live = getLiveOps(rule);
  for (unsigned index = 0; index < rule.getStates().size(); ++index) {
    Value state = rule.getStates()[index];
    OpOperand &next = yield->getOpOperand(1 + index);
    Attribute name = rule.getStateNames()[index];
    if (llvm::none_of(state.getUses(), [&](OpOperand &use) {
          return use.getOwner() == yield ? &use != &next
                                         : live.contains(use.getOwner());
        }))
      return rule.emitOpError("expected the rule to read state ")
             << name << ", which it declares, but no result is computed from "
             << "it";
    if (next.get() == state)
      return yield.emitOpError("expected a new value of state ")
             << name << ", but got the old one: it starts at zero and would "
             << "stay there";
  }
  return success();
}

LogicalResult YieldOp::verify() {
  if (getMeasures().size() != getMeasureNames().size())
    return emitOpError("expected ")
           << getMeasureNames().size()
           << " measures, one for each name, but got " << getMeasures().size();
  llvm::SmallDenseSet<StringRef> seen;
  for (Attribute name : getMeasureNames()) {
    StringRef text = cast<StringAttr>(name).getValue();
    if (!isIdentifier(text))
      return emitOpError("expected the name of a measure to be an identifier, "
                         "but got ")
             << name;
    if (!seen.insert(text).second)
      return emitOpError("expected measures of different names, but ")
             << name << " occurs twice";
  }
  return success();
}

LogicalResult RuleOp::verifyRegions() {
  YieldOp yield = getYield();
  size_t expected = 1 + getStateNames().size();
  if (yield.getValues().size() != expected)
    return yield.emitOpError("expected ")
           << expected << " values, the new weight and " << expected - 1
           << " states, but got " << yield.getValues().size();
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    Type wanted =
        index == 0 ? getWeight().getType() : getStates()[index - 1].getType();
    if (value.getType() == wanted)
      continue;
    InFlightDiagnostic diag = yield.emitOpError("expected ");
    if (index == 0)
      diag << "the new weight";
    else
      diag << "state " << getStateNames()[index - 1];
    return diag << " to have type " << wanted << ", but got "
                << value.getType();
  }
  return verifyStates(*this);
}

//===----------------------------------------------------------------------===//
// SpecOp
//===----------------------------------------------------------------------===//

LogicalResult SpecOp::verify() {
  if (!isIdentifier(getSymName()))
    return emitOpError("expected the name of a spec to be an identifier of C, "
                       "but got '")
           << getSymName() << "'";
  return success();
}

/// Enters `name` of `op`, or says where it occurred before.
static LogicalResult enter(llvm::StringMap<Operation *> &seen, Operation *op,
                           StringRef kind, StringRef name) {
  auto [entry, isNew] = seen.try_emplace(name, op);
  if (isNew)
    return success();
  InFlightDiagnostic diag = op->emitOpError("expected ")
                            << kind << "s of different names, but '" << name
                            << "' occurs twice";
  diag.attachNote(entry->second->getLoc()) << "first here";
  return diag;
}

LogicalResult SpecOp::verifyRegions() {
  llvm::StringMap<Operation *> groups, parameters;
  std::map<std::pair<StringRef, std::pair<int64_t, int64_t>>, Operation *>
      batched;
  for (Operation &op : getBody().front()) {
    LogicalResult result = success();
    if (auto group = dyn_cast<GroupOp>(op))
      result = enter(groups, group, "group", group.getGroupName());
    else if (auto group = dyn_cast<BoundGroupOp>(op))
      result = enter(groups, group, "group", group.getGroupName());
    else if (auto parameter = dyn_cast<ParameterOp>(op))
      result =
          enter(parameters, parameter, "parameter", parameter.getParamName());
    else if (!isa<BatchOp>(op))
      result = op.emitOpError("is not expected in an optim.spec");
    if (failed(result))
      return failure();
  }

  for (auto parameter : getBody().getOps<ParameterOp>()) {
    if (auto group = parameter.getGroup(); group && !groups.contains(*group))
      return parameter.emitOpError("names group @")
             << *group << ", which the spec does not have";
    std::optional<StringRef> owner = parameter.getAliases();
    if (!owner)
      continue;
    auto found = parameters.find(*owner);
    if (found == parameters.end())
      return parameter.emitOpError("aliases '")
             << *owner << "', which is no parameter of the spec";
    auto other = cast<ParameterOp>(found->second);
    if (other.getAliases())
      return parameter.emitOpError("aliases '")
             << *owner << "', which is itself an alias; name the owner of the "
             << "storage, '" << *other.getAliases() << "'";
    if (other.getType() != parameter.getType())
      return parameter.emitOpError("aliases '")
             << *owner << "' and must have its type " << other.getType()
             << ", but has " << parameter.getType();
  }

  for (auto batch : getBody().getOps<BatchOp>())
    for (auto [index, name] :
         llvm::enumerate(batch.getParameters().getAsValueRange<StringAttr>())) {
      if (!parameters.contains(name))
        return batch.emitOpError("names '")
               << name << "', which is no parameter of the spec";
      int64_t row = batch.getFirstRow(index);
      int64_t column = batch.getFirstColumn(index);
      auto [entry, isNew] = batched.try_emplace({name, {row, column}}, batch);
      if (isNew)
        continue;
      InFlightDiagnostic diag = batch.emitOpError("expected each parameter in "
                                                  "one batch, but '")
                                << name << "' is named twice";
      if (row != 0)
        diag << " from row " << row;
      if (column != 0)
        diag << " from column " << column;
      diag.attachNote(entry->second->getLoc()) << "first here";
      return diag;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// GroupOp, BoundGroupOp, ParameterOp, BatchOp
//===----------------------------------------------------------------------===//

/// A rate is a finite number that is not negative.
static LogicalResult verifyRate(Operation *op, StringRef name,
                                const APFloat &value) {
  double number = value.convertToDouble();
  if (value.isFinite() && (!value.isNegative() || value.isZero())) {
    // It is used in f32, where it must be what was asked for.
    if (number == 0 || (number <= std::numeric_limits<float>::max() &&
                        static_cast<float>(number) != 0))
      return success();
    return op->emitOpError("expected ")
           << name << " to be representable in f32, but got "
           << optim::detail::getShortest(number);
  }
  return op->emitOpError("expected a finite ")
         << name << " of at least 0, but got "
         << optim::detail::getShortest(value.convertToDouble());
}

LogicalResult GroupOp::verify() {
  if (failed(verifyRate(*this, "lr", getLr())) ||
      failed(verifyRate(*this, "wd", getWd())))
    return failure();
  if (getPatterns().empty())
    return emitOpError("expected at least one name pattern");
  llvm::SmallDenseSet<StringRef> seen;
  for (auto pattern : getPatterns().getAsValueRange<StringAttr>()) {
    if (pattern.empty())
      return emitOpError("expected name patterns that are not empty");
    if (!seen.insert(pattern).second)
      return emitOpError("has the pattern '") << pattern << "' twice";
  }
  llvm::SmallDenseSet<Attribute> facts;
  if (ArrayAttr list = getFactsAttr())
    for (Attribute fact : list)
      if (!facts.insert(fact).second)
        return emitOpError("states the fact ") << fact << " twice";
  return verifyStructure();
}

LogicalResult GroupOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  Operation *symbol = symbolTable.lookupNearestSymbolFrom(*this, getRuleAttr());
  if (!symbol)
    return emitOpError("uses rule ")
           << getRuleAttr() << ", which is not defined";
  if (isa<RuleOp>(symbol))
    return success();
  InFlightDiagnostic diag = emitOpError("uses ")
                            << getRuleAttr() << ", which is no optim.rule";
  diag.attachNote(symbol->getLoc()) << "defined here";
  return diag;
}

LogicalResult BoundGroupOp::verify() {
  if (failed(verifyRate(*this, "lr", getLr())))
    return failure();
  return verifyRate(*this, "wd", getWd());
}

LogicalResult ParameterOp::verify() {
  if (getParamName().empty())
    return emitOpError("expected a name that is not empty");
  if (!cast<RankedTensorType>(getType()).hasStaticShape())
    return emitOpError("expected a static shape for '")
           << getParamName() << "', but got " << getType();
  if (getAliases() == getParamName())
    return emitOpError("'") << getParamName() << "' aliases itself";
  return success();
}

LogicalResult BatchOp::verify() {
  if (getParameters().empty())
    return emitOpError("expected at least one parameter");
  if (getMeasures() && getMeasures()->empty())
    return emitOpError("expected at least one measure");
  for (auto [firsts, unit] : {std::pair(getRowsAttr(), "row"),
                              std::pair(getColumnsAttr(), "column")}) {
    if (!firsts)
      continue;
    if (firsts.size() != int64_t(getParameters().size()))
      return emitOpError("expected a ")
             << unit << " for each of " << getParameters().size()
             << " parameters, but got " << firsts.size();
    for (int64_t first : firsts.asArrayRef())
      if (first < 0)
        return emitOpError("expected ")
               << unit << "s of at least 0, but got " << first;
  }
  return success();
}
