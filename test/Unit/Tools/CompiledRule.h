//===- CompiledRule.h - one rule, compiled and run by a test ----*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule given as text goes through the whole compiler and is run as a trainer
// runs it, so that its numbers can be set beside lib/Reference's.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_TOOLS_COMPILEDRULE_H
#define STEEP_TEST_UNIT_TOOLS_COMPILEDRULE_H

#include "runtime/Core/Files.h"
#include "test/Unit/Tools/CompiledSpec.h"

namespace steep::test {

/// A rule `%w, %g, %h` with states of these names. The body sees %lr, %wd,
/// %clip, %t, the gradient %g, a state under its name, and ends with its own
/// optim.yield. Where it does not name the clip factor, %g is scaled already.
inline std::string makeRule(const std::vector<std::string> &states,
                            const std::string &body) {
  const bool clips = body.find("%clip") != std::string::npos;
  std::string text = fmt::format("optim.rule @rule(%w: tensor<?x?xf32>, "
                                 "%{}: tensor<?x?xf32>, %h: !optim.scalars)",
                                 clips ? "g" : "raw");
  for (std::size_t i = 0; i < states.size(); ++i)
    text += fmt::format("{}%{} \"{}\": tensor<?x?xf32>",
                        i == 0 ? " state(" : ", ", states[i], states[i]);
  return text + (states.empty() ? "" : ")") +
         " {\n  %lr, %wd, %clip, %t = optim.scalars %h\n" +
         (clips ? "" : "  %g = geo.scale %raw, %clip\n") + body + "}\n";
}

/// Matrices p0, p1, ... of the given shapes under one rule, all zero, with
/// learning rate 1, no decay, no clipping and no schedule.
class CompiledRule : public CompiledSpec {
public:
  CompiledRule(const std::string &rule, const std::vector<Shape> &shapes,
               const std::string &facts = "")
      : CompiledSpec(writeSpec(rule, facts), nameShapes(shapes)) {}

  /// Takes update number arguments.step, then counts on.
  StepResult step() {
    StepResult result = CompiledSpec::step();
    ++arguments.step;
    return result;
  }
  Tensor &gradient(std::size_t i = 0) { return arguments.gradients[i]; }
  Tensor &update(std::size_t i = 0) { return arguments.updates[i]; }
  Tensor &state(std::size_t i = 0) { return arguments.states[i]; }

private:
  static std::string writeSpec(const std::string &rule,
                               const std::string &facts) {
    static TemporaryFolder scratch;
    const std::string path = scratch / "rule.mlir";
    writeFile(path,
              "optim.spec @tested {\n  optim.group @all [\"*\"] uses @rule lr "
              "1.0" +
                  (facts.empty() ? "" : " facts(" + facts + ")") + "\n}\n" +
                  rule);
    return path;
  }
  static NamedShapes nameShapes(const std::vector<Shape> &shapes) {
    NamedShapes list;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      list.emplace_back(fmt::format("p{}", i), shapes[i]);
    return list;
  }
};

} // namespace steep::test

#endif // STEEP_TEST_UNIT_TOOLS_COMPILEDRULE_H
