//===- Optimizer.h - the step, as the trainer sees it -----------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_OPTIMIZER_H
#define STEEP_RUNTIME_TRAIN_OPTIMIZER_H

#include "runtime/Devices/Device.h"
#include "runtime/Model/Config.h"

#include <memory>
#include <string>
#include <vector>

namespace steep {

/// One optimizer: what it was compiled for, and its step. Programs use the
/// compiled artefact; tests put a double in its place.
class Optimizer {
public:
  virtual ~Optimizer();
  virtual const Manifest &manifest() const = 0;
  /// Zero-filled, in the manifest's order.
  virtual std::vector<Tensor> makeStates() const = 0;
  virtual StepResult step(StepArguments &arguments, ThreadPool *pool) = 0;
  /// Brings the states to the host's tensors, where they are elsewhere between
  /// steps.
  virtual void fetchStates(StepArguments &) {}
  /// The host's parameters and states have been changed.
  virtual void hostChanged() {}
};

/// The artefact in a folder that steepc wrote, on the host, or on a device.
std::unique_ptr<Optimizer>
loadOptimizer(const std::string &folder,
              std::unique_ptr<Device> device = nullptr);

/// A model's parameters as steepc's --params wants them.
std::string parametersJson(const ModelConfig &sizes);

/// For each parameter of the manifest its index in parameterSpecs(sizes).
/// Throws Error where names or shapes are not the same.
std::vector<std::size_t> matchParameters(const Manifest &manifest,
                                         const ModelConfig &sizes);

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_OPTIMIZER_H
