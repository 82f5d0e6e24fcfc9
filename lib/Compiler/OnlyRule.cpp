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

/// The groups that use the rule; all promise the same facts.
static llvm::Expected<SmallVector<optim::GroupOp>>
groupsUsing(optim::SpecOp spec, StringRef rule) {
  SmallVector<optim::GroupOp> users;
  for (auto group : spec.getOps<optim::GroupOp>())
    if (group.getRule() == rule)
      users.push_back(group);
  if (users.empty())
    return llvm::createStringError("expected a group that uses rule @" + rule +
                                   ", for its learning rate and facts");
  for (optim::GroupOp group : users)
    if (group.getFactsAttr() != users[0].getFactsAttr())
      return llvm::createStringError(
          "groups @" + users[0].getGroupName() + " and @" +
          group.getGroupName() + " use rule @" + rule +
          " with different facts, so it is not one rule");
  return users;
}

Error keepOnlyRule(optim::SpecOp spec, StringRef rule) {
  auto module = cast<ModuleOp>(spec->getParentOp());
  SmallVector<optim::RuleOp> rules(module.getOps<optim::RuleOp>());
  if (llvm::none_of(rules,
                    [&](optim::RuleOp op) { return op.getSymName() == rule; }))
    return llvm::createStringError(
        "expected one of its rules (" +
        llvm::join(llvm::map_range(
                       rules, [](optim::RuleOp op) { return op.getSymName(); }),
                   ", ") +
        "), got '" + rule + "'");
  auto users = groupsUsing(spec, rule);
  if (!users)
    return users.takeError();
  optim::GroupOp kept = users->front();
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
