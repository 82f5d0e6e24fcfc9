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

/// A weight or what belongs to one: a matrix, or more than one in a tensor of a
/// higher rank (experts, a convolution's kernel), as the rule's group says.
static Tensor loadF32(const SafetensorsFile &file, const std::string &name) {
  if (!file.contains(name))
    fail("{}: it has no tensor {}, which a step needs", quote(file.path()),
         quote(name));
  const SafetensorsEntry &entry = file.entries().at(name);
  if (entry.dtype != DType::F32 || entry.shape.size() < 2)
    fail("{}: tensor {} is {} of shape {}, but an F32 matrix is expected (or a "
         "tensor of rank 3 or more, of a group that is stacked or a "
         "convolution)",
         quote(file.path()), quote(name), nameOf(entry.dtype),
         shapeString(entry.shape));
  return file.load(name);
}

/// The first entry that is not finite, as "[1, 2] is nan"; empty where all are.
static std::string findNonFinite(const Tensor &tensor) {
  const float *begin = tensor.f32(), *end = begin + tensor.count();
  const float *found =
      std::find_if(begin, end, [](float x) { return !std::isfinite(x); });
  if (found == end)
    return "";
  std::vector<int64_t> place(tensor.shape().size());
  int64_t at = found - begin;
  for (std::size_t i = place.size(); i-- > 0;) {
    place[i] = at % tensor.shape()[i];
    at /= tensor.shape()[i];
  }
  return fmt::format("{} is {}", shapeString(place), *found);
}

/// A step from numbers that are none spreads them, over a whole matrix if the
/// geometry looks at one; so there is no such step.
static void checkFinite(const SafetensorsFile &file, const std::string &name,
                        const Tensor &tensor) {
  if (std::string entry = findNonFinite(tensor); !entry.empty())
    fail("{}: tensor {} is not finite: entry {}; weights and states that are "
         "finite are expected",
         quote(file.path()), quote(name), entry);
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
  if (!options.group.empty())
    request.options.push_back("--only-group=" + options.group);
  request.flagNames = {{"--only-rule", "--rule"}, {"--only-group", "--group"}};
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
/// asked for is more likely a wrong name than a wish, but mean rows of states,
/// which artefacts for other targets have.
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
    states.push_back(loadF32(in, state.name));
    checkShape(in, state.name, states.back(), state.shape);
    checkFinite(in, state.name, states.back());
  }
  for (const auto &[name, entry] : in.entries()) {
    bool known = name == "param" || name == "grad";
    for (const Manifest::State &state : parameter.states)
      known |= name == state.name || name == state.name + "_mean";
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

/// Numbers that a step took beyond FP32 are no result.
static void checkResult(const Manifest::Parameter &parameter,
                        const StepArguments &arguments) {
  auto check = [](const std::string &name, const Tensor &tensor) {
    if (std::string entry = findNonFinite(tensor); !entry.empty())
      fail("the step leaves tensor {} not finite: entry {}; nothing is written",
           quote(name), entry);
  };
  check("update", arguments.updates[0]);
  for (std::size_t i = 0; i < parameter.states.size(); ++i)
    check(parameter.states[i].name, arguments.states[i]);
  check("param", arguments.parameters[0]);
}

void runUpdate(const UpdateOptions &options) {
  checkNumbers(options);
  std::unique_ptr<Device> device =
      openDevice(options.device, options.threads, options.simt);
  SafetensorsFile in = SafetensorsFile::open(options.in);
  StepArguments arguments;
  arguments.parameters = {loadF32(in, "param")};
  arguments.gradients = {loadF32(in, "grad")};
  const Tensor &param = arguments.parameters[0];
  checkShape(in, "grad", arguments.gradients[0], param.shape());
  checkFinite(in, "param", param);

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
  const std::string bad = findNonFinite(arguments.gradients[0]);
  if (result.skipped && bad.empty())
    fail("{}: tensor 'grad' is finite, but its norm times --grad-scale, {:g}, "
         "is beyond FP32, so the step was skipped",
         quote(in.path()), result.gradNorm);
  if (result.skipped)
    fail("{}: tensor 'grad' is not finite, so the step was skipped: entry {}",
         quote(in.path()), bad);
  device->fetchStates(*artefact, arguments);
  checkResult(parameter, arguments);
  writeResult(options, parameter, arguments);
  printMeasures(manifest, arguments);
}

} // namespace steep
