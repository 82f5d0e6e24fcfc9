//===- BindParameters.cpp - give every parameter its group ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Geo/Geo.h"
#include "dialects/Optim/Optim.h"
#include "passes/Optim/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::optim {
#define GEN_PASS_DEF_BINDPARAMETERS
#include "passes/Optim/Passes.h.inc"
} // namespace mlir::optim

using namespace mlir;
using namespace mlir::optim;

/// Whether the whole of `name` matches `pattern`, in which `*` stands for any
/// characters. Only the last `*` need be tried again: whatever an earlier one
/// could take, the last one can take too. So this is linear in space and at
/// most quadratic in time, whatever the pattern.
static bool matches(StringRef pattern, StringRef name) {
  size_t p = 0, n = 0, star = StringRef::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != StringRef::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return pattern.drop_front(p).find_first_not_of('*') == StringRef::npos;
}

/// The pattern of the group that matches, or nothing.
static std::optional<StringRef> findMatch(GroupOp group, StringRef name) {
  for (auto pattern : group.getPatterns().getAsValueRange<StringAttr>())
    if (matches(pattern, name))
      return pattern;
  return std::nullopt;
}

/// Whether a rule computes with one of its scalars.
static bool uses(RuleOp rule, Value (*scalar)(ScalarsOp)) {
  return llvm::any_of(rule.getBody().getOps<ScalarsOp>(),
                      [&](ScalarsOp op) { return !scalar(op).use_empty(); });
}

/// Whether a number is computed from the clip factor.
static bool isClip(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.getType().isIntOrFloat())
    return false;
  if (auto scalars = dyn_cast<ScalarsOp>(op))
    return value == scalars.getClip();
  return llvm::any_of(op->getOperands(), isClip);
}

/// Whether the clip factor comes in here, or would change nothing: the answer
/// of an oracle without eps does not depend on the size of what it is fed.
static bool absorbsClip(Operation *op) {
  auto oracle = dyn_cast<geo::GeometryOpInterface>(op);
  return (oracle && oracle.isHomogeneous()) ||
         llvm::any_of(op->getOperands(), isClip);
}

/// The op that takes the gradient without the clip factor, on a way from the
/// gradient to a weight or state that the factor does not come into; null where
/// there is none.
static Operation *findUnclipped(RuleOp rule) {
  YieldOp yield = rule.getYield();
  SetVector<Operation *> reached;
  auto follow = [&](ValueRange values, Operation *by) -> Operation * {
    for (Value value : values) {
      if (value == rule.getGradient())
        return by;
      Operation *op = value.getDefiningOp();
      if (op && !absorbsClip(op))
        reached.insert(op);
    }
    return nullptr;
  };
  if (Operation *found = follow(yield.getValues(), yield))
    return found;
  for (size_t i = 0; i < reached.size(); ++i) // grows as it is walked
    if (Operation *found = follow(reached[i]->getOperands(), reached[i]))
      return found;
  return nullptr;
}

namespace {
class Binder {
public:
  explicit Binder(SpecOp spec)
      : spec(spec), groups(spec.getBody().getOps<GroupOp>()),
        parameters(spec.getBody().getOps<ParameterOp>()) {}

  LogicalResult run();
  size_t size() const { return parameters.size(); }

private:
  LogicalResult bind(ParameterOp parameter);
  LogicalResult reportUnmatched() const;
  static LogicalResult checkMatrix(ParameterOp parameter, GroupOp group);
  LogicalResult checkAlias(ParameterOp parameter) const;
  LogicalResult checkPatterns(GroupOp group);
  LogicalResult checkScalars(GroupOp group) const;

  SpecOp spec;
  SmallVector<GroupOp> groups;
  SmallVector<ParameterOp> parameters;
  SmallVector<ParameterOp> unmatched;
  /// The group of each parameter that has one so far.
  llvm::StringMap<GroupOp> groupOf;
};
} // namespace

/// Finds the one group of a parameter; none at all is left for
/// reportUnmatched, so that one message can name all of them.
LogicalResult Binder::bind(ParameterOp parameter) {
  StringRef name = parameter.getParamName();
  GroupOp found;
  StringRef foundPattern;
  for (GroupOp group : groups) {
    std::optional<StringRef> pattern = findMatch(group, name);
    if (!pattern)
      continue;
    if (found)
      return parameter.emitOpError("'")
             << name << "' is matched by two groups: @" << found.getGroupName()
             << " (\"" << foundPattern << "\") and @" << group.getGroupName()
             << " (\"" << *pattern << "\")";
    found = group;
    foundPattern = *pattern;
  }
  if (!found) {
    unmatched.push_back(parameter);
    return success();
  }
  if (auto given = parameter.getGroup();
      given && *given != found.getGroupName())
    return parameter.emitOpError("'")
           << name << "' is put in group @" << *given
           << ", but its name is matched by group @" << found.getGroupName();
  groupOf[name] = found;
  parameter.setGroup(found.getGroupName());
  return checkMatrix(parameter, found);
}

LogicalResult Binder::reportUnmatched() const {
  if (unmatched.empty())
    return success();
  constexpr size_t shown = 4;
  ParameterOp first = unmatched.front();
  InFlightDiagnostic diag = first.emitOpError("'")
                            << first.getParamName()
                            << "' is matched by no group";
  ArrayRef<ParameterOp> others = ArrayRef(unmatched).drop_front();
  if (!others.empty())
    diag << "; neither are ";
  llvm::interleaveComma(others.take_front(shown), diag,
                        [&](ParameterOp parameter) {
                          diag << "'" << parameter.getParamName() << "'";
                        });
  if (others.size() > shown)
    diag << " and " << others.size() - shown << " more";
  diag << " (groups:";
  for (GroupOp group : groups)
    diag << " @" << group.getGroupName() << " " << group.getPatterns();
  return diag << ")";
}

LogicalResult Binder::checkMatrix(ParameterOp parameter, GroupOp group) {
  auto type = cast<RankedTensorType>(parameter.getType());
  auto fail = [&]() -> InFlightDiagnostic {
    return parameter.emitOpError("'")
           << parameter.getParamName() << "' in group @" << group.getGroupName()
           << " has type " << type << ", but ";
  };
  if (!type.getElementType().isF32())
    return fail() << "rules work on f32";
  return group.getBlocks(type, fail);
}

LogicalResult Binder::checkAlias(ParameterOp parameter) const {
  std::optional<StringRef> owner = parameter.getAliases();
  if (!owner)
    return success();
  GroupOp group = groupOf.lookup(parameter.getParamName());
  GroupOp other = groupOf.lookup(*owner);
  auto fail = [&]() -> InFlightDiagnostic {
    return parameter.emitOpError("'")
           << parameter.getParamName() << "' shares its storage with '"
           << *owner << "', but ";
  };
  if (group != other)
    return fail() << "they are in groups @" << group.getGroupName() << " and @"
                  << other.getGroupName()
                  << "; tied weights are updated by one rule";
  if (group.getFacts())
    return fail() << "group @" << group.getGroupName()
                  << " states facts that tied weights do not have";
  return success();
}

/// A pattern that matches nothing beside one that does is a misspelt name.
LogicalResult Binder::checkPatterns(GroupOp group) {
  for (auto pattern : group.getPatterns().getAsValueRange<StringAttr>())
    if (llvm::none_of(parameters, [&](ParameterOp parameter) {
          return matches(pattern, parameter.getParamName());
        }))
      return group.emitOpError("@") << group.getGroupName() << ": pattern \""
                                    << pattern << "\" matches no parameter";
  return success();
}

/// What a group or a trainer sets must reach the update: a decay that does
/// nothing is a mistake, not a default, and the clip factor also carries the
/// trainer's gradient scale. The rate is another matter: rules without one
/// exist.
LogicalResult Binder::checkScalars(GroupOp group) const {
  auto rule =
      SymbolTable::lookupNearestSymbolFrom<RuleOp>(spec, group.getRuleAttr());
  auto fail = [&](StringRef what) -> InFlightDiagnostic {
    return group.emitOpError("@")
           << group.getGroupName() << what << " @" << group.getRule();
  };
  auto wd = [](ScalarsOp op) -> Value { return op.getWd(); };
  auto clip = [](ScalarsOp op) -> Value { return op.getClip(); };
  if (!group.getWd().isZero() && !uses(rule, wd))
    return fail(" has a weight decay, but rule") << " does not use it";
  Operation *unclipped = findUnclipped(rule);
  if (!unclipped && uses(rule, clip))
    return success();
  InFlightDiagnostic diag =
      fail(" would be neither clipped nor scaled: expected rule")
      << " to multiply its gradient by the clip factor, the third result of "
         "optim.scalars, as in geo.scale %g, %clip";
  if (unclipped)
    diag.attachNote(unclipped->getLoc())
        << "the gradient comes in here without it";
  return diag;
}

LogicalResult Binder::run() {
  if (parameters.empty())
    return spec.emitOpError("@")
           << spec.getSymName() << " has no parameters to bind";
  for (ParameterOp parameter : parameters)
    if (failed(bind(parameter)))
      return failure();
  if (failed(reportUnmatched()))
    return failure();
  for (ParameterOp parameter : parameters)
    if (failed(checkAlias(parameter)))
      return failure();

  llvm::SmallDenseSet<StringRef> used;
  for (ParameterOp parameter : parameters)
    used.insert(*parameter.getGroup());
  for (GroupOp group : groups) {
    if (!used.contains(group.getGroupName()))
      return group.emitOpError("@")
             << group.getGroupName() << " matches no parameter, with patterns "
             << group.getPatterns();
    if (failed(checkPatterns(group)))
      return failure();
  }
  for (GroupOp group : groups)
    if (failed(checkScalars(group)))
      return failure();
  return success();
}

namespace {
struct BindParametersPass
    : optim::impl::BindParametersBase<BindParametersPass> {
  using Base::Base;

  void runOnOperation() override {
    SpecOp first;
    for (auto spec : getOperation().getOps<SpecOp>()) {
      if (first) {
        spec.emitOpError("expected one spec in a module, but '")
            << spec.getSymName() << "' comes after '" << first.getSymName()
            << "'";
        return signalPassFailure();
      }
      first = spec;
    }
    // A module without a spec, or with one that is bound, is left alone.
    if (!first || !first.getBody().getOps<BoundGroupOp>().empty())
      return;
    Binder binder(first);
    if (failed(binder.run()))
      return signalPassFailure();
    numBound += binder.size();
  }
};
} // namespace
