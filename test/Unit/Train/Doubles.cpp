//===- Doubles.cpp - what stands in for compiler and data -----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Doubles.h"

#include "lib/Reference/Reference.h"
#include "runtime/Core/Error.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using namespace steep;
using namespace steep::test;
using reference::Matrix;

ReferenceOptimizer::ReferenceOptimizer(const ModelConfig &sizes,
                                       const std::string &head) {
  content.name = "reference";
  content.text = R"({"spec_sha256": "reference-)" + head + R"("})";
  content.schedule = Manifest::Schedule{0.1, 0.1};
  content.clipNorm = 1.0;
  content.groups = {{"backbone", "muon", 8e-3, 0.1},
                    {"embedding", "adamw", 4e-3, 0.1},
                    {"head", head, head == "adamw" ? 4e-3 : 3.2e-3,
                     head == "adamw" ? 0.1 : 0.0}};
  for (const ParameterSpec &spec : parameterSpecs(sizes)) {
    Manifest::Parameter parameter;
    parameter.name = spec.name;
    parameter.shape = spec.shape;
    const int group = spec.name == "embed.weight"     ? 1
                      : spec.name == "lm_head.weight" ? 2
                                                      : 0;
    parameter.group = content.groups[group].name;
    parameter.rule = content.groups[group].rule;
    if (parameter.rule == "adamw")
      parameter.states = {{"exp_avg", spec.shape, "adam"},
                          {"exp_avg_sq", spec.shape, "adam"}};
    else
      parameter.states = {{"momentum_buffer", spec.shape,
                           parameter.rule == "muon" ? "sum" : "ema"}};
    content.parameters.push_back(parameter);
  }
}

std::vector<Tensor> ReferenceOptimizer::makeStates() const {
  std::vector<Tensor> states;
  for (const Manifest::Parameter &parameter : content.parameters)
    for (const Manifest::State &state : parameter.states)
      states.emplace_back(DType::F32, state.shape);
  return states;
}

static Matrix matrix(const Tensor &tensor) {
  return Matrix(tensor.dim(0), tensor.dim(1), tensor.f32());
}

static void store(const Matrix &from, const Tensor &to) {
  for (int64_t i = 0; i < to.count(); ++i)
    to.f32()[i] = static_cast<float>(from.data[i]);
}

StepResult ReferenceOptimizer::step(StepArguments &arguments, ThreadPool *) {
  if (before)
    before(arguments);
  StepResult result;
  std::vector<Matrix> gradients;
  for (std::size_t i = 0; i < arguments.gradients.size(); ++i) {
    gradients.push_back(matrix(arguments.gradients[i]));
    if (!std::isfinite(reference::frobeniusNorm(gradients[i])) &&
        result.nonfiniteParameter < 0)
      result.nonfiniteParameter = static_cast<int64_t>(i);
  }
  result.gradNorm = reference::globalNorm(gradients);
  result.skipped = result.nonfiniteParameter >= 0;
  if (result.skipped)
    return result;
  result.clipFactor = reference::clipFactor(result.gradNorm, 1.0);

  std::size_t next = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Manifest::Parameter &parameter = content.parameters[i];
    const int64_t group = parameter.group == "backbone"    ? 0
                          : parameter.group == "embedding" ? 1
                                                           : 2;
    const reference::Scalars scalars{arguments.lr[group], arguments.wd[group],
                                     result.clipFactor, arguments.step};
    const Matrix weight = matrix(arguments.parameters[i]);
    const Tensor &first = arguments.states[next++];
    reference::Step step;
    if (parameter.rule == "adamw") {
      const Tensor &second = arguments.states[next++];
      step = reference::adamwStep(weight, gradients[i], matrix(first),
                                  matrix(second), scalars);
      store(step.second, second);
    } else if (parameter.rule == "muon") {
      step = reference::muonStep(weight, gradients[i], matrix(first), scalars);
    } else {
      step =
          reference::rownormStep(weight, gradients[i], matrix(first), scalars);
    }
    store(step.state, first);
    store(step.weight, arguments.parameters[i]);
    if (!arguments.updates.empty() && !arguments.updates[i].empty())
      store(step.increment, arguments.updates[i]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// SyntheticData
//===----------------------------------------------------------------------===//

void SyntheticData::sequence(uint64_t key, int32_t *tokens,
                             int32_t *targets) const {
  uint64_t x = key * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(config.seed);
  for (int64_t i = 0; i <= config.seq; ++i) {
    x = x * 6364136223846793005 + 1442695040888963407;
    const auto token = static_cast<int32_t>((x >> 33) % config.sizes.vocab);
    if (i < config.seq)
      tokens[i] = token;
    if (i > 0)
      targets[i - 1] = token;
  }
}

void SyntheticData::next(int32_t *tokens, int32_t *targets) {
  if (onNext)
    onNext(batches);
  for (int64_t b = 0; b < config.batch; ++b)
    sequence(batches * config.batch + b, tokens + b * config.seq,
             targets + b * config.seq);
  ++batches;
}

std::string SyntheticData::position() const {
  return fmt::format("{{\"batches\": {}}}", batches);
}

void SyntheticData::restore(const std::string &position) {
  batches = std::atoll(position.substr(position.find(':') + 1).c_str());
}

void SyntheticData::validation(int64_t first, int64_t count, int32_t *tokens,
                               int32_t *targets) {
  if (onValidation)
    onValidation();
  for (int64_t i = 0; i < count; ++i)
    sequence(1000000 + first + i, tokens + i * config.seq,
             targets + i * config.seq);
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

TemporaryFolder::TemporaryFolder() {
  std::string name =
      (std::filesystem::temp_directory_path() / "steep-train-XXXXXX").string();
  folder = mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(folder); }

std::string TemporaryFolder::path(const std::string &name) const {
  return name.empty() ? folder : folder + "/" + name;
}

std::string test::failure(const std::function<void()> &call) {
  try {
    call();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

RunConfig test::smallRun(const std::string &out) {
  RunConfig config;
  config.sizes.dim = 32;
  config.sizes.heads = 1;
  config.sizes.layers = 1;
  config.sizes.vocab = 61;
  config.sizes.context = 12;
  config.steps = 8;
  config.batch = 4;
  config.microBatch = 2;
  config.threads = 1;
  config.diameterEvery = 3;
  config.hilbertEvery = 4;
  config.hilbertPositions = 30;
  config.valEvery = 4;
  config.valBatches = 1;
  config.saveEvery = 0;
  config.out = out;
  config.resolve();
  return config;
}
