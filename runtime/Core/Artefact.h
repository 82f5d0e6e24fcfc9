//===- Artefact.h - a compiled optimizer, loaded ----------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_CORE_ARTEFACT_H
#define STEEP_RUNTIME_CORE_ARTEFACT_H

#include "runtime/Core/Manifest.h"
#include "runtime/Core/Tensor.h"
#include "runtime/Core/ThreadPool.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace steep {

/// What one step reports.
struct StepResult {
  bool skipped = false;
  double gradNorm = 0;
  double clipFactor = 1;
  int64_t nonfiniteParameter = -1; ///< index into the manifest's parameters
};

/// One step's arguments; tensors in the manifest's order.
struct StepArguments {
  std::vector<Tensor> parameters; ///< written
  std::vector<Tensor> gradients;
  std::vector<Tensor>
      states; ///< all states of parameter 0, then 1, ...; written
  std::vector<Tensor>
      updates; ///< empty, or one a parameter (an empty Tensor: not wanted)
  std::vector<double> lr; ///< one a group
  std::vector<double> wd; ///< one a group
  double gradScale = 1;
  int64_t step = 1;
  /// Whether the rules' measures are wanted; then, after a step that was not
  /// skipped, one number for each of the manifest's. Not on a GPU.
  bool measure = false;
  std::vector<double> measures;
};

/// Which of an artefact's kernels to open, and where; see steep_device_args.
struct GpuRequest {
  std::string driver; ///< a library with the driver's interface
  int64_t ordinal = 0;
  uint32_t image = STEEP_IMAGE_BEST;
};

/// Where a step on a GPU finds its tensors; entries as in StepArguments.
struct GpuStep {
  using Pointers = std::vector<std::shared_ptr<void>>;
  const Pointers *parameters, *gradients, *states, *updates;
  double *measures; ///< null, or one number for each of the manifest's
  void *workspace;
  steep_step_report *report;
};

/// An artefact's kernels, opened on a GPU.
class GpuKernels {
public:
  virtual ~GpuKernels() = default;
  virtual uint64_t workspaceBytes() const = 0;
  /// Puts a step on the default stream. Throws Error with the library's
  /// message. The tensors of `arguments` say only which of them there are.
  virtual void step(const StepArguments &arguments, const GpuStep &where) = 0;
};

/// A folder that steepc wrote (libNAME.so, NAME.json), loaded with dlopen. It
/// is refused, in one sentence, where the library's ABI, its built-in manifest
/// or the CPU differ from what the manifest says.
class Artefact {
public:
  /// `path`: the folder, or the NAME.json in it where it holds several.
  static std::shared_ptr<Artefact> load(const std::string &path);
  ~Artefact();
  Artefact(const Artefact &) = delete;

  const Manifest &manifest() const;
  /// Zero-filled states, in the order that step() wants.
  std::vector<Tensor> makeStates() const;
  /// Takes one step in place. Throws Error with the library's message; then,
  /// and where the result says `skipped`, nothing was written.
  StepResult step(StepArguments &arguments, ThreadPool *pool = nullptr);
  /// Opens the kernels for GPUs. Throws Error where there are none for that
  /// one. The artefact must live as long as they do.
  std::unique_ptr<GpuKernels> openGpu(const GpuRequest &request);

private:
  struct State;
  std::unique_ptr<State> state;
  explicit Artefact(std::unique_ptr<State> state);
};

/// What the cache may hold where STEEP_CACHE_BYTES does not say otherwise, and
/// how long an entry is kept in any case after it was used.
constexpr uint64_t defaultCacheBytes = uint64_t(1) << 30;
constexpr std::chrono::minutes cacheGrace{10};

/// What steepc is asked for.
struct CompileRequest {
  std::string spec;                 ///< path of the .mlir file
  std::string parameters;           ///< content of the --params JSON
  std::string target = "native";    ///< steepc's --target
  std::vector<std::string> options; ///< more arguments, "--only-rule=muon"
  std::string cache; ///< folder; empty: $XDG_CACHE_HOME/steep or ~/.cache/steep
  std::string compiler; ///< path of steepc; empty: beside the running program
  /// What messages call the parameters, and options of steepc that the user
  /// knows by another name.
  std::string parametersName = "the model's parameters";
  std::vector<std::pair<std::string, std::string>> flagNames;
};

/// Compiles with steepc (a child process), or takes the artefact from the
/// cache, and returns its folder. Entries are found by a digest of all that the
/// compiler reads; a damaged one is made anew; several runs may share a cache.
/// When an entry is added, those that were not used for longest are removed
/// until the cache holds at most $STEEP_CACHE_BYTES, except for what was used
/// in the last ten minutes. Throws Error with steepc's first message where it
/// refuses.
std::string compileArtefact(const CompileRequest &request);

} // namespace steep

#endif // STEEP_RUNTIME_CORE_ARTEFACT_H
