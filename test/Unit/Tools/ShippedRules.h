//===- ShippedRules.h - the rules of the shipped specs ----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rules in specs/ mean, in float64, by lib/Reference. The specs are
// those that the folder holds: one that is added there fails the tests of every
// device until its rules are added here.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_TOOLS_SHIPPEDRULES_H
#define STEEP_TEST_UNIT_TOOLS_SHIPPEDRULES_H

#include "lib/Reference/Reference.h"

#include <functional>
#include <string>
#include <vector>

namespace steep::test {

/// What an update leaves behind; states in the order of the rule.
struct Updated {
  reference::Matrix weight, increment;
  std::vector<reference::Matrix> states;
};

/// The new weight from the old one, its gradient and states.
using Rule = std::function<Updated(
    const reference::Matrix &, const reference::Matrix &,
    const std::vector<reference::Matrix> &, const reference::Scalars &)>;

/// A rule of a shipped spec.
struct ShippedRule {
  std::string spec; ///< "paper", without folder and ending
  std::string name; ///< "muon"
  std::string text; ///< of the rule itself
  /// Its group says that columns of the gradient sum to zero.
  bool hasZeroColumnSum;
};

/// "paper" and so on, for all files of the folder specs/, sorted.
std::vector<std::string> listSpecs();

/// The rules of a spec, or of all specs.
std::vector<ShippedRule> listRules(const std::string &spec);
std::vector<ShippedRule> listRules();

/// What a rule does; an empty function where nobody has said so.
Rule findRule(const std::string &spec, const std::string &name);

/// Whether the rule's numbers need gradients of a falling spectrum: it looks
/// for singular pairs, which a Gaussian matrix does not keep apart.
bool needsSpectrum(const std::string &spec, const std::string &name);

} // namespace steep::test

#endif // STEEP_TEST_UNIT_TOOLS_SHIPPEDRULES_H
