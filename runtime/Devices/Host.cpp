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
#include <optional>

namespace steep {

namespace {
class Host : public Device {
public:
  explicit Host(int threads) : pool(threads) {}

  const char *name() const override { return "host"; }
  std::string target(const std::string &wanted) const override {
    return wanted;
  }

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
  void fetchStates(Artefact &, StepArguments &) override {}
  void hostChanged(Artefact &) override {}

private:
  ThreadPool pool;
};
} // namespace

/// The number of `cuda:1`; `cuda` is the first.
static std::optional<int> cudaOrdinal(const std::string &name) {
  if (name == "cuda")
    return 0;
  if (name.rfind("cuda:", 0) != 0 || name.size() > 8)
    return std::nullopt;
  int ordinal = 0;
  for (char c : name.substr(5)) {
    if (c < '0' || c > '9')
      return std::nullopt;
    ordinal = ordinal * 10 + (c - '0');
  }
  return name.size() > 5 ? std::optional(ordinal) : std::nullopt;
}

std::unique_ptr<Device> openDevice(const std::string &name, int threads,
                                   const SimtOptions &simt) {
  if (name == "host")
    return std::make_unique<Host>(threads);
  if (name == "simt")
    return openSimt(threads, simt);
  if (std::optional<int> ordinal = cudaOrdinal(name))
    return openCuda(*ordinal);
  fail("there is no device {}: host, simt, cuda or cuda:N is expected",
       quote(name));
}

} // namespace steep
