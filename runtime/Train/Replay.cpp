//===- Replay.cpp - a recorded trajectory, taken again --------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Replay.h"

#include "runtime/Core/Error.h"
#include "runtime/Core/ThreadPool.h"
#include "runtime/Geometry/Measure.h"
#include "runtime/Model/Model.h"
#include "runtime/Train/Schedule.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace steep;

/// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

static double relative(double value, double recorded) {
  if (value == 0 && recorded == 0)
    return 0;
  return std::fabs(value - recorded) / std::max(std::fabs(recorded), 1e-30);
}

/// ||(a - c) - (b - c)|| / ||b - c|| in Frobenius norms; c may be empty (0).
static double relative(const Tensor &a, const Tensor &b, const Tensor &c) {
  double difference = 0, size = 0, own = 0;
  for (int64_t i = 0; i < b.count(); ++i) {
    const double base = c.empty() ? 0 : c.f32()[i];
    const double x = a.f32()[i] - base, y = b.f32()[i] - base;
    difference += (x - y) * (x - y);
    size += y * y;
    own += x * x;
  }
  if (size == 0 && own == 0)
    return 0;
  return std::sqrt(difference) / std::max(std::sqrt(size), 1e-30);
}

double ReplayResult::largest() const {
  double largest = 0;
  auto take = [&](double x) {
    // A NaN stays.
    if (!(x <= largest) && !std::isnan(largest))
      largest = x;
  };
  for (const auto *values :
       {&loss, &gradNorm, &lrScale, &headDiameter, &hilbertRms})
    for (double x : *values)
      take(x);
  for (const auto *values : {&grad0, &final})
    for (const auto &item : *values)
      take(item.second);
  return largest;
}

std::string ReplayResult::json() const {
  Json json;
  json["loss"] = loss;
  json["grad_norm"] = gradNorm;
  json["lr_scale"] = lrScale;
  json["head_diameter"] = headDiameter;
  json["hilbert_rms"] = hilbertRms;
  json["grad0"] = Json::object();
  for (const auto &[name, x] : grad0)
    json["grad0"][name] = x;
  json["final"] = Json::object();
  for (const auto &[name, x] : final)
    json["final"][name] = x;
  return json.dump(2) + "\n";
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

int64_t Replay::metadataInteger(const char *key, int64_t least) const {
  const std::string &text = file.metadataAt(key);
  char *end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || value < least ||
      value > (1ll << 40))
    fail("{}: the metadata '{}' is {}, expected an integer >= {}",
         quote(file.path()), key, quote(text), least);
  return value;
}

double Replay::metadataNumber(const char *key) const {
  const std::string &text = file.metadataAt(key);
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value < 0)
    fail("{}: the metadata '{}' is {}, expected a finite number >= 0",
         quote(file.path()), key, quote(text));
  return value;
}

void Replay::checkTensor(const std::string &name, DType dtype,
                         const std::vector<int64_t> &shape) const {
  auto entry = file.entries().find(name);
  if (entry == file.entries().end())
    fail("{}: the tensor '{}' is missing", quote(file.path()), name);
  const SafetensorsEntry &found = entry->second;
  if (found.dtype != dtype || found.shape != shape)
    fail("{}: '{}' is {} {}, expected {} {}", quote(file.path()), name,
         nameOf(found.dtype), shapeString(found.shape), nameOf(dtype),
         shapeString(shape));
}

Replay::Replay(const std::string &path) : file(SafetensorsFile::open(path)) {
  config.dim = metadataInteger("dim", 1);
  config.layers = metadataInteger("layers", 1);
  config.vocab = metadataInteger("vocab", 1);
  config.headDim = metadataInteger("head_dim", 1);
  config.heads = config.dim / config.headDim;
  steps = metadataInteger("steps", 1);
  warmup = metadataInteger("warmup", 0);
  clip = metadataNumber("clip");
  headRule = file.metadataAt("head");
  if (headRule != "rownorm" && headRule != "adamw")
    fail("{}: the metadata 'head' is {}, expected rownorm or adamw",
         quote(path), quote(headRule));
  auto tokens = file.entries().find("tokens");
  if (tokens == file.entries().end() || tokens->second.shape.size() != 4)
    fail("{}: expected a tensor 'tokens' of shape [steps, 2, batch, length]",
         quote(path));
  batch = tokens->second.shape[2];
  length = tokens->second.shape[3];
  config.context = length;
  try {
    config.validate();
  } catch (const Error &error) {
    fail("{}: {}", quote(path), error.what());
  }
  checkTensor("tokens", DType::I32, {steps, 2, batch, length});
  if (warmup > steps)
    fail("{}: the metadata 'warmup' is {}, expected at most 'steps', {}",
         quote(path), warmup, steps);
  auto panel = file.entries().find("panel");
  if (panel == file.entries().end() || panel->second.shape.size() != 2 ||
      panel->second.shape[0] < 1)
    fail("{}: expected a tensor 'panel' of shape [sequences, length]",
         quote(path));
  checkTensor("panel", DType::I32, {panel->second.shape[0], length});
  for (const char *name :
       {"loss", "grad_norm", "lr_scale", "head_diameter", "hilbert_rms"})
    checkTensor(name, DType::F64, {steps});
  for (const ParameterSpec &spec : parameterSpecs(config))
    for (const char *prefix : {"init.", "grad0.", "final."})
      checkTensor(prefix + spec.name, DType::F32, spec.shape);
}

std::vector<double> Replay::rates(const Manifest &manifest) const {
  const double muon = metadataNumber("muon_lr");
  const double embed = metadataNumber("embed_lr");
  const double head = metadataNumber("head_lr");
  std::vector<double> rates(manifest.groups.size(), -1);
  for (const Manifest::Parameter &parameter : manifest.parameters) {
    const double rate = parameter.name == "embed.weight"     ? embed
                        : parameter.name == "lm_head.weight" ? head
                                                             : muon;
    double &slot = rates.at(manifest.groupIndex(parameter.group));
    if (slot >= 0 && slot != rate)
      fail("{}: the group '{}' of the spec '{}' holds parameters that were "
           "trained with different learning rates, {} and {}",
           quote(file.path()), parameter.group, manifest.name, slot, rate);
    slot = rate;
  }
  return rates;
}

static std::size_t headIn(const Manifest &manifest) {
  std::size_t index = 0;
  while (manifest.parameters.at(index).name != "lm_head.weight")
    ++index;
  return index;
}

/// Everything but the scalars; the head's increment is asked for.
static StepArguments makeArguments(const Optimizer &optimizer,
                                   const Model &model) {
  const Manifest &manifest = optimizer.manifest();
  StepArguments arguments;
  for (std::size_t index : matchParameters(manifest, model.config())) {
    arguments.parameters.push_back(model.parameters()[index]);
    arguments.gradients.push_back(model.gradients()[index]);
  }
  arguments.states = optimizer.makeStates();
  for (const Manifest::Group &group : manifest.groups)
    arguments.wd.push_back(group.wd);
  arguments.updates.resize(manifest.parameters.size());
  const std::size_t head = headIn(manifest);
  arguments.updates[head] = Tensor(DType::F32, manifest.parameters[head].shape);
  return arguments;
}

ReplayResult Replay::run(Optimizer &optimizer, int threads) const {
  const Manifest &manifest = optimizer.manifest();
  matchParameters(manifest, config); // before anything is allocated
  if (clip != manifest.clipNorm.value_or(0))
    fail("{}: was recorded with clipping at {}, but the spec '{}' clips at {}",
         quote(file.path()), clip, manifest.name,
         manifest.clipNorm.value_or(0));
  const RateSchedule schedule = makeSchedule(manifest, steps, warmup);
  const std::vector<double> peaks = rates(manifest);

  ThreadPool pool(threads);
  Model model(config, threads);
  for (std::size_t i = 0; i < model.specs().size(); ++i) {
    const Tensor init = file.load("init." + model.specs()[i].name);
    std::memcpy(model.parameters()[i].data(), init.data(), init.bytes());
  }
  StepArguments arguments = makeArguments(optimizer, model);
  const Tensor increment = arguments.updates[headIn(manifest)];
  const Tensor tokens = file.load("tokens"), panel = file.load("panel");
  auto recorded = [&](const char *name, int64_t step) {
    return file.load(name).f64()[step];
  };
  ReplayResult result;
  for (int64_t step = 0; step < steps; ++step) {
    const int32_t *inputs = tokens.i32() + step * 2 * batch * length;
    const double loss =
        model.forwardBackward(inputs, inputs + batch * length, batch, length);
    result.loss.push_back(relative(loss, recorded("loss", step)));
    for (std::size_t i = 0; step == 0 && i < model.specs().size(); ++i) {
      const std::string &name = model.specs()[i].name;
      result.grad0.emplace_back(
          name, relative(model.gradients()[i], file.load("grad0." + name), {}));
    }
    const double scale = schedule.scale(step);
    result.lrScale.push_back(relative(scale, recorded("lr_scale", step)));
    arguments.lr.clear();
    for (double peak : peaks)
      arguments.lr.push_back(peak * scale);
    arguments.step = step + 1;
    const StepResult taken = optimizer.step(arguments, &pool);
    if (taken.skipped)
      fail("{}: step {}: the gradient of {} is not finite", quote(file.path()),
           step,
           taken.nonfiniteParameter < 0
               ? "a parameter"
               : manifest.parameters.at(taken.nonfiniteParameter).name);
    result.gradNorm.push_back(
        relative(taken.gradNorm, recorded("grad_norm", step)));
    result.headDiameter.push_back(relative(rowDiameter(increment, &pool),
                                           recorded("head_diameter", step)));
    const Tensor hidden =
        model.hiddenStates(panel.i32(), panel.dim(0), panel.dim(1));
    result.hilbertRms.push_back(relative(hilbertRms(increment, hidden, &pool),
                                         recorded("hilbert_rms", step)));
  }
  for (std::size_t i = 0; i < model.specs().size(); ++i) {
    const std::string &name = model.specs()[i].name;
    result.final.emplace_back(name, relative(model.parameters()[i],
                                             file.load("final." + name),
                                             file.load("init." + name)));
  }
  return result;
}
