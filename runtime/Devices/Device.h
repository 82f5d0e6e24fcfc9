//===- Device.h - where compiled updates run --------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_DEVICE_H
#define STEEP_RUNTIME_DEVICES_DEVICE_H

#include "runtime/Core/Artefact.h"

#include <cstddef>
#include <memory>
#include <string>

namespace steep {

/// A device, as those who run updates see it: memory, copies, artefacts. Work
/// is handed over in order; its results may be used after wait().
class Device {
public:
  virtual ~Device() = default;

  virtual const char *name() const = 0;
  /// What to give steepc as --target where `wanted` says what the user wrote:
  /// a GPU is added where it names none.
  virtual std::string target(const std::string &wanted) const = 0;

  /// Memory of the device, aligned to 64 bytes; freed with the last handle.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void copyToDevice(void *to, const void *from, std::size_t bytes) = 0;
  virtual void copyToHost(void *to, const void *from, std::size_t bytes) = 0;

  /// Loads what steepc wrote (see Artefact::load).
  virtual std::shared_ptr<Artefact> load(const std::string &path) = 0;
  /// Takes one step. Tensors are the host's: a GPU takes gradients from there
  /// each time, parameters and states only when it has none of its own yet, and
  /// brings parameters and updates back.
  virtual StepResult launch(Artefact &artefact, StepArguments &arguments) = 0;
  virtual void wait() = 0;
  /// Brings the states of the last launch to the host.
  virtual void fetchStates(Artefact &artefact, StepArguments &arguments) = 0;
  /// Parameters and states were changed on the host.
  virtual void hostChanged(Artefact &artefact) = 0;
};

/// How the emulated GPU runs.
struct SimtOptions {
  bool ptx = false;   ///< the PTX text instead of LLVM's IR
  bool check = false; ///< look for races, bounds and the like
  uint64_t seed = 0;  ///< of the schedule; 0: in order
  /// Spend time on compiling kernels that are to run often, or on much.
  bool optimize = true;
};

/// Opens a device by its name: `host` works with that many threads, `cuda` (or
/// `cuda:1`) is a GPU of NVIDIA, `simt` the emulated one. Throws Error for any
/// other name, and where the device is not there.
std::unique_ptr<Device> openDevice(const std::string &name, int threads,
                                   const SimtOptions &simt = {});

/// GPUs, real and emulated.
std::unique_ptr<Device> openCuda(int ordinal);
std::unique_ptr<Device> openSimt(int threads, const SimtOptions &options);

} // namespace steep

#endif // STEEP_RUNTIME_DEVICES_DEVICE_H
