//===- Optimizer.cpp - the step, as the trainer sees it -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Optimizer.h"

#include "runtime/Core/Error.h"

#include <map>
#include <nlohmann/json.hpp>

using namespace steep;

Optimizer::~Optimizer() = default;

namespace {

class CompiledOptimizer : public Optimizer {
public:
  explicit CompiledOptimizer(std::shared_ptr<Artefact> artefact)
      : artefact(std::move(artefact)) {}
  const Manifest &manifest() const override { return artefact->manifest(); }
  std::vector<Tensor> makeStates() const override {
    return artefact->makeStates();
  }
  StepResult step(StepArguments &arguments, ThreadPool *pool) override {
    return artefact->step(arguments, pool);
  }

private:
  std::shared_ptr<Artefact> artefact;
};

/// Weights, gradients and states of the step are on the device; the host has
/// copies of weights after each step, and of states where it asks for them.
class DeviceOptimizer : public Optimizer {
public:
  DeviceOptimizer(std::unique_ptr<Device> device, const std::string &folder)
      : device(std::move(device)), artefact(this->device->load(folder)) {}
  const Manifest &manifest() const override { return artefact->manifest(); }
  std::vector<Tensor> makeStates() const override {
    return artefact->makeStates();
  }
  StepResult step(StepArguments &arguments, ThreadPool *) override {
    return device->launch(*artefact, arguments);
  }
  void fetchStates(StepArguments &arguments) override {
    device->fetchStates(*artefact, arguments);
  }
  void hostChanged() override { device->hostChanged(*artefact); }

private:
  std::unique_ptr<Device> device;
  std::shared_ptr<Artefact> artefact;
};

} // namespace

std::unique_ptr<Optimizer>
steep::loadOptimizer(const std::string &folder,
                     std::unique_ptr<Device> device) {
  if (device)
    return std::make_unique<DeviceOptimizer>(std::move(device), folder);
  return std::make_unique<CompiledOptimizer>(Artefact::load(folder));
}

std::string steep::parametersJson(const ModelConfig &sizes) {
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const ParameterSpec &spec : parameterSpecs(sizes))
    tensors.push_back(
        {{"name", spec.name}, {"shape", spec.shape}, {"dtype", "F32"}});
  return nlohmann::ordered_json{{"tensors", tensors}}.dump(1) + "\n";
}

std::vector<std::size_t> steep::matchParameters(const Manifest &manifest,
                                                const ModelConfig &sizes) {
  const std::vector<ParameterSpec> specs = parameterSpecs(sizes);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < specs.size(); ++i)
    index[specs[i].name] = i;
  std::vector<std::size_t> order;
  for (const Manifest::Parameter &parameter : manifest.parameters) {
    auto found = index.find(parameter.name);
    if (found == index.end())
      fail("the artefact '{}' was compiled for a parameter '{}', which the "
           "model does not have",
           manifest.name, parameter.name);
    const ParameterSpec &spec = specs[found->second];
    if (spec.shape != parameter.shape)
      fail("the artefact '{}' was compiled for {} of shape {}, but the model's "
           "has shape {}",
           manifest.name, parameter.name, shapeString(parameter.shape),
           shapeString(spec.shape));
    order.push_back(found->second);
    index.erase(found);
  }
  if (!index.empty())
    fail("the artefact '{}' was compiled without the model's parameter '{}'",
         manifest.name, index.begin()->first);
  return order;
}
