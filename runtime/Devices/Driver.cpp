//===- Driver.cpp - a GPU's driver, bound when it is needed ---------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Devices/Driver.h"

#include "runtime/Core/Error.h"

#include <dlfcn.h>

namespace steep {

/// Device pointers of the driver's interface.
using DevicePointer = unsigned long long;

struct Driver::Entries {
  int (*init)(unsigned);
  int (*deviceGet)(int *, int);
  int (*deviceCount)(int *);
  int (*deviceName)(char *, int, int);
  int (*deviceAttribute)(int *, int, int);
  int (*retain)(void **, int);
  int (*release)(int);
  int (*setCurrent)(void *);
  int (*allocate)(DevicePointer *, std::size_t);
  int (*free)(DevicePointer);
  int (*toDevice)(DevicePointer, const void *, std::size_t);
  int (*toHost)(void *, DevicePointer, std::size_t);
  int (*fill)(DevicePointer, unsigned char, std::size_t);
  int (*synchronize)();
  int (*errorString)(int, const char **);
  const char *(*report)(); ///< null for a real GPU
};

template <typename Function>
static void bind(void *handle, const std::string &library, Function &entry,
                 const char *name) {
  entry = reinterpret_cast<Function>(::dlsym(handle, name));
  if (!entry)
    fail("{}: it lacks {}, so it is no driver of GPUs", quote(library), name);
}

Driver::Driver(const std::string &library, int ordinal)
    : path(library), number(ordinal), entries(std::make_unique<Entries>()) {
  handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("cannot open the driver of the GPU: {}", ::dlerror());
  Entries &e = *entries;
  bind(handle, path, e.init, "cuInit");
  bind(handle, path, e.deviceGet, "cuDeviceGet");
  bind(handle, path, e.deviceCount, "cuDeviceGetCount");
  bind(handle, path, e.deviceName, "cuDeviceGetName");
  bind(handle, path, e.deviceAttribute, "cuDeviceGetAttribute");
  bind(handle, path, e.retain, "cuDevicePrimaryCtxRetain");
  bind(handle, path, e.release, "cuDevicePrimaryCtxRelease");
  bind(handle, path, e.setCurrent, "cuCtxSetCurrent");
  bind(handle, path, e.allocate, "cuMemAlloc_v2");
  bind(handle, path, e.free, "cuMemFree_v2");
  bind(handle, path, e.toDevice, "cuMemcpyHtoD_v2");
  bind(handle, path, e.toHost, "cuMemcpyDtoH_v2");
  bind(handle, path, e.fill, "cuMemsetD8_v2");
  bind(handle, path, e.synchronize, "cuCtxSynchronize");
  bind(handle, path, e.errorString, "cuGetErrorString");
  e.report =
      reinterpret_cast<const char *(*)()>(::dlsym(handle, "steepSimtReport"));
  check(e.init(0), "cuInit");
  int count = 0;
  check(e.deviceCount(&count), "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count)
    fail("there is no GPU {}: the driver has {}", ordinal, count);
  check(e.deviceGet(&device, ordinal), "cuDeviceGet");
  check(e.retain(&context, device), "cuDevicePrimaryCtxRetain");
  check(e.setCurrent(context), "cuCtxSetCurrent");
}

Driver::~Driver() {
  // The library stays: memory that outlives this object is freed through it.
  if (context)
    entries->release(device);
}

void Driver::check(int error, const char *entry) const {
  if (error == 0)
    return;
  const char *text = nullptr;
  if (entries->errorString(error, &text) != 0 || !text)
    text = "unknown error";
  std::string found = report();
  fail("{} failed with error {}: {}{}", entry, error, text,
       found.empty() ? "" : "\n" + found);
}

std::string Driver::deviceName() const {
  char name[256] = "";
  check(entries->deviceName(name, sizeof name, device), "cuDeviceGetName");
  return name;
}

int Driver::capability() const {
  constexpr int majorAttribute = 75, minorAttribute = 76;
  int major = 0, minor = 0;
  check(entries->deviceAttribute(&major, majorAttribute, device),
        "cuDeviceGetAttribute");
  check(entries->deviceAttribute(&minor, minorAttribute, device),
        "cuDeviceGetAttribute");
  return major * 10 + minor;
}

static DevicePointer addressOf(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

std::shared_ptr<void> Driver::allocate(std::size_t bytes) {
  DevicePointer memory = 0;
  // Zero bytes are no allocation for the driver.
  check(entries->allocate(&memory, bytes ? bytes : 1), "cuMemAlloc");
  auto release = entries->free;
  return {reinterpret_cast<void *>(static_cast<uintptr_t>(memory)),
          [release](void *pointer) { release(addressOf(pointer)); }};
}

void Driver::copyToDevice(void *to, const void *from, std::size_t bytes) {
  if (bytes)
    check(entries->toDevice(addressOf(to), from, bytes), "cuMemcpyHtoD");
}

void Driver::copyToHost(void *to, const void *from, std::size_t bytes) {
  if (bytes)
    check(entries->toHost(to, addressOf(from), bytes), "cuMemcpyDtoH");
}

void Driver::fillZero(void *memory, std::size_t bytes) {
  if (bytes)
    check(entries->fill(addressOf(memory), 0, bytes), "cuMemsetD8");
}

void Driver::wait() { check(entries->synchronize(), "cuCtxSynchronize"); }

std::string Driver::report() const {
  const char *text = entries->report ? entries->report() : nullptr;
  return text ? text : "";
}

} // namespace steep
