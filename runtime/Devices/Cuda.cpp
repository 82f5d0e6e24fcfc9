//===- Cuda.cpp - a GPU, real or emulated ---------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/ChildProcess.h"
#include "runtime/Core/Error.h"
#include "runtime/Devices/Device.h"
#include "runtime/Devices/Driver.h"
#include "runtime/Devices/Supervisor.h"

#include <cstdlib>
#include <filesystem>
#include <map>

namespace steep {

namespace {

/// An artefact's kernels on the device, and its tensors there.
struct Resident {
  std::shared_ptr<Artefact> artefact;
  std::unique_ptr<GpuKernels> kernels;
  std::shared_ptr<void> workspace, report, measures;
  std::vector<std::shared_ptr<void>> parameters, gradients, states, updates;
  bool isCurrent = false; ///< parameters and states are the last launch's
};

class Gpu : public Device {
public:
  Gpu(std::string deviceName, const std::string &library, int ordinal,
      uint32_t image)
      : deviceName(std::move(deviceName)), driver(library, ordinal),
        image(image) {}

  const char *name() const override { return deviceName.c_str(); }
  std::string target(const std::string &wanted) const override;

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    return driver.allocate(bytes);
  }
  void copyToDevice(void *to, const void *from, std::size_t bytes) override {
    driver.copyToDevice(to, from, bytes);
  }
  void copyToHost(void *to, const void *from, std::size_t bytes) override {
    driver.copyToHost(to, from, bytes);
  }

  std::shared_ptr<Artefact> load(const std::string &path) override;
  StepResult launch(Artefact &artefact, StepArguments &arguments) override;
  void wait() override { driver.wait(); }
  void fetchStates(Artefact &artefact, StepArguments &arguments) override;
  void hostChanged(Artefact &artefact) override {
    residentOf(artefact).isCurrent = false;
  }

private:
  Resident &residentOf(Artefact &artefact);
  /// Device memory for tensors, with their content where `copy`.
  void place(std::vector<std::shared_ptr<void>> &there,
             const std::vector<Tensor> &tensors, bool copy);
  void fetch(const std::vector<std::shared_ptr<void>> &there,
             std::vector<Tensor> &tensors);

  std::string deviceName;
  Driver driver;
  uint32_t image;
  std::map<Artefact *, Resident> residents;
};

} // namespace

std::string Gpu::target(const std::string &wanted) const {
  if (wanted.find("sm_") != std::string::npos)
    return wanted;
  int capability = driver.capability();
  // These have instructions that only their own kernels may use.
  bool exact = capability == 90 || capability == 100 || capability == 103 ||
               capability == 120 || capability == 121;
  // A step of tensors on the GPU needs no kernels for the CPU.
  return fmt::format("{},sm_{}{}", wanted == "native" ? "none" : wanted,
                     capability, exact ? "a" : "");
}

std::shared_ptr<Artefact> Gpu::load(const std::string &path) {
  Resident resident;
  resident.artefact = Artefact::load(path);
  GpuRequest request;
  request.driver = driver.library();
  request.ordinal = driver.ordinal();
  request.image = image;
  resident.kernels = resident.artefact->openGpu(request);
  resident.workspace = driver.allocate(resident.kernels->workspaceBytes());
  resident.report = driver.allocate(sizeof(steep_step_report));
  std::shared_ptr<Artefact> artefact = resident.artefact;
  residents[artefact.get()] = std::move(resident);
  return artefact;
}

Resident &Gpu::residentOf(Artefact &artefact) {
  auto found = residents.find(&artefact);
  if (found == residents.end())
    fail("artefact {} was not loaded by device {}",
         quote(artefact.manifest().name), quote(deviceName));
  return found->second;
}

void Gpu::place(std::vector<std::shared_ptr<void>> &there,
                const std::vector<Tensor> &tensors, bool copy) {
  there.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].empty())
      continue;
    if (!there[i])
      there[i] = driver.allocate(tensors[i].bytes());
    if (copy)
      driver.copyToDevice(there[i].get(), tensors[i].data(),
                          tensors[i].bytes());
  }
}

void Gpu::fetch(const std::vector<std::shared_ptr<void>> &there,
                std::vector<Tensor> &tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!tensors[i].empty())
      driver.copyToHost(tensors[i].data(), there[i].get(), tensors[i].bytes());
}

StepResult Gpu::launch(Artefact &artefact, StepArguments &arguments) {
  Resident &resident = residentOf(artefact);
  signOfLife();
  place(resident.gradients, arguments.gradients, true);
  place(resident.parameters, arguments.parameters, !resident.isCurrent);
  place(resident.states, arguments.states, !resident.isCurrent);
  place(resident.updates, arguments.updates, false);
  const std::size_t measured =
      arguments.measure ? artefact.manifest().measures.size() : 0;
  if (measured != 0 && !resident.measures)
    resident.measures = driver.allocate(measured * sizeof(double));
  GpuStep step;
  step.measures =
      measured ? static_cast<double *>(resident.measures.get()) : nullptr;
  step.parameters = &resident.parameters;
  step.gradients = &resident.gradients;
  step.states = &resident.states;
  step.updates = &resident.updates;
  step.workspace = resident.workspace.get();
  step.report = static_cast<steep_step_report *>(resident.report.get());
  try {
    resident.kernels->step(arguments, step);
  } catch (const Error &error) {
    // The emulated GPU says where in the kernel it was.
    std::string found = driver.report();
    fail("{}{}{}", error.what(), found.empty() ? "" : "\n", found);
  }
  driver.wait();
  steep_step_report report = {};
  driver.copyToHost(&report, step.report, sizeof report);
  StepResult result;
  result.skipped = report.code == STEEP_SKIPPED;
  result.gradNorm = report.grad_norm;
  result.clipFactor = report.clip_factor;
  result.nonfiniteParameter = report.nonfinite_parameter;
  if (report.code < 0)
    fail("artefact {} refused a step: a gradient, a rate or the clip factor is "
         "not finite",
         quote(artefact.manifest().name));
  resident.isCurrent = true;
  if (arguments.measure) {
    arguments.measures.resize(measured);
    driver.copyToHost(arguments.measures.data(), step.measures,
                      measured * sizeof(double));
  }
  if (result.skipped)
    return result;
  fetch(resident.parameters, arguments.parameters);
  fetch(resident.updates, arguments.updates);
  return result;
}

void Gpu::fetchStates(Artefact &artefact, StepArguments &arguments) {
  Resident &resident = residentOf(artefact);
  if (resident.isCurrent)
    fetch(resident.states, arguments.states);
}

std::unique_ptr<Device> openCuda(int ordinal) {
  return std::make_unique<Gpu>("cuda", "libcuda.so.1", ordinal,
                               STEEP_IMAGE_BEST);
}

/// Beside the program, as it is built and as it is installed.
static std::string findSimt() {
  if (const char *path = std::getenv("STEEP_SIMT_LIBRARY"))
    return path;
  for (const char *folder : {"../lib", "."}) {
    std::string path = programBeside(std::string(folder) + "/libsteep-simt.so");
    std::error_code error;
    if (std::filesystem::exists(path, error))
      return path;
  }
  fail("device 'simt' needs libsteep-simt.so, which is not there: it is built "
       "with the compiler (STEEP_BUILD_COMPILER)");
}

std::unique_ptr<Device> openSimt(int threads, const SimtOptions &options) {
  // The library reads them when it loads a module. What the user has set stays
  // where the command line does not say otherwise.
  if (options.check)
    ::setenv("STEEP_SIMT_CHECK", "1", 1);
  if (options.seed)
    ::setenv("STEEP_SIMT_SEED", std::to_string(options.seed).c_str(), 1);
  if (!options.optimize)
    ::setenv("STEEP_SIMT_OPTIMIZE", "0", 1);
  ::setenv("STEEP_SIMT_THREADS", std::to_string(threads).c_str(), 0);
  return std::make_unique<Gpu>("simt", findSimt(), 0,
                               options.ptx ? STEEP_IMAGE_PTX
                                           : STEEP_IMAGE_BITCODE);
}

} // namespace steep
