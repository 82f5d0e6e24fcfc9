//===- CompiledSpec.h - a spec, compiled for a test -------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_TEST_UNIT_TOOLS_COMPILEDSPEC_H
#define STEEP_TEST_UNIT_TOOLS_COMPILEDSPEC_H

#include "lib/Reference/Reference.h"
#include "runtime/Core/Artefact.h"
#include "runtime/Devices/Device.h"
#include "test/Unit/Core/TestSupport.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

namespace steep::test {

using Shape = std::vector<int64_t>;
using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// What a test compiles differently from others.
struct CompileChoice {
  std::string target = CompileRequest().target;
  std::string onlyRule;     ///< of the spec; empty: all
  Device *device = nullptr; ///< where steps run; null: here
};

/// An artefact of a spec for parameters of given names and shapes, with the
/// tensors of a step. States start at zero, rates are the spec's, decay is 0.
class CompiledSpec {
public:
  CompiledSpec(const std::string &spec, const NamedShapes &list,
               const CompileChoice &choice = {})
      : device(choice.device) {
    nlohmann::json tensors = nlohmann::json::array();
    for (const auto &[name, shape] : list)
      tensors.push_back({{"name", name}, {"shape", shape}, {"dtype", "F32"}});
    static TemporaryFolder cache;
    CompileRequest request;
    request.spec = spec;
    request.parameters = nlohmann::json{{"tensors", tensors}}.dump();
    request.cache = cache.folder().string();
    request.compiler = STEEP_TEST_COMPILER;
    request.target = choice.target;
    if (!choice.onlyRule.empty())
      request.options = {"--only-rule=" + choice.onlyRule};
    const std::string folder = compileArtefact(request);
    artefact = device ? device->load(folder) : Artefact::load(folder);
    for (const auto &[name, shape] : list) {
      arguments.parameters.emplace_back(DType::F32, shape);
      arguments.gradients.emplace_back(DType::F32, shape);
      arguments.updates.emplace_back(DType::F32, shape);
    }
    arguments.states = artefact->makeStates();
    for (const Manifest::Group &group : artefact->manifest().groups) {
      arguments.lr.push_back(group.lr);
      arguments.wd.push_back(0);
    }
  }

  /// Takes a step; afterwards all tensors are here, wherever it ran.
  StepResult step() {
    if (!device)
      return artefact->step(arguments);
    device->hostChanged(*artefact);
    StepResult result = device->launch(*artefact, arguments);
    device->wait();
    device->fetchStates(*artefact, arguments);
    return result;
  }
  const Manifest::Parameter &parameter(std::size_t i) const {
    return artefact->manifest().parameters[i];
  }
  /// The rate of a parameter's group.
  std::size_t groupOf(std::size_t i) const {
    return static_cast<std::size_t>(
        artefact->manifest().groupIndex(parameter(i).group));
  }
  /// Where a parameter's states begin.
  std::size_t stateOf(std::size_t i) const {
    std::size_t begin = 0;
    for (std::size_t p = 0; p < i; ++p)
      begin += parameter(p).states.size();
    return begin;
  }

  Device *device;
  std::shared_ptr<Artefact> artefact;
  StepArguments arguments;
};

/// A tensor as a matrix of its first dimension.
inline reference::Matrix toMatrix(const Tensor &tensor) {
  return {static_cast<std::size_t>(tensor.dim(0)),
          static_cast<std::size_t>(tensor.count() / tensor.dim(0)),
          tensor.f32()};
}

inline std::vector<reference::Matrix>
toMatrices(const std::vector<Tensor> &tensors) {
  std::vector<reference::Matrix> matrices;
  for (const Tensor &tensor : tensors)
    matrices.push_back(toMatrix(tensor));
  return matrices;
}

inline void fillNormal(const Tensor &tensor, unsigned seed,
                       float factor = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.f32()[i] = factor * normal(random);
}

inline void fill(const Tensor &tensor, const reference::Matrix &values) {
  for (std::size_t i = 0; i < values.data.size(); ++i)
    tensor.f32()[i] = static_cast<float>(values.data[i]);
}

inline bool sameBits(const Tensor &a, const Tensor &b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Columns of sum zero, as the gradient of a head has them.
inline void subtractMeanRow(const Tensor &tensor) {
  fill(tensor, reference::center(toMatrix(tensor)));
}

inline double distance(const Tensor &actual, const reference::Matrix &wanted) {
  return reference::relativeDifference(toMatrix(actual), wanted);
}

} // namespace steep::test

#endif // STEEP_TEST_UNIT_TOOLS_COMPILEDSPEC_H
