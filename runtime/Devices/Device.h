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

  /// Memory of the device, aligned to 64 bytes; freed with the last handle.
  virtual std::shared_ptr<void> allocate(std::size_t bytes) = 0;
  virtual void copyToDevice(void *to, const void *from, std::size_t bytes) = 0;
  virtual void copyToHost(void *to, const void *from, std::size_t bytes) = 0;

  /// Loads what steepc wrote (see Artefact::load).
  virtual std::shared_ptr<Artefact> load(const std::string &path) = 0;
  virtual StepResult launch(Artefact &artefact, StepArguments &arguments) = 0;
  virtual void wait() = 0;
};

/// Opens a device by its name; `host` is the only one so far, and works with
/// that many threads. Throws Error for any other name.
std::unique_ptr<Device> openDevice(const std::string &name, int threads);

} // namespace steep

#endif // STEEP_RUNTIME_DEVICES_DEVICE_H
