//===- Artefact.cpp - a compiled optimizer, loaded ------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Artefact.h"

#include "runtime/Core/CpuFeatures.h"
#include "runtime/Core/Error.h"
#include "runtime/Core/Memory.h"
#include "runtime/Core/SharedLibrary.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <limits>
#include <mutex>

namespace fs = std::filesystem;

namespace steep {

struct Artefact::State {
  Manifest manifest;
  std::string library; ///< path, for messages
  void *handle = nullptr;
  int32_t (*stepEntry)(steep_step_args *) = nullptr;
  std::mutex mutex; ///< guards the workspace during a step
  void *workspace = nullptr;

  ~State() {
    std::free(workspace);
    if (handle)
      ::dlclose(handle);
  }

  template <typename Function> Function symbol(const std::string &name) const {
    std::string full = "steep_" + manifest.name + "_" + name;
    void *address = ::dlsym(handle, full.c_str());
    if (!address)
      fail("{}: it has no symbol {}, so it is not the library of artefact {}",
           quote(library), full, quote(manifest.name));
    return reinterpret_cast<Function>(address);
  }
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// The manifest to load: one NAME.json with its libNAME.so beside it.
static fs::path findManifest(const std::string &path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (fs::path(path).extension() == ".json")
      return path;
    fail("{}: it is not a folder of an artefact", quote(path));
  }
  std::vector<fs::path> found, libraries;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, error)) {
    fs::path file = entry.path();
    if (file.extension() == ".so")
      libraries.push_back(file);
    if (file.extension() != ".json")
      continue;
    fs::path library = "lib" + file.stem().string() + ".so";
    if (fs::exists(file.parent_path() / library, error))
      found.push_back(file);
  }
  if (found.empty() && libraries.size() == 1)
    fail("{}: the manifest of {} is missing", quote(path),
         libraries[0].filename().string());
  if (found.empty())
    fail("{}: it holds no artefact (NAME.json and libNAME.so)", quote(path));
  std::sort(found.begin(), found.end());
  if (found.size() > 1)
    fail("{}: it holds several artefacts, so name one of {} and {}",
         quote(path), quote(found[0].string()), quote(found[1].string()));
  return found[0];
}

static std::string versionString(uint32_t version) {
  return fmt::format("{}.{}", version >> 16, version & 0xffff);
}

/// The least that steps on the host need; GPUs need what openGpu() checks.
static constexpr uint32_t runtimeAbi = uint32_t(STEEP_ABI_MAJOR) << 16;

/// The ABI of the library, of the manifest and of this program.
static void checkAbi(const std::string &library, const Manifest &manifest,
                     uint32_t version) {
  uint32_t stated = static_cast<uint32_t>(manifest.abiMajor) << 16 |
                    static_cast<uint32_t>(manifest.abiMinor);
  if (version >> 16 != STEEP_ABI_MAJOR || version < runtimeAbi)
    fail("{}: its ABI is {}, but this program needs {}; compile the spec again "
         "with the steepc of this program",
         quote(library), versionString(version), versionString(runtimeAbi));
  if (version != stated)
    fail("{}: its ABI is {}, but its manifest says {}; the two files are not "
         "of one compilation",
         quote(library), versionString(version), versionString(stated));
}

static void checkCpu(const std::string &library, const Manifest &manifest) {
  std::vector<std::string> missing =
      missingCpuFeatures(manifest.targetFeatures);
  if (missing.empty())
    return;
  std::string names = missing[0];
  for (std::size_t i = 1; i < missing.size(); ++i)
    names += ", " + missing[i];
  fail("{}: it is compiled for {} and needs {}, which {} lacks", quote(library),
       quote(manifest.targetCpu), names, cpuModel());
}

/// What differs between a parameter of the library and of the manifest, or an
/// empty text.
static std::string difference(const steep_parameter &actual,
                              const Manifest::Parameter &expected,
                              int64_t group, int64_t stateBegin) {
  std::vector<int64_t> shape;
  if (actual.ndim >= 0 && actual.shape)
    shape.assign(actual.shape, actual.shape + actual.ndim);
  if (!actual.name || actual.name != expected.name)
    return fmt::format("it is called {}",
                       actual.name ? quote(actual.name) : "nothing");
  if (shape != expected.shape)
    return fmt::format("its shape is {} instead of {}", shapeString(shape),
                       shapeString(expected.shape));
  if (actual.group != group || !actual.group_name ||
      actual.group_name != expected.group)
    return "its group differs";
  if (!actual.rule_name || actual.rule_name != expected.rule)
    return "its rule differs";
  auto count = static_cast<int64_t>(expected.states.size());
  if (actual.state_count != count || actual.state_begin != stateBegin)
    return fmt::format("it has {} states instead of {}", actual.state_count,
                       count);
  for (std::size_t i = 0; i < expected.states.size(); ++i)
    if (!actual.state_names || !actual.state_names[i] ||
        actual.state_names[i] != expected.states[i].name)
      return fmt::format("its state {} is not {}", i,
                         quote(expected.states[i].name));
  return "";
}

static void checkParameters(const std::string &library,
                            const Manifest &manifest,
                            int32_t (*parameter)(int64_t, steep_parameter *)) {
  int64_t stateBegin = 0;
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i) {
    const Manifest::Parameter &expected = manifest.parameters[i];
    steep_parameter actual = {};
    actual.struct_size = sizeof actual;
    int32_t code = parameter(static_cast<int64_t>(i), &actual);
    if (code != STEEP_OK)
      fail("{}: it does not describe parameter {} ({}; code {})",
           quote(library), i, quote(expected.name), code);
    std::string text = difference(
        actual, expected, manifest.groupIndex(expected.group), stateBegin);
    if (!text.empty())
      fail("{}: parameter {} ({}) differs from the manifest: {}",
           quote(library), i, quote(expected.name), text);
    stateBegin += static_cast<int64_t>(expected.states.size());
  }
}

static void checkPlan(const std::string &library, const Manifest &manifest,
                      int32_t (*plan)(steep_plan *)) {
  char message[256] = "";
  steep_plan sizes = {};
  sizes.struct_size = sizeof sizes;
  sizes.message = message;
  sizes.message_bytes = sizeof message;
  int32_t code = plan(&sizes);
  if (code == STEEP_CPU_MISMATCH)
    fail("{}: it is compiled for {}, and {} lacks what that needs{}{}",
         quote(library), quote(manifest.targetCpu), cpuModel(),
         *message ? ": " : "", message);
  if (code != STEEP_OK)
    fail("{}: its plan cannot be made (code {})", quote(library), code);
  int64_t states = 0;
  for (const Manifest::Parameter &parameter : manifest.parameters)
    states += static_cast<int64_t>(parameter.states.size());
  auto compare = [&](const char *what, uint64_t actual, uint64_t expected) {
    if (actual != expected)
      fail("{}: its {} is {}, but its manifest says {}", quote(library), what,
           actual, expected);
  };
  compare("number of parameters", static_cast<uint64_t>(sizes.parameter_count),
          manifest.parameters.size());
  compare("number of states", static_cast<uint64_t>(sizes.state_count),
          static_cast<uint64_t>(states));
  compare("number of groups", static_cast<uint64_t>(sizes.group_count),
          manifest.groups.size());
  compare("workspace", sizes.workspace_bytes, manifest.workspaceBytes);
  compare("alignment of the workspace", sizes.workspace_alignment,
          manifest.workspaceAlignment);
}

static void *allocateWorkspace(const Manifest &manifest) {
  void *memory =
      allocateAligned(manifest.workspaceBytes, manifest.workspaceAlignment);
  if (!memory)
    fail("cannot allocate the {} bytes of workspace that artefact {} needs",
         manifest.workspaceBytes, quote(manifest.name));
  return memory;
}

std::shared_ptr<Artefact> Artefact::load(const std::string &path) {
  fs::path file = findManifest(path);
  auto state = std::make_unique<State>();
  Manifest &manifest = state->manifest;
  manifest = Manifest::load(file.string());
  if (manifest.name != file.stem().string())
    fail("{}: it is the manifest of {}, so its file name does not fit",
         quote(file.string()), quote(manifest.name));
  // With a slash in it, dlopen takes the path as it is.
  fs::path library =
      fs::absolute(file).parent_path() / ("lib" + manifest.name + ".so");
  state->library = library.string();
  checkSharedLibrary(state->library);
  state->handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!state->handle)
    fail("cannot load the library of artefact {}: {}", quote(manifest.name),
         ::dlerror());

  checkAbi(state->library, manifest,
           state->symbol<uint32_t (*)()>("abi_version")());
  const char *info = state->symbol<const char *(*)()>("build_info")();
  if (!info || manifest.text != info)
    fail("{}: the manifest it was built with is not {}; the two files are not "
         "of one compilation",
         quote(state->library), quote(file.string()));
  checkCpu(state->library, manifest);
  checkPlan(state->library, manifest,
            state->symbol<int32_t (*)(steep_plan *)>("plan"));
  checkParameters(
      state->library, manifest,
      state->symbol<int32_t (*)(int64_t, steep_parameter *)>("parameter"));
  state->stepEntry = state->symbol<int32_t (*)(steep_step_args *)>("step");
  return std::shared_ptr<Artefact>(new Artefact(std::move(state)));
}

Artefact::Artefact(std::unique_ptr<State> state) : state(std::move(state)) {}
Artefact::~Artefact() = default;

const Manifest &Artefact::manifest() const { return state->manifest; }

std::vector<Tensor> Artefact::makeStates() const {
  std::vector<Tensor> states;
  for (const Manifest::Parameter &parameter : manifest().parameters)
    for (const Manifest::State &state : parameter.states)
      states.emplace_back(DType::F32, state.shape);
  return states;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// The DLTensors of a list, and pointers to them as the ABI wants them.
class TensorList {
public:
  explicit TensorList(const std::vector<Tensor> &tensors) {
    tables.reserve(tensors.size());
    for (const Tensor &tensor : tensors) {
      tables.push_back(view(tensor));
      pointers.push_back(tensor.empty() ? nullptr : &tables.back());
    }
  }
  DLTensor *const *data() const { return pointers.data(); }

private:
  std::vector<DLTensor> tables;
  std::vector<DLTensor *> pointers;
};
} // namespace

static void checkTensor(const Tensor &tensor, const std::vector<int64_t> &shape,
                        const char *kind, const std::string &name) {
  if (tensor.empty() || tensor.dtype() != DType::F32 || tensor.shape() != shape)
    fail("{} {} is {}, but F32 of shape {} is expected", kind, quote(name),
         tensor.empty() ? "missing"
                        : fmt::format("{} of shape {}", nameOf(tensor.dtype()),
                                      shapeString(tensor.shape())),
         shapeString(shape));
}

static void checkCount(const char *what, std::size_t actual,
                       std::size_t expected) {
  if (actual != expected)
    fail("a step was given {} {}, but {} are expected", actual, what, expected);
}

static void checkArguments(const Manifest &manifest,
                           const StepArguments &arguments) {
  std::size_t count = manifest.parameters.size(), states = 0;
  for (const Manifest::Parameter &parameter : manifest.parameters)
    states += parameter.states.size();
  checkCount("parameters", arguments.parameters.size(), count);
  checkCount("gradients", arguments.gradients.size(), count);
  checkCount("states", arguments.states.size(), states);
  if (!arguments.updates.empty())
    checkCount("updates", arguments.updates.size(), count);
  checkCount("learning rates", arguments.lr.size(), manifest.groups.size());
  checkCount("weight decays", arguments.wd.size(), manifest.groups.size());
  if (arguments.step < 1)
    fail("step {} is not possible: steps count from 1", arguments.step);
  std::size_t nextState = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Manifest::Parameter &parameter = manifest.parameters[i];
    checkTensor(arguments.parameters[i], parameter.shape, "parameter",
                parameter.name);
    checkTensor(arguments.gradients[i], parameter.shape, "the gradient of",
                parameter.name);
    for (const Manifest::State &state : parameter.states)
      checkTensor(arguments.states[nextState++], state.shape, "state",
                  parameter.name + "." + state.name);
    if (!arguments.updates.empty() && !arguments.updates[i].empty())
      checkTensor(arguments.updates[i], parameter.shape, "the update of",
                  parameter.name);
  }
}

static std::vector<steep_scalar> scalars(const std::vector<double> &values) {
  std::vector<steep_scalar> result;
  for (double value : values)
    result.push_back({value, nullptr, 0, 0});
  return result;
}

namespace {
/// steep_step_args for the arguments that every device has.
class CallArguments {
public:
  explicit CallArguments(const StepArguments &arguments)
      : lr(scalars(arguments.lr)), wd(scalars(arguments.wd)) {
    args.struct_size = sizeof args;
    args.parameter_count = static_cast<int64_t>(arguments.parameters.size());
    args.state_count = static_cast<int64_t>(arguments.states.size());
    args.group_count = static_cast<int64_t>(lr.size());
    args.lr = lr.data();
    args.wd = wd.data();
    args.grad_scale = {arguments.gradScale, nullptr, 0, 0};
    args.step = arguments.step;
    args.message = message;
    args.message_bytes = sizeof message;
  }
  CallArguments(const CallArguments &) = delete;

  /// Throws what a refusal said.
  void check(int32_t code, const Manifest &manifest) const {
    if (code < 0)
      fail("artefact {} refused a step: {}", quote(manifest.name),
           *message ? message : fmt::format("code {}", code));
  }

  steep_step_args args = {};

private:
  std::vector<steep_scalar> lr, wd;
  char message[1024] = "";
};
} // namespace

StepResult Artefact::step(StepArguments &arguments, ThreadPool *pool) {
  checkArguments(manifest(), arguments);
  TensorList parameters(arguments.parameters), gradients(arguments.gradients);
  TensorList states(arguments.states), updates(arguments.updates);
  CallArguments call(arguments);
  steep_step_args &args = call.args;
  args.parameters = parameters.data();
  args.gradients = gradients.data();
  args.states = states.data();
  args.updates = arguments.updates.empty() ? nullptr : updates.data();
  if (arguments.measure) {
    arguments.measures.assign(manifest().measures.size(),
                              std::numeric_limits<double>::quiet_NaN());
    args.measures = arguments.measures.data();
    args.measure_count = static_cast<int64_t>(arguments.measures.size());
  }
  args.workspace_bytes = manifest().workspaceBytes;
  args.pool = pool ? pool->abi() : nullptr;

  std::lock_guard<std::mutex> lock(state->mutex);
  if (!state->workspace) // not before there is a step to take
    state->workspace = allocateWorkspace(manifest());
  args.workspace = state->workspace;
  int32_t code = state->stepEntry(&args);
  call.check(code, manifest());
  StepResult result;
  result.skipped = code == STEEP_SKIPPED;
  result.gradNorm = args.grad_norm;
  result.clipFactor = args.clip_factor;
  result.nonfiniteParameter = args.nonfinite_parameter;
  return result;
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

namespace {
/// DLTensors of a GPU for a list of tensors of the host.
class DeviceTensorList {
public:
  DeviceTensorList(const std::vector<Tensor> &tensors,
                   const GpuStep::Pointers &memory, int ordinal) {
    tables.reserve(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tables.push_back(view(tensors[i]));
      tables.back().device = {kDLCUDA, ordinal};
      tables.back().data = memory[i].get();
      pointers.push_back(tensors[i].empty() ? nullptr : &tables.back());
    }
  }
  DLTensor *const *data() const { return pointers.data(); }

private:
  std::vector<DLTensor> tables;
  std::vector<DLTensor *> pointers;
};

class OpenedKernels : public GpuKernels {
public:
  using Step = int32_t (*)(steep_step_args *);
  using Close = int32_t (*)(steep_device *);

  OpenedKernels(const Manifest &manifest, Step stepEntry, Close close,
                std::unique_ptr<void, void (*)(void *)> memory,
                const steep_device_args &opened)
      : manifest(manifest), stepEntry(stepEntry), close(close),
        memory(std::move(memory)), device(opened.device),
        ordinal(static_cast<int>(opened.ordinal)),
        bytes(opened.workspace_bytes) {}
  ~OpenedKernels() override { close(device); }

  uint64_t workspaceBytes() const override { return bytes; }
  void step(const StepArguments &arguments, const GpuStep &where) override;

private:
  const Manifest &manifest;
  Step stepEntry;
  Close close;
  std::unique_ptr<void, void (*)(void *)> memory;
  steep_device *device;
  int ordinal;
  uint64_t bytes;
};
} // namespace

void OpenedKernels::step(const StepArguments &arguments, const GpuStep &where) {
  checkArguments(manifest, arguments);
  DeviceTensorList parameters(arguments.parameters, *where.parameters, ordinal);
  DeviceTensorList gradients(arguments.gradients, *where.gradients, ordinal);
  DeviceTensorList states(arguments.states, *where.states, ordinal);
  DeviceTensorList updates(arguments.updates, *where.updates, ordinal);
  CallArguments call(arguments);
  call.args.parameters = parameters.data();
  call.args.gradients = gradients.data();
  call.args.states = states.data();
  call.args.updates = arguments.updates.empty() ? nullptr : updates.data();
  call.args.measures = where.measures;
  call.args.measure_count = static_cast<int64_t>(manifest.measures.size());
  call.args.workspace = where.workspace;
  call.args.workspace_bytes = bytes;
  call.args.device = device;
  call.args.report = where.report;
  call.check(stepEntry(&call.args), manifest);
}

std::unique_ptr<GpuKernels> Artefact::openGpu(const GpuRequest &request) {
  steep_plan sizes = {};
  sizes.struct_size = sizeof sizes;
  state->symbol<int32_t (*)(steep_plan *)>("plan")(&sizes);
  if (sizes.device_target_count == 0)
    fail("{}: it has no kernels for GPUs; compile the spec with one in "
         "--target (sm_80, sm_90a, ...)",
         quote(state->library));
  auto open = state->symbol<int32_t (*)(steep_device_args *)>("device_open");
  std::unique_ptr<void, void (*)(void *)> memory(
      std::aligned_alloc(64, (sizes.device_bytes + 63) / 64 * 64), std::free);
  char message[1024] = "";
  steep_device_args args = {};
  args.struct_size = sizeof args;
  args.image = request.image;
  args.driver = request.driver.c_str();
  args.ordinal = request.ordinal;
  args.memory = memory.get();
  args.memory_bytes = sizes.device_bytes;
  args.message = message;
  args.message_bytes = sizeof message;
  int32_t code = open(&args);
  if (code != STEEP_OK)
    fail("{}: it cannot be loaded onto the GPU: {}", quote(state->library),
         *message ? message : fmt::format("code {}", code));
  return std::make_unique<OpenedKernels>(
      manifest(), state->stepEntry,
      state->symbol<OpenedKernels::Close>("device_close"), std::move(memory),
      args);
}

} // namespace steep
