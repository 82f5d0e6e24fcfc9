//===- Host.cpp - the device that is this CPU -----------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Core/Error.h"
#include "runtime/Devices/Device.h"

#include <cstdlib>
#include <cstring>

namespace steep {

namespace {
class Host : public Device {
public:
  explicit Host(int threads) : pool(threads) {}

  const char *name() const override { return "host"; }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    if (bytes > PTRDIFF_MAX)
      fail("the host cannot allocate {} bytes", bytes);
    std::size_t rounded = (bytes / 64 + 1) * 64;
    void *memory = std::aligned_alloc(64, rounded);
    if (!memory)
      fail("the host cannot allocate {} bytes", bytes);
    return {memory, std::free};
  }
  void copyToDevice(void *to, const void *from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void copyToHost(void *to, const void *from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }

  std::shared_ptr<Artefact> load(const std::string &path) override {
    return Artefact::load(path);
  }
  StepResult launch(Artefact &artefact, StepArguments &arguments) override {
    return artefact.step(arguments, &pool);
  }
  void wait() override {} // launch() returns when all is done

private:
  ThreadPool pool;
};
} // namespace

std::unique_ptr<Device> openDevice(const std::string &name, int threads) {
  if (name != "host")
    fail("device {} is not part of this version: 'host' is expected",
         quote(name));
  return std::make_unique<Host>(threads);
}

} // namespace steep
