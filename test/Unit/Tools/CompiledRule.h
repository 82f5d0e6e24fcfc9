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

#include "lib/Reference/Reference.h"
#include "runtime/Core/Artefact.h"
#include "runtime/Core/Files.h"
#include "test/Unit/Core/TestSupport.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

namespace steep::test {

using Shape = std::vector<int64_t>;

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
class CompiledRule {
public:
  CompiledRule(const std::string &rule, const std::vector<Shape> &shapes,
               const std::string &facts = "") {
    static TemporaryFolder scratch;
    nlohmann::json tensors = nlohmann::json::array();
    for (std::size_t i = 0; i < shapes.size(); ++i)
      tensors.push_back({{"name", fmt::format("p{}", i)},
                         {"shape", shapes[i]},
                         {"dtype", "F32"}});
    CompileRequest request;
    request.spec = scratch / "rule.mlir";
    writeFile(request.spec,
              "optim.spec @tested {\n  optim.group @all [\"*\"] uses @rule lr "
              "1.0" +
                  (facts.empty() ? "" : " facts(" + facts + ")") + "\n}\n" +
                  rule);
    request.parameters = nlohmann::json{{"tensors", tensors}}.dump();
    request.cache = scratch / "cache";
    request.compiler = STEEP_TEST_COMPILER;
    artefact = Artefact::load(compileArtefact(request));
    for (const Shape &shape : shapes) {
      arguments.parameters.emplace_back(DType::F32, shape);
      arguments.gradients.emplace_back(DType::F32, shape);
      arguments.updates.emplace_back(DType::F32, shape);
    }
    arguments.states = artefact->makeStates();
    arguments.lr = {1};
    arguments.wd = {0};
  }

  /// Takes update number arguments.step, then counts on.
  StepResult step() {
    StepResult result = artefact->step(arguments);
    ++arguments.step;
    return result;
  }
  Tensor &gradient(std::size_t i = 0) { return arguments.gradients[i]; }
  Tensor &update(std::size_t i = 0) { return arguments.updates[i]; }
  Tensor &state(std::size_t i = 0) { return arguments.states[i]; }

  std::shared_ptr<Artefact> artefact;
  StepArguments arguments;
};

inline reference::Matrix toMatrix(const Tensor &tensor) {
  return reference::Matrix(static_cast<std::size_t>(tensor.dim(0)),
                           static_cast<std::size_t>(tensor.dim(1)),
                           tensor.f32());
}

inline void fillNormal(Tensor &tensor, unsigned seed, float factor = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.f32()[i] = factor * normal(random);
}

inline void fill(Tensor &tensor, const reference::Matrix &values) {
  for (std::size_t i = 0; i < values.data.size(); ++i)
    tensor.f32()[i] = static_cast<float>(values.data[i]);
}

inline bool sameBits(const Tensor &a, const Tensor &b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

} // namespace steep::test

#endif // STEEP_TEST_UNIT_TOOLS_COMPILEDRULE_H
