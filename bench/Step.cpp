//===- Step.cpp - a compiled step, prepare and apply apart ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bench/Step.h"

#include "bench/Compare.h"
#include "runtime/Core/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace steep::bench {

void fill(const Tensor &tensor, unsigned seed, float scale) {
  uint32_t state = seed * 2654435761u + 1;
  float *data = tensor.f32();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = scale * (float(state >> 8) * 0x1p-23f - 1);
  }
}

static CompileRequest makeRequest(const std::string &spec,
                                  const NamedShapes &list,
                                  std::vector<std::string> options) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const auto &[name, shape] : list)
    tensors.push_back({{"name", name}, {"shape", shape}, {"dtype", "F32"}});
  CompileRequest request;
  request.spec = spec;
  request.parameters = nlohmann::json{{"tensors", tensors}}.dump();
  request.compiler = STEEP_BENCH_COMPILER;
  request.target = target();
  request.options = std::move(options);
  return request;
}

Step::Step(const std::string &spec, const NamedShapes &list, int threadCount,
           std::vector<std::string> options)
    : threads(threadCount) {
  const std::string folder =
      compileArtefact(makeRequest(spec, list, std::move(options)));
  artefact = Artefact::load(folder);
  const std::string &name = manifest().name;
  library =
      dlopen((folder + "/lib" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail("{}", dlerror());
  auto find = [&](const char *entry) {
    return reinterpret_cast<Entry>(
        dlsym(library, fmt::format("steep_{}_{}", name, entry).c_str()));
  };
  prepareEntry = find("prepare");
  applyEntry = find("apply");
  stepEntry = find("step");
  for (const auto &[name, shape] : list) {
    const unsigned seed = unsigned(parameters.size()) * 2;
    parameters.emplace_back(DType::F32, shape);
    gradients.emplace_back(DType::F32, shape);
    fill(parameters.back(), seed + 1, 0.02f);
    fill(gradients.back(), seed + 2, 1e-3f);
  }
  states = artefact->makeStates();
  bind();
}

Step::~Step() {
  if (library)
    dlclose(library);
}

void Step::bind() {
  // Views first: pointers into the list must stay.
  tensors.reserve(parameters.size() + gradients.size() + states.size());
  auto point = [&](const std::vector<Tensor> &from,
                   std::vector<DLTensor *> &to) {
    for (const Tensor &tensor : from) {
      tensors.push_back(view(tensor));
      to.push_back(&tensors.back());
    }
  };
  point(parameters, parameterPointers);
  point(gradients, gradientPointers);
  point(states, statePointers);
  for (const Manifest::Group &group : manifest().groups) {
    lr.push_back({group.lr, nullptr, 0, 0});
    wd.push_back({group.wd, nullptr, 0, 0});
  }
  workspace = Tensor(DType::F32, {int64_t(manifest().workspaceBytes / 4) + 16});
  args.struct_size = sizeof args;
  args.parameter_count = int64_t(parameters.size());
  args.parameters = parameterPointers.data();
  args.gradients = gradientPointers.data();
  args.state_count = int64_t(states.size());
  args.states = statePointers.data();
  args.group_count = int64_t(lr.size());
  args.lr = lr.data();
  args.wd = wd.data();
  args.grad_scale.value = 1;
  args.clip_factor = 1;
  args.nonfinite_parameter = -1;
  args.step = 1;
  const auto address = reinterpret_cast<uintptr_t>(workspace.data());
  args.workspace = reinterpret_cast<void *>((address + 63) / 64 * 64);
  args.workspace_bytes = manifest().workspaceBytes;
  args.pool = threads.abi();
  args.message = message;
  args.message_bytes = sizeof message;
}

void Step::call(Entry entry) {
  if (entry(&args) != STEEP_OK)
    fail("{}", message);
}

} // namespace steep::bench
