//===- Driver.h - a GPU's driver, bound when it is needed -------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_DRIVER_H
#define STEEP_RUNTIME_DEVICES_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace steep {

/// A library with the entries of the CUDA driver's interface: NVIDIA's, or the
/// emulated GPU's. Every call throws Error, naming the entry, where it fails.
class Driver {
public:
  /// Opens the library and the primary context of its device `ordinal`.
  Driver(const std::string &library, int ordinal);
  ~Driver();
  Driver(const Driver &) = delete;

  const std::string &library() const { return path; }
  int ordinal() const { return number; }
  std::string deviceName() const;
  /// 90 for compute capability 9.0.
  int capability() const;

  std::shared_ptr<void> allocate(std::size_t bytes);
  void copyToDevice(void *to, const void *from, std::size_t bytes);
  void copyToHost(void *to, const void *from, std::size_t bytes);
  void fillZero(void *memory, std::size_t bytes);
  /// Waits until all work is done, and throws what went wrong in it.
  void wait();

  /// What the emulated GPU found in the last launches; empty for nothing, and
  /// for a real one.
  std::string report() const;

private:
  struct Entries;
  void check(int error, const char *entry) const;

  std::string path;
  int number;
  void *handle = nullptr;
  std::unique_ptr<Entries> entries;
  int device = 0;
  void *context = nullptr;
};

} // namespace steep

#endif // STEEP_RUNTIME_DEVICES_DRIVER_H
