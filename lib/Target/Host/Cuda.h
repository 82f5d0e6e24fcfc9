/*===-- Cuda.h - the GPU's side of the host code ------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* The part of the CUDA driver's interface that is used, declared here so     *|
|* that neither toolkit nor driver is needed to build or to link. A library   *|
|* with the same entries (an emulated GPU) serves as well.                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_HOST_CUDA_H
#define STEEP_HOST_CUDA_H

#include "Host.h"

#include <stddef.h>

typedef int cu_result; /* 0: success */
typedef int cu_device;
typedef void *cu_context;
typedef void *cu_module;
typedef void *cu_function;
typedef void *cu_stream;

/* What is bound with dlsym, in the order of CudaDriver.c's table of names. */
typedef struct {
  cu_result (*init)(unsigned flags);
  cu_result (*device_count)(int *count);
  cu_result (*device_get)(cu_device *device, int ordinal);
  cu_result (*device_attribute)(int *value, int attribute, cu_device device);
  cu_result (*context_retain)(cu_context *context, cu_device device);
  cu_result (*context_release)(cu_device device);
  cu_result (*context_get)(cu_context *context);
  cu_result (*context_set)(cu_context context);
  cu_result (*module_load)(cu_module *module, const void *image);
  cu_result (*module_unload)(cu_module module);
  cu_result (*module_function)(cu_function *function, cu_module module,
                               const char *name);
  cu_result (*function_set)(cu_function function, int attribute, int value);
  cu_result (*launch)(cu_function function, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared, cu_stream stream,
                      void **arguments, void **extra);
  cu_result (*error_string)(cu_result error, const char **text);
} steep_driver;

/* What the emulated GPU has beside the driver's entries: says that a pointer to
 * `pointer` + k * stride reaches `bytes` bytes of one of `count` parts and no
 * more; 0 bytes take that back. */
typedef cu_result (*steep_declare_function)(const char *name,
                                            unsigned long long pointer,
                                            size_t bytes, size_t stride,
                                            size_t count);

/* The kernels of lib/Target/Device/Prelude.c. */
enum {
  STEEP_PRELUDE_STORE,
  STEEP_PRELUDE_SUMS,
  STEEP_PRELUDE_FINISH,
  STEEP_PRELUDE_SCALARS,
  STEEP_PRELUDE_COUNT
};

/* Lives in the caller's memory, followed by its functions and by what
 * check_overlap() sorts. */
struct steep_device {
  uint64_t magic; /* what it is while it is open */
  void *library;
  steep_driver driver;
  steep_declare_function declare; /* NULL on a real GPU */
  const steep_gpu_target *target;
  cu_device ordinal;
  cu_context context;
  cu_module module;
  cu_function prelude[STEEP_PRELUDE_COUNT];
  cu_function *functions; /* target->function_count of them */
  void *scratch;
};

/* "STEEPGPU" */
#define STEEP_DEVICE_MAGIC 0x5550475045455453ull

/* What steep_host_tables.gpu points to. */
extern const steep_gpu_entries steep_gpu_functions;

/* The line that says which call of the driver failed, and why. */
int32_t steep_gpu_failed(const steep_driver *driver, char *message,
                         uint64_t bytes, cu_result error, const char *call,
                         const char *what);

/* Opens the library and finds its entries; names the one that is missing. */
int32_t steep_gpu_bind(const steep_device_args *args, void **library,
                       steep_driver *driver);
/* Is it the emulated GPU, which takes any target, and bitcode too? */
int steep_gpu_is_emulated(void *library);
/* Its entry, where it has one. */
steep_declare_function steep_gpu_find_declare(void *library);
void steep_gpu_close_library(void *library);

/* Where everything is in a step's workspace; offsets in bytes. */
typedef struct {
  uint64_t report, flags, words, sums, lr, wd, clip, step, waves, bytes;
} steep_gpu_layout;
void steep_gpu_lay_out(const steep_gpu_target *target, steep_gpu_layout *out);
uint64_t steep_gpu_workspace_bytes(const steep_gpu_target *target);

int32_t steep_gpu_step(const steep_step_args *args, int32_t actions);

#endif /* STEEP_HOST_CUDA_H */
