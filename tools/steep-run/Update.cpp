//===- Update.cpp - one update of one parameter ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/steep-run/Update.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace steep {

static Tensor loadMatrix(const SafetensorsFile &file, const std::string &name) {
  if (!file.contains(name))
    fail("{}: it has no tensor {}, which a step needs", quote(file.path()),
         quote(name));
  const SafetensorsEntry &entry = file.entries().at(name);
  if (entry.dtype != DType::F32 || entry.shape.size() != 2)
    fail("{}: tensor {} is {} of shape {}, but an F32 matrix is expected",
         quote(file.path()), quote(name), nameOf(entry.dtype),
         shapeString(entry.shape));
  return file.load(name);
}

static void checkShape(const SafetensorsFile &file, const std::string &name,
                       const Tensor &tensor,
                       const std::vector<int64_t> &expected) {
  if (tensor.shape() != expected)
    fail("{}: tensor {} has shape {}, but {} is expected", quote(file.path()),
         quote(name), shapeString(tensor.shape()), shapeString(expected));
}

/// The artefact for this one parameter: compiled now, or given.
static std::shared_ptr<Artefact> findArtefact(const UpdateOptions &options,
                                              const Tensor &param,
                                              Device &device) {
  if (!options.artefact.empty())
    return device.load(options.artefact);
  nlohmann::json tensor = {
      {"name", "param"}, {"shape", param.shape()}, {"dtype", "F32"}};
  CompileRequest request;
  request.spec = options.spec;
  request.parameters = nlohmann::json{{"tensors", {tensor}}}.dump();
  request.target = device.target(options.target);
  request.options = {"--only-rule=" + options.rule};
  request.flagNames = {{"--only-rule", "--rule"}};
  request.parametersName = quote(options.in);
  return device.load(compileArtefact(request));
}

/// The artefact's one parameter, which the rule must update.
static const Manifest::Parameter &checkParameter(const UpdateOptions &options,
                                                 const Manifest &manifest,
                                                 const SafetensorsFile &in,
                                                 const Tensor &param) {
  if (manifest.parameters.size() != 1)
    fail("artefact {} has {} parameters, but steep-run updates one",
         quote(manifest.name), manifest.parameters.size());
  const Manifest::Parameter &parameter = manifest.parameters[0];
  if (!options.rule.empty() && parameter.rule != options.rule)
    fail("artefact {} updates its parameter by rule {}, not by {}",
         quote(manifest.name), quote(parameter.rule), quote(options.rule));
  checkShape(in, "param", param, parameter.shape);
  return parameter;
}

/// The states of the file; those that it lacks are zero. A tensor that nobody
/// asked for is more likely a wrong name than a wish.
static std::vector<Tensor> loadStates(const SafetensorsFile &in,
                                      const Manifest::Parameter &parameter) {
  std::vector<Tensor> states;
  std::string names = "'param', 'grad'";
  for (const Manifest::State &state : parameter.states) {
    names += ", " + quote(state.name);
    if (!in.contains(state.name)) {
      states.emplace_back(DType::F32, state.shape);
      continue;
    }
    states.push_back(loadMatrix(in, state.name));
    checkShape(in, state.name, states.back(), state.shape);
  }
  for (const auto &[name, entry] : in.entries()) {
    bool known = name == "param" || name == "grad";
    for (const Manifest::State &state : parameter.states)
      known |= name == state.name;
    if (!known)
      fail("{}: tensor {} is none of those that rule {} knows ({})",
           quote(in.path()), quote(name), quote(parameter.rule), names);
  }
  return states;
}

static void checkNumbers(const UpdateOptions &options) {
  auto check = [](const char *name, double value, bool negative) {
    if (!std::isfinite(static_cast<float>(value)))
      fail("{} {} is not possible: a finite FP32 number is expected", name,
           value);
    if (value < 0 && !negative)
      fail("{} {} is not possible: a number of at least 0 is expected", name,
           value);
  };
  check("--lr", options.lr.value_or(0), /*negative=*/false);
  check("--wd", options.wd.value_or(0), /*negative=*/false);
  check("--grad-scale", options.gradScale, /*negative=*/true);
  if (options.step < 1)
    fail("--step {} is not possible: steps count from 1", options.step);
  // Beyond, a step has no F64 of its own.
  constexpr int64_t most = int64_t(1) << 53;
  if (options.step > most)
    fail("--step {} is not possible: at most {} is expected", options.step,
         most);
}

static void writeResult(const UpdateOptions &options,
                        const Manifest::Parameter &parameter,
                        const StepArguments &arguments) {
  NamedTensors tensors = {{"param", arguments.parameters[0]},
                          {"update", arguments.updates[0]}};
  for (std::size_t i = 0; i < parameter.states.size(); ++i)
    tensors.emplace_back(parameter.states[i].name, arguments.states[i]);
  writeSafetensors(options.out, tensors,
                   {{"rule", parameter.rule},
                    {"lr", fmt::format("{}", arguments.lr[0])},
                    {"wd", fmt::format("{}", arguments.wd[0])},
                    {"grad_scale", fmt::format("{}", arguments.gradScale)},
                    {"step", std::to_string(arguments.step)}});
}

/// What the rule measured, as one JSON object; what is not finite is null.
static void printMeasures(const Manifest &manifest,
                          const StepArguments &arguments) {
  if (arguments.measures.empty())
    return;
  nlohmann::ordered_json json;
  for (std::size_t i = 0; i < arguments.measures.size(); ++i)
    json[manifest.measures[i].name] = arguments.measures[i];
  fmt::print("{}\n", json.dump(2));
}

static bool isFinite(const Tensor &tensor) {
  return std::all_of(tensor.f32(), tensor.f32() + tensor.count(),
                     [](float x) { return std::isfinite(x); });
}

void runUpdate(const UpdateOptions &options) {
  checkNumbers(options);
  std::unique_ptr<Device> device =
      openDevice(options.device, options.threads, options.simt);
  SafetensorsFile in = SafetensorsFile::open(options.in);
  StepArguments arguments;
  arguments.parameters = {loadMatrix(in, "param")};
  arguments.gradients = {loadMatrix(in, "grad")};
  const Tensor &param = arguments.parameters[0];
  checkShape(in, "grad", arguments.gradients[0], param.shape());

  std::shared_ptr<Artefact> artefact = findArtefact(options, param, *device);
  const Manifest &manifest = artefact->manifest();
  const Manifest::Parameter &parameter =
      checkParameter(options, manifest, in, param);
  arguments.states = loadStates(in, parameter);
  arguments.updates = {Tensor(DType::F32, param.shape())};
  if (!options.lr && manifest.groups.at(0).lr == 0)
    fail("--lr is required: no group of {} gives rule {} a learning rate",
         quote(options.spec.empty() ? options.artefact : options.spec),
         quote(parameter.rule));
  if (options.wd.value_or(0) != 0 && !manifest.groups.at(0).decays)
    fail("--wd {} is not possible: rule {} has no weight decay", *options.wd,
         quote(parameter.rule));
  arguments.lr = {options.lr.value_or(manifest.groups.at(0).lr)};
  arguments.wd = {options.wd.value_or(manifest.groups.at(0).wd)};
  arguments.gradScale = options.gradScale;
  arguments.step = options.step;
  arguments.measure = !manifest.measures.empty();
  StepResult result = device->launch(*artefact, arguments);
  device->wait();
  if (result.skipped && isFinite(arguments.gradients[0]))
    fail("{}: tensor 'grad' is finite, but its norm times --grad-scale, {:g}, "
         "is beyond FP32, so the step was skipped",
         quote(in.path()), result.gradNorm);
  if (result.skipped)
    fail("{}: tensor 'grad' is not finite, so the step was skipped",
         quote(in.path()));
  device->fetchStates(*artefact, arguments);
  writeResult(options, parameter, arguments);
  printMeasures(manifest, arguments);
}

} // namespace steep
