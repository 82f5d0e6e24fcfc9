//===- OnlyRule.cpp - one rule of a spec for every parameter --------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/OnlyRule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using llvm::Error;

namespace steepc {

static bool haveOneStructure(optim::GroupOp a, optim::GroupOp b) {
  return a.getSplitAttr() == b.getSplitAttr() &&
         a.getPerHeadAttr() == b.getPerHeadAttr() &&
         a.getAxis().value_or(0) == b.getAxis().value_or(0) &&
         a.getStacked() == b.getStacked() &&
         a.getConvolution() == b.getConvolution();
}

/// The group of that name, which must use the rule.
static llvm::Expected<optim::GroupOp>
groupNamed(optim::SpecOp spec, StringRef rule, StringRef name) {
  std::string users;
  for (auto group : spec.getOps<optim::GroupOp>()) {
    if (group.getRule() != rule)
      continue;
    if (group.getGroupName() == name)
      return group;
    users += (users.empty() ? "" : ", ") + group.getGroupName().str();
  }
  return llvm::createStringError(
      users.empty() ? "no group uses rule @" + rule +
                          ", but --only-group is '" + name + "'"
                    : "expected --only-group to be one of those that use rule "
                      "@" +
                          rule + " (" + users + "), got '" + name + "'");
}

/// The group that uses the rule, which gets every parameter. Where several
/// do, all have one structure and promise the same facts; where none does, it
/// is one without rates.
static llvm::Expected<optim::GroupOp> groupUsing(optim::SpecOp spec,
                                                 optim::RuleOp rule) {
  optim::GroupOp user;
  StringRef name = rule.getSymName();
  for (auto group : spec.getOps<optim::GroupOp>()) {
    if (group.getRule() != name)
      continue;
    if (user && group.getFactsAttr() != user.getFactsAttr())
      return llvm::createStringError(
          "groups @" + user.getGroupName() + " and @" + group.getGroupName() +
          " use rule @" + name +
          " with different facts; expected --only-group to say which");
    if (user && !haveOneStructure(user, group))
      return llvm::createStringError(
          "groups @" + user.getGroupName() + " and @" + group.getGroupName() +
          " use rule @" + name +
          " on different structures; expected --only-group to say which");
    if (!user)
      user = group;
  }
  if (user)
    return user;
  OpBuilder builder = OpBuilder::atBlockBegin(&spec.getBody().front());
  return optim::GroupOp::create(builder, rule.getLoc(), name,
                                builder.getArrayAttr({}), name, APFloat(0.0),
                                APFloat(0.0), /*facts=*/ArrayAttr(),
                                /*split=*/DenseI64ArrayAttr(),
                                /*per_head=*/IntegerAttr(),
                                /*axis=*/IntegerAttr(), /*stacked=*/false,
                                /*convolution=*/false);
}

Error keepOnlyRule(optim::SpecOp spec, StringRef rule, StringRef only) {
  auto module = cast<ModuleOp>(spec->getParentOp());
  SmallVector<optim::RuleOp> rules(module.getOps<optim::RuleOp>());
  auto found = llvm::find_if(
      rules, [&](optim::RuleOp op) { return op.getSymName() == rule; });
  if (found == rules.end())
    return llvm::createStringError(
        "expected one of its rules (" +
        llvm::join(llvm::map_range(
                       rules, [](optim::RuleOp op) { return op.getSymName(); }),
                   ", ") +
        "), got '" + rule + "'");
  auto group =
      only.empty() ? groupUsing(spec, *found) : groupNamed(spec, rule, only);
  if (!group)
    return group.takeError();
  optim::GroupOp kept = *group;
  kept.setPatternsAttr(Builder(spec.getContext()).getStrArrayAttr({"*"}));
  for (auto group : llvm::make_early_inc_range(spec.getOps<optim::GroupOp>()))
    if (group != kept)
      group.erase();
  for (optim::RuleOp op : rules)
    if (op.getSymName() != rule)
      op.erase();
  spec.removeScheduleAttr();
  spec.removeClipAttr();
  return Error::success();
}

} // namespace steepc
