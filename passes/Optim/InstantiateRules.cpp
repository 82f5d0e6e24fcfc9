//===- InstantiateRules.cpp - rules as functions on static shapes ---------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Roles.h"
#include "passes/Optim/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace mlir::optim {
#define GEN_PASS_DEF_INSTANTIATERULES
#include "passes/Optim/Passes.h.inc"
} // namespace mlir::optim

using namespace mlir;
using namespace mlir::optim;

//===----------------------------------------------------------------------===//
// What is asked of a rule
//===----------------------------------------------------------------------===//

/// The op that makes the new weight: what it adds is the increment.
static geo::ApplyOp getApply(RuleOp rule) {
  return rule.getYield().getValues().front().getDefiningOp<geo::ApplyOp>();
}

/// An update has one increment, the one that measurements see, so the new
/// weight must be the old one and that increment.
static LogicalResult checkRule(RuleOp rule) {
  geo::ApplyOp apply = getApply(rule);
  if (!apply || apply.getWeight() != rule.getWeight())
    return rule.emitOpError("@")
           << rule.getSymName() << " expected to yield, as the new weight, a "
           << "geo.apply to the weight that it is given";
  for (Operation &op : rule.getBody().front().without_terminator()) {
    if (isa<geo::ApplyOp>(op) && &op != apply)
      return op.emitOpError("is the second of rule @")
             << rule.getSymName() << ": expected one increment an update";
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("has side effects, which rule @")
             << rule.getSymName() << " cannot have";
  }
  return success();
}

/// How a state is averaged: checkpoints of one convention are not those of
/// another.
struct Average {
  StringRef convention = "other";
  FloatAttr beta = {}; ///< none: there is not one constant
};

static Average getAverage(BlockArgument state, Value update) {
  Operation *op = update.getDefiningOp();
  if (auto ema = dyn_cast_or_null<geo::EmaOp>(op))
    if (ema.getBuffer() == state)
      return {"ema", ema.getBetaAttr()};
  if (auto ema = dyn_cast_or_null<geo::SwitchedEmaOp>(op))
    if (ema.getBuffer() == state)
      return {"ema"};
  if (auto momentum = dyn_cast_or_null<geo::MomentumOp>(op))
    if (momentum.getBuffer() == state && momentum.getResult() == update)
      return {"sum", momentum.getBetaAttr()};
  if (auto adamw = dyn_cast_or_null<geo::AdamWOp>(op))
    return {"adam", cast<OpResult>(update).getResultNumber() == 1
                        ? adamw.getBeta1Attr()
                        : adamw.getBeta2Attr()};
  return {};
}

//===----------------------------------------------------------------------===//
// Cloning with static shapes
//===----------------------------------------------------------------------===//

/// The type on a weight of this shape: the weight's size where it is unknown.
static RankedTensorType getStaticType(Type type, RankedTensorType weight) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, known] : llvm::zip_equal(shape, weight.getShape()))
    if (ShapedType::isDynamic(size))
      size = known;
  return tensor.clone(shape);
}

/// Gives a clone, whose operands are static, static results: those it infers,
/// else the shape of the weight for every matrix of unknown size. What sizes
/// an op serves is then known to its verifier.
static LogicalResult makeStatic(Operation *op, RankedTensorType weight) {
  if (auto inferring = dyn_cast<InferTypeOpInterface>(op)) {
    SmallVector<Type> types;
    if (failed(inferring.inferReturnTypes(
            op->getContext(), op->getLoc(), op->getOperands(),
            op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
            op->getRegions(), types)))
      return op->emitOpError("has no types for an update of ") << weight;
    for (auto [result, type] : llvm::zip(op->getResults(), types))
      result.setType(type);
  }
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (type && type.getRank() == 2 && !type.hasStaticShape())
      result.setType(getStaticType(type, weight));
  }
  return verify(op);
}

namespace {
/// What distinguishes one instance of a rule from another.
struct InstanceKey {
  Operation *rule;
  Type weight;
  Attribute facts; ///< null without facts
  bool operator<(const InstanceKey &other) const {
    auto tie = [](const InstanceKey &key) {
      return std::make_tuple(key.rule, key.weight.getAsOpaquePointer(),
                             key.facts.getAsOpaquePointer());
    };
    return tie(*this) < tie(other);
  }
};

/// Null where the rule measures nothing: the measured functions.
struct Instance {
  func::FuncOp step, update, measured, measuredUpdate;
};

/// What a function gives besides the weight and the states.
struct Extras {
  bool update = false, measures = false;
};

/// Makes functions at the end of the module.
class Instantiator {
public:
  explicit Instantiator(ModuleOp module)
      : builder(OpBuilder::atBlockEnd(module.getBody())), table(module) {}

  /// The functions for a group's rule on one type, made when first asked for.
  FailureOr<Instance> getInstance(RuleOp rule, RankedTensorType weight,
                                  GroupOp group);
  func::FuncOp getSquares(Location loc, RankedTensorType gradient);
  size_t size() const { return instances.size(); }

private:
  std::string makeName(RuleOp rule, RankedTensorType weight) const;
  SmallVector<DictionaryAttr> getArgumentAttrs(RuleOp rule, GroupOp group);
  FailureOr<func::FuncOp> makeFunction(StringRef name, RuleOp rule,
                                       RankedTensorType weight, GroupOp group,
                                       Extras extras);

  OpBuilder builder;
  SymbolTable table;
  std::map<InstanceKey, Instance> instances;
  DenseMap<Type, func::FuncOp> squares;
};
} // namespace

/// What the names of an instance's functions end in.
static constexpr StringLiteral functionSuffixes[] = {"", "_update", "_measured",
                                                     "_update_measured"};

static std::string getShapeName(RankedTensorType type) {
  return std::to_string(type.getDimSize(0)) + "x" +
         std::to_string(type.getDimSize(1));
}

/// RULE_MxN, with a number behind where that is taken (by the same rule on the
/// same shape with other facts, or by the user).
std::string Instantiator::makeName(RuleOp rule, RankedTensorType weight) const {
  std::string base = (rule.getSymName() + "_" + getShapeName(weight)).str();
  std::string name = base;
  for (unsigned i = 2; llvm::any_of(
           functionSuffixes,
           [&](StringRef suffix) { return table.lookup(name + suffix.str()); });
       ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

/// Facts of `list` about the argument that `isAbout` recognises.
template <typename... FactAttrs>
static void addFacts(Builder &builder, ArrayAttr list,
                     DictionaryAttr &attributes) {
  SmallVector<Attribute> facts;
  if (list)
    llvm::copy_if(list, std::back_inserter(facts), llvm::IsaPred<FactAttrs...>);
  if (facts.empty())
    return;
  NamedAttrList extended(attributes);
  extended.set(geo::GeoDialect::factsAttrName, builder.getArrayAttr(facts));
  attributes = extended.getDictionary(builder.getContext());
}

SmallVector<DictionaryAttr> Instantiator::getArgumentAttrs(RuleOp rule,
                                                           GroupOp group) {
  SmallVector<DictionaryAttr> attributes{getRole(builder, "weight"),
                                         getRole(builder, "gradient")};
  ArrayAttr facts = group.getFactsAttr();
  addFacts<geo::ShiftInvariantAttr>(builder, facts, attributes[0]);
  addFacts<geo::ZeroColumnSumAttr>(builder, facts, attributes[1]);
  for (auto [state, name, update] :
       llvm::zip(rule.getStates(), rule.getStateNames(),
                 rule.getYield().getValues().drop_front())) {
    Average average = getAverage(state, update);
    NamedAttrList list;
    if (average.beta)
      list.set(kBetaAttr, average.beta);
    list.set(kConventionAttr, builder.getStringAttr(average.convention));
    list.set(kRoleAttr, builder.getStringAttr("state"));
    list.set(kStateAttr, name);
    attributes.push_back(list.getDictionary(builder.getContext()));
  }
  for (StringRef role : {"lr", "wd", "clip", "step"})
    attributes.push_back(getRole(builder, role));
  return attributes;
}

/// Clones the rule into a function of its own.
FailureOr<func::FuncOp> Instantiator::makeFunction(StringRef name, RuleOp rule,
                                                   RankedTensorType weight,
                                                   GroupOp group,
                                                   Extras extras) {
  OpBuilder::InsertionGuard guard(builder);
  size_t states = rule.getStates().size();
  // Weight, gradient, states; then lr, wd, clip, step.
  SmallVector<Type> inputs(2, weight), results(1, weight);
  for (BlockArgument state : rule.getStates()) {
    inputs.push_back(getStaticType(state.getType(), weight));
    results.push_back(inputs.back());
  }
  inputs.append(3, builder.getF32Type());
  inputs.push_back(builder.getI64Type());
  SmallVector<DictionaryAttr> resultAttrs(results.size(),
                                          getRole(builder, "state"));
  resultAttrs.front() = getRole(builder, "weight");
  if (extras.update) {
    results.push_back(weight);
    resultAttrs.push_back(getRole(builder, "update"));
  }
  OperandRange measures = rule.getYield().getMeasures();
  if (extras.measures) {
    llvm::append_range(results, measures.getTypes());
    resultAttrs.append(measures.size(), getRole(builder, "measure"));
  }

  auto function = func::FuncOp::create(
      builder, rule.getLoc(), name, builder.getFunctionType(inputs, results));
  function.setAllArgAttrs(getArgumentAttrs(rule, group));
  function.setAllResultAttrs(resultAttrs);
  function->setAttr(kRuleAttr, rule.getSymNameAttr());
  function->setAttr(kCountAttr, builder.getI64IntegerAttr(1));

  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(rule.getWeight(), body->getArgument(0));
  mapping.map(rule.getGradient(), body->getArgument(1));
  mapping.map(rule.getStates(), body->getArguments().slice(2, states));
  for (Operation &op : rule.getBody().front().without_terminator()) {
    if (auto scalars = dyn_cast<ScalarsOp>(op)) {
      mapping.map(scalars->getResults(), body->getArguments().take_back(4));
      continue;
    }
    if (failed(makeStatic(builder.clone(op, mapping), weight)))
      return failure();
  }
  SmallVector<Value> values;
  for (Value value : rule.getYield().getValues())
    values.push_back(mapping.lookup(value));
  if (extras.update)
    values.push_back(mapping.lookup(getApply(rule).getIncrement()));
  if (extras.measures)
    for (Value measure : measures)
      values.push_back(mapping.lookup(measure));
  func::ReturnOp::create(builder, rule.getYield().getLoc(), values);
  table.insert(function);
  return function;
}

FailureOr<Instance>
Instantiator::getInstance(RuleOp rule, RankedTensorType weight, GroupOp group) {
  auto [entry, isNew] =
      instances.try_emplace({rule, weight, group.getFactsAttr()});
  if (!isNew)
    return entry->second;
  std::string name = makeName(rule, weight);
  auto make = [&](StringRef suffix, Extras extras, func::FuncOp &function) {
    auto made =
        makeFunction((name + suffix).str(), rule, weight, group, extras);
    function = succeeded(made) ? *made : func::FuncOp();
    return made;
  };
  Instance &made = entry->second;
  if (failed(make("", {}, made.step)) ||
      failed(make("_update", {/*update=*/true, false}, made.update)))
    return failure();
  if (!rule.getYield().getMeasures().empty() &&
      (failed(make("_measured", {false, true}, made.measured)) ||
       failed(make("_update_measured", {true, true}, made.measuredUpdate))))
    return failure();
  return made;
}

func::FuncOp Instantiator::getSquares(Location loc, RankedTensorType gradient) {
  func::FuncOp &function = squares[gradient];
  if (function)
    return function;
  OpBuilder::InsertionGuard guard(builder);
  auto rows =
      RankedTensorType::get({gradient.getDimSize(0)}, builder.getF64Type());
  function =
      func::FuncOp::create(builder, loc, "squares_" + getShapeName(gradient),
                           builder.getFunctionType(gradient, rows));
  function.setArgAttr(0, kRoleAttr, builder.getStringAttr("gradient"));
  function.setResultAttr(0, kRoleAttr, builder.getStringAttr("squares"));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Value sums =
      geo::RowSquaresOp::create(builder, loc, rows, body->getArgument(0));
  func::ReturnOp::create(builder, loc, sums);
  table.insert(function);
  return function;
}

//===----------------------------------------------------------------------===//
// The spec
//===----------------------------------------------------------------------===//

/// A fact must have an argument to stand on, else it would be lost in silence.
static LogicalResult checkFacts(GroupOp group) {
  if (ArrayAttr facts = group.getFactsAttr())
    for (Attribute fact : facts)
      if (!isa<geo::ShiftInvariantAttr, geo::ZeroColumnSumAttr>(fact))
        return group.emitOpError("@")
               << group.getGroupName() << " states " << fact
               << ", which is no fact about a weight or a gradient";
  return success();
}

/// One batch for every matrix that the parameter is to its rule.
static LogicalResult addBatches(ParameterOp parameter, GroupOp group,
                                RuleOp rule, Instantiator &instantiator,
                                OpBuilder &builder) {
  auto type = cast<RankedTensorType>(parameter.getType());
  auto expected = cast<RankedTensorType>(rule.getWeight().getType());
  auto fail = [&]() -> InFlightDiagnostic {
    return parameter.emitOpError("'")
           << parameter.getParamName() << "' has type " << type << ", but ";
  };
  auto refuse = [&]() -> LogicalResult {
    return fail() << "rule @" << rule.getSymName() << " of group @"
                  << group.getGroupName() << " updates " << expected;
  };
  if (!type.getElementType().isF32())
    return refuse();
  FailureOr<SmallVector<MatrixBlock>> blocks = group.getBlocks(type, fail);
  if (failed(blocks))
    return failure();
  bool cutsColumns = llvm::any_of(
      *blocks, [](const MatrixBlock &block) { return block.column != 0; });
  for (const MatrixBlock &block : *blocks) {
    auto weight = type.clone({block.rows, block.columns});
    if (failed(verifyCompatibleShape(expected, weight)))
      return refuse();
    if (parameter.getAliases())
      continue;
    FailureOr<Instance> instance = failure();
    {
      // Rules know no parameters: what their ops cannot serve says which.
      ScopedDiagnosticHandler name(
          parameter.getContext(), [&](Diagnostic &diagnostic) {
            diagnostic << "; parameter '" << parameter.getParamName() << "'";
            return failure();
          });
      instance = instantiator.getInstance(rule, weight, group);
    }
    if (failed(instance))
      return failure();
    func::FuncOp squares = instantiator.getSquares(parameter.getLoc(), weight);
    auto batch = BatchOp::create(
        builder, parameter.getLoc(), instance->step.getSymName(),
        instance->update.getSymName(), squares.getSymName(),
        builder.getArrayAttr(parameter.getParamNameAttr()), DenseI64ArrayAttr(),
        DenseI64ArrayAttr(), FlatSymbolRefAttr(), FlatSymbolRefAttr(),
        ArrayAttr(), /*refresh=*/FlatSymbolRefAttr());
    if (instance->measured) {
      batch.setMeasured(instance->measured.getSymName());
      batch.setMeasuredUpdate(instance->measuredUpdate.getSymName());
      batch.setMeasuresAttr(rule.getYield().getMeasureNames());
    }
    if (blocks->size() > 1)
      batch.setRows(ArrayRef<int64_t>{block.row});
    if (cutsColumns)
      batch.setColumns(ArrayRef<int64_t>{block.column});
  }
  return success();
}

/// Instantiates what the spec's parameters need and rewrites its groups.
static LogicalResult instantiate(SpecOp spec, Instantiator &instantiator) {
  llvm::MapVector<StringRef, std::pair<GroupOp, RuleOp>> groups;
  for (auto group : spec.getBody().getOps<GroupOp>()) {
    auto rule =
        SymbolTable::lookupNearestSymbolFrom<RuleOp>(spec, group.getRuleAttr());
    if (failed(checkRule(rule)) || failed(checkFacts(group)))
      return failure();
    groups[group.getGroupName()] = {group, rule};
  }

  OpBuilder builder = OpBuilder::atBlockEnd(&spec.getBody().front());
  for (auto parameter : llvm::to_vector(spec.getBody().getOps<ParameterOp>())) {
    auto found = parameter.getGroup() ? groups.find(*parameter.getGroup())
                                      : groups.end();
    if (found == groups.end())
      return parameter.emitOpError("'")
             << parameter.getParamName()
             << "' has no group: expected optim-bind-parameters to run first";
    auto [group, rule] = found->second;
    if (failed(addBatches(parameter, group, rule, instantiator, builder)))
      return failure();
  }

  for (auto &[name, pair] : groups) {
    GroupOp group = pair.first;
    builder.setInsertionPoint(group);
    BoundGroupOp::create(builder, group.getLoc(), group.getGroupName(),
                         group.getRule(), group.getLr(), group.getWd());
  }
  for (auto &[name, pair] : groups)
    pair.first.erase();
  return success();
}

namespace {
struct InstantiateRulesPass
    : optim::impl::InstantiateRulesBase<InstantiateRulesPass> {
  using Base::Base;

  void runOnOperation() override {
    Instantiator instantiator(getOperation());
    for (auto spec : getOperation().getOps<SpecOp>())
      // One that is instantiated already has bound groups only.
      if (spec.getBody().getOps<BoundGroupOp>().empty() &&
          failed(instantiate(spec, instantiator)))
        return signalPassFailure();
    for (auto rule : llvm::to_vector(getOperation().getOps<RuleOp>()))
      rule.erase();
    numInstances += instantiator.size();
  }
};
} // namespace
