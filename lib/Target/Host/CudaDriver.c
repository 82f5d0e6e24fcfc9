/*===-- CudaDriver.c - binding the GPU's driver -------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* One name a field of steep_driver. */
static const char *const names[] = {
    "cuInit",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuGetErrorString",
};

enum { NAME_COUNT = sizeof names / sizeof names[0] };

typedef char
    one_name_a_field[sizeof(steep_driver) == NAME_COUNT * sizeof(void *) ? 1
                                                                         : -1];

/* The entry, or the one of its first version. */
static void *find(void *library, const char *name) {
  char plain[64];
  size_t length = strlen(name);
  void *entry = dlsym(library, name);
  if (entry || length < 3 || length >= sizeof plain ||
      strcmp(name + length - 3, "_v2") != 0)
    return entry;
  memcpy(plain, name, length - 3);
  plain[length - 3] = 0;
  return dlsym(library, plain);
}

int32_t steep_gpu_bind(const steep_device_args *args, void **library,
                       steep_driver *driver) {
  const char *name = args->driver ? args->driver : "libcuda.so.1";
  size_t i;
  if (!*name) /* which dlopen() takes for this program */
    return steep_host_say(args->message, args->message_bytes,
                          STEEP_INVALID_ARGUMENT,
                          "driver: expected a library, or NULL for "
                          "libcuda.so.1, got an empty name");
  *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    const char *why = dlerror();
    return steep_host_say(
        args->message, args->message_bytes, STEEP_DEVICE_ERROR,
        "driver: expected a library that can be loaded: %s", why ? why : name);
  }
  for (i = 0; i < NAME_COUNT; ++i) {
    void *entry = find(*library, names[i]);
    if (!entry) {
      dlclose(*library);
      return steep_host_say(
          args->message, args->message_bytes, STEEP_DEVICE_ERROR,
          "driver: expected %s to have the entry %s", name, names[i]);
    }
    memcpy((char *)driver + i * sizeof entry, &entry, sizeof entry);
  }
  return STEEP_OK;
}

int steep_gpu_is_emulated(void *library) {
  return dlsym(library, "steepSimtReport") != NULL;
}

steep_declare_function steep_gpu_find_declare(void *library) {
  void *entry = dlsym(library, "steepSimtDeclare");
  steep_declare_function declare;
  memcpy(&declare, &entry, sizeof entry);
  return declare;
}

void steep_gpu_close_library(void *library) { dlclose(library); }

int32_t steep_gpu_failed(const steep_driver *driver, char *message,
                         uint64_t bytes, cu_result error, const char *call,
                         const char *what) {
  const char *text = NULL;
  if (driver->error_string(error, &text) != 0 || !text)
    text = "unknown error";
  return steep_host_say(message, bytes, STEEP_DEVICE_ERROR,
                        "%s of %s failed with error %d: %s", call, what,
                        (int)error, text);
}
