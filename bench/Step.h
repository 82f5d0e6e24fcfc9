//===- Step.h - a compiled step, prepare and apply apart --------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_BENCH_STEP_H
#define STEEP_BENCH_STEP_H

#include "runtime/Core/Artefact.h"

#include <string>
#include <utility>
#include <vector>

namespace steep::bench {

using NamedShapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// An artefact through its C interface, with tensors of its own: weights and
/// gradients of varied numbers, states zero, every rate the spec's.
class Step {
public:
  /// Compiles `spec` (a file) for the parameters, for $STEEP_BENCH_TARGET or
  /// this machine. Throws Error.
  Step(const std::string &spec, const NamedShapes &list, int threads,
       std::vector<std::string> options = {});
  ~Step();
  Step(const Step &) = delete;

  /// Norm of the gradients and clip factor: reads every gradient once.
  void prepare() { call(prepareEntry); }
  /// The updates, with the factor of the last prepare.
  void apply() { call(applyEntry); }
  /// Both.
  void step() { call(stepEntry); }

  ThreadPool &pool() { return threads; }
  const Manifest &manifest() const { return artefact->manifest(); }
  double clipFactor() const { return args.clip_factor; }
  uint64_t workspaceBytes() const { return args.workspace_bytes; }

  std::vector<Tensor> parameters, gradients, states;

private:
  using Entry = int32_t (*)(steep_step_args *);
  void bind();
  void call(Entry entry);

  std::shared_ptr<Artefact> artefact;
  ThreadPool threads;
  void *library = nullptr;
  Entry prepareEntry = nullptr, applyEntry = nullptr, stepEntry = nullptr;
  std::vector<DLTensor> tensors;
  std::vector<DLTensor *> parameterPointers, gradientPointers, statePointers;
  std::vector<steep_scalar> lr, wd;
  Tensor workspace;
  char message[512] = "";
  steep_step_args args = {};
};

/// Fills with numbers of about the size of `scale`, the same for one `seed`.
void fill(const Tensor &tensor, unsigned seed, float scale);

} // namespace steep::bench

#endif // STEEP_BENCH_STEP_H
