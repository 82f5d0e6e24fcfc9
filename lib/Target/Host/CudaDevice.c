/*===-- CudaDevice.c - opening a GPU ------------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <string.h>

/* Numbers of the driver's interface. */
enum {
  ATTRIBUTE_MAJOR = 75, /* of the compute capability */
  ATTRIBUTE_MINOR = 76,
  FUNCTION_DYNAMIC_SHARED = 8
};

/* A launch may ask for this much shared memory without permission. */
enum { STATIC_SHARED_LIMIT = 48 * 1024 };

static const char *const prelude_names[] = {
    "steep_prelude_store", "steep_prelude_sums", "steep_prelude_finish",
    "steep_prelude_scalars"};

static uint64_t device_bytes(void) {
  const steep_tables *t = &steep_host_tables;
  int64_t functions = 0, i;
  for (i = 0; i < t->gpu_target_count; ++i)
    if (t->gpu_targets[i].function_count > functions)
      functions = t->gpu_targets[i].function_count;
  return sizeof(steep_device) + (uint64_t)functions * sizeof(cu_function) +
         steep_host_scratch_bytes();
}

const steep_gpu_entries steep_gpu_functions = {
    steep_gpu_step, steep_gpu_workspace_bytes, device_bytes};

/*===----------------------------------------------------------------------===*\
|* Which target, which image                                                  *|
\*===----------------------------------------------------------------------===*/

static const steep_gpu_image *image_of(const steep_gpu_target *target,
                                       uint32_t image) {
  const steep_gpu_image *found = image == STEEP_IMAGE_CUBIN ? &target->cubin
                                 : image == STEEP_IMAGE_PTX ? &target->ptx
                                                            : &target->bitcode;
  return found->data ? found : NULL;
}

/* Can a GPU of this capability take the image? Machine code goes with the
 * major number; PTX with every later GPU; neither where the target names
 * features of one capability only. */
static int is_runnable(const steep_gpu_target *target, uint32_t image,
                       int64_t capability) {
  if (!image_of(target, image) || image == STEEP_IMAGE_BITCODE)
    return 0;
  if (target->exact)
    return target->capability == capability;
  if (image == STEEP_IMAGE_CUBIN && target->capability / 10 != capability / 10)
    return 0;
  return target->capability <= capability;
}

/* The image of this target to load, or STEEP_IMAGE_BEST for none. */
static uint32_t choose_image(const steep_gpu_target *target, uint32_t wanted,
                             int64_t capability, int emulated) {
  static const uint32_t real[] = {STEEP_IMAGE_CUBIN, STEEP_IMAGE_PTX};
  static const uint32_t virtual[] = {STEEP_IMAGE_BITCODE, STEEP_IMAGE_PTX};
  const uint32_t *images = emulated ? virtual : real;
  int i;
  for (i = 0; i < 2; ++i) {
    if (wanted != STEEP_IMAGE_BEST && wanted != images[i])
      continue;
    if (emulated ? image_of(target, images[i]) != NULL
                 : is_runnable(target, images[i], capability))
      return images[i];
  }
  return STEEP_IMAGE_BEST;
}

static int is_better(const steep_gpu_target *one,
                     const steep_gpu_target *other) {
  if (!other || one->capability != other->capability)
    return !other || one->capability > other->capability;
  return one->exact > other->exact;
}

static int32_t choose(steep_device_args *args, steep_device *device,
                      int64_t capability, int emulated) {
  static const char *const words[] = {"image", "cubin", "PTX", "bitcode"};
  const steep_tables *t = &steep_host_tables;
  int64_t i;
  int known = args->target == NULL;
  for (i = 0; i < t->gpu_target_count; ++i) {
    const steep_gpu_target *target = &t->gpu_targets[i];
    uint32_t image;
    if (args->target && strcmp(args->target, target->name) != 0)
      continue;
    known = 1;
    image = choose_image(target, args->image, capability, emulated);
    if (image == STEEP_IMAGE_BEST || !is_better(target, device->target))
      continue;
    device->target = target;
    args->loaded_image = image;
  }
  if (!known)
    return steep_host_say(args->message, args->message_bytes,
                          STEEP_INVALID_ARGUMENT,
                          "target: expected one that %s was compiled for (%s "
                          "and %lld more), got %.40s",
                          t->name, t->gpu_targets[0].name,
                          (long long)t->gpu_target_count - 1, args->target);
  if (!device->target && args->image == STEEP_IMAGE_CUBIN && emulated)
    return steep_host_say(args->message, args->message_bytes,
                          STEEP_DEVICE_ERROR,
                          "image: an emulated GPU takes no cubin; expected "
                          "STEEP_IMAGE_BEST, _PTX or _BITCODE");
  if (!device->target && args->image == STEEP_IMAGE_BITCODE && !emulated)
    return steep_host_say(args->message, args->message_bytes,
                          STEEP_DEVICE_ERROR,
                          "image: only an emulated GPU takes bitcode; expected "
                          "STEEP_IMAGE_BEST, _CUBIN or _PTX");
  if (!device->target)
    return steep_host_say(
        args->message, args->message_bytes, STEEP_DEVICE_ERROR,
        "%s has no %s that a GPU of compute capability %lld.%lld can take; "
        "expected one of another --target",
        t->name, words[args->image], (long long)capability / 10,
        (long long)capability % 10);
  return STEEP_OK;
}

/*===----------------------------------------------------------------------===*\
|* Opening and closing                                                        *|
\*===----------------------------------------------------------------------===*/

static int32_t failed(const steep_device_args *args, const steep_device *device,
                      cu_result error, const char *call, const char *what) {
  return steep_gpu_failed(&device->driver, args->message, args->message_bytes,
                          error, call, what);
}

static int32_t find_functions(const steep_device_args *args,
                              steep_device *device) {
  const steep_driver *driver = &device->driver;
  int64_t i;
  cu_result error;
  for (i = 0; i < STEEP_PRELUDE_COUNT; ++i) {
    error = driver->module_function(&device->prelude[i], device->module,
                                    prelude_names[i]);
    if (error)
      return failed(args, device, error, "cuModuleGetFunction",
                    prelude_names[i]);
  }
  for (i = 0; i < device->target->function_count; ++i) {
    const steep_gpu_function_entry *entry = &device->target->functions[i];
    error = driver->module_function(&device->functions[i], device->module,
                                    entry->name);
    if (error)
      return failed(args, device, error, "cuModuleGetFunction", entry->name);
    if (entry->shared <= STATIC_SHARED_LIMIT)
      continue;
    error = driver->function_set(device->functions[i], FUNCTION_DYNAMIC_SHARED,
                                 (int)entry->shared);
    if (error)
      return failed(args, device, error, "cuFuncSetAttribute", entry->name);
  }
  return STEEP_OK;
}

/* The module in the device's primary context; the caller's context is current
 * again afterwards. */
static int32_t load(const steep_device_args *args, steep_device *device) {
  const steep_driver *driver = &device->driver;
  const steep_gpu_image *image = image_of(device->target, args->loaded_image);
  cu_context before = NULL;
  int32_t code;
  cu_result error = driver->context_retain(&device->context, device->ordinal);
  if (error)
    return failed(args, device, error, "cuDevicePrimaryCtxRetain",
                  "the device");
  error = driver->context_get(&before);
  if (!error)
    error = driver->context_set(device->context);
  if (error) {
    driver->context_release(device->ordinal);
    return failed(args, device, error, "cuCtxSetCurrent", "the device");
  }
  error = driver->module_load(&device->module, image->data);
  code = error ? failed(args, device, error, "cuModuleLoadData",
                        device->target->name)
               : find_functions(args, device);
  if (code && !error)
    driver->module_unload(device->module);
  driver->context_set(before);
  if (code)
    driver->context_release(device->ordinal);
  return code;
}

static int32_t find_device(const steep_device_args *args, steep_device *device,
                           int64_t *capability) {
  const steep_driver *driver = &device->driver;
  int count = 0, major = 0, minor = 0;
  cu_result error = driver->init(0);
  if (error)
    return failed(args, device, error, "cuInit", "the driver");
  error = driver->device_count(&count);
  if (!error && (args->ordinal < 0 || args->ordinal >= count))
    return steep_host_say(args->message, args->message_bytes,
                          STEEP_INVALID_ARGUMENT,
                          "ordinal: expected a number below %d, the number of "
                          "GPUs, got %lld",
                          count, (long long)args->ordinal);
  if (!error)
    error = driver->device_get(&device->ordinal, (int)args->ordinal);
  if (!error)
    error = driver->device_attribute(&major, ATTRIBUTE_MAJOR, device->ordinal);
  if (!error)
    error = driver->device_attribute(&minor, ATTRIBUTE_MINOR, device->ordinal);
  if (error)
    return failed(args, device, error, "cuDeviceGetAttribute", "the device");
  *capability = major * 10 + minor;
  return STEEP_OK;
}

static int32_t check(const steep_device_args *args) {
  uint64_t bytes = device_bytes();
  if (args->image > STEEP_IMAGE_BITCODE)
    return steep_host_say(
        args->message, args->message_bytes, STEEP_INVALID_ARGUMENT,
        "image: expected one of STEEP_IMAGE_*, got %u", (unsigned)args->image);
  if (!args->memory || (uintptr_t)args->memory % 64 != 0)
    return steep_host_say(args->message, args->message_bytes,
                          STEEP_INVALID_ARGUMENT,
                          "memory: expected a pointer aligned to 64 bytes, "
                          "got %p",
                          args->memory);
  if (args->memory_bytes < bytes)
    return steep_host_say(
        args->message, args->message_bytes, STEEP_WORKSPACE_TOO_SMALL,
        "memory: expected %llu bytes, got %llu", (unsigned long long)bytes,
        (unsigned long long)args->memory_bytes);
  return STEEP_OK;
}

int32_t steep_host_export_device_open(steep_device_args *args) {
  steep_device *device;
  int64_t capability = 0;
  int32_t code;
  if (!args)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "args: expected a steep_device_args, got NULL");
  /* A smaller structure has no message that could be trusted. */
  if (args->struct_size < sizeof *args)
    return steep_host_short("steep_device_args", args->struct_size,
                            sizeof *args);
  code = check(args);
  if (code)
    return code;
  device = args->memory;
  memset(device, 0, sizeof *device);
  code = steep_gpu_bind(args, &device->library, &device->driver);
  if (code)
    return code;
  device->declare = steep_gpu_find_declare(device->library);
  code = find_device(args, device, &capability);
  if (!code)
    code = choose(args, device, capability,
                  steep_gpu_is_emulated(device->library));
  if (!code) {
    device->functions = (cu_function *)(void *)(device + 1);
    device->scratch = device->functions + device->target->function_count;
    code = load(args, device);
  }
  if (code) {
    steep_gpu_close_library(device->library);
    return code;
  }
  device->magic = STEEP_DEVICE_MAGIC;
  args->device = device;
  args->loaded_target = device->target->name;
  args->workspace_bytes = steep_gpu_workspace_bytes(device->target);
  args->workspace_alignment = 256;
  return STEEP_OK;
}

int32_t steep_host_export_device_close(steep_device *device) {
  const steep_driver *driver;
  cu_context before = NULL;
  cu_result error, release;
  if (!device || device->magic != STEEP_DEVICE_MAGIC)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "device: expected one that device_open gave and that "
                          "is still open, got %p",
                          (void *)device);
  driver = &device->driver;
  device->magic = 0;
  driver->context_get(&before);
  driver->context_set(device->context);
  error = driver->module_unload(device->module);
  driver->context_set(before == device->context ? NULL : before);
  release = driver->context_release(device->ordinal);
  if (error || release)
    return steep_gpu_failed(
        driver, NULL, 0, error ? error : release,
        error ? "cuModuleUnload" : "cuDevicePrimaryCtxRelease", "the device");
  steep_gpu_close_library(device->library);
  return STEEP_OK;
}
