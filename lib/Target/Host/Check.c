/*===-- Check.c - are a step's arguments what was compiled? -------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Every check comes before the first write, and every message names the      *|
|* tensor or field, what was expected and what came.                          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

double steep_host_scalar(const steep_scalar *scalar) {
  return scalar->flags & STEEP_SCALAR_POINTER ? (double)*scalar->pointer
                                              : scalar->value;
}

steep_device *steep_host_device(const steep_step_args *args) {
  return args->struct_size < offsetof(steep_step_args, masters) ? NULL
                                                                : args->device;
}

static uint64_t workspace_bytes(const steep_device *gpu) {
  return gpu ? steep_host_tables.gpu->workspace_bytes(gpu->target)
             : (uint64_t)steep_host_tables.workspace_bytes;
}

/*===----------------------------------------------------------------------===*\
|* Counts, scalars, workspace, pool                                           *|
\*===----------------------------------------------------------------------===*/

static int32_t check_count(const steep_step_args *args, const char *what,
                           int64_t got, int64_t expected) {
  if (got == expected)
    return STEEP_OK;
  return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                         "%s: expected %lld, got %lld", what,
                         (long long)expected, (long long)got);
}

static int32_t check_present(const steep_step_args *args, const char *what,
                             const void *pointer) {
  if (pointer)
    return STEEP_OK;
  return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                         "%s: expected an array, got NULL", what);
}

/* `what` of the group (or of the whole step, where `group` is NULL) must be a
 * number that FP32 can hold. */
static int32_t check_scalar(const steep_step_args *args, const char *what,
                            const char *group, const steep_scalar *scalar) {
  char name[STEEP_QUOTED_BYTES];
  const char *of = group ? " of group " : "";
  const char *label = group ? steep_host_quote(name, group) : "";
  double value;
  if (scalar->flags & ~(uint32_t)STEEP_SCALAR_POINTER)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s%s%s: expected flags 0 or STEEP_SCALAR_POINTER, "
                           "got %u",
                           what, of, label, (unsigned)scalar->flags);
  if ((scalar->flags & STEEP_SCALAR_POINTER) && !scalar->pointer)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s%s%s: expected a pointer to a float, got NULL",
                           what, of, label);
  /* Device memory is looked at when the step runs. */
  if ((scalar->flags & STEEP_SCALAR_POINTER) && steep_host_device(args))
    return STEEP_OK;
  value = steep_host_scalar(scalar);
  if (!(fabs(value) <= FLT_MAX))
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s%s%s: expected a finite FP32 number, got %g",
                           what, of, label, value);
  return STEEP_OK;
}

static int has_counter(const steep_step_args *args) {
  return steep_host_device(args) && args->step_counter;
}

static int32_t check_scalars(const steep_step_args *args, int32_t actions) {
  const steep_tables *t = &steep_host_tables;
  int32_t code = check_scalar(args, "grad_scale", NULL, &args->grad_scale);
  int64_t i;
  if (code || !(actions & STEEP_APPLY))
    return code;
  if (args->step < 1 && !has_counter(args))
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "step: expected 1 for the first update and one more "
                           "for each that follows, got %lld",
                           (long long)args->step);
  for (i = 0; i < t->group_count; ++i) {
    code = check_scalar(args, "lr", t->groups[i].name, &args->lr[i]);
    if (!code)
      code = check_scalar(args, "wd", t->groups[i].name, &args->wd[i]);
    if (code)
      return code;
  }
  return STEEP_OK;
}

static int32_t check_workspace(const steep_step_args *args, uint64_t bytes) {
  unsigned alignment = steep_host_device(args) ? 256 : 64;
  if (args->workspace_bytes < bytes)
    return steep_host_fail(args, STEEP_WORKSPACE_TOO_SMALL,
                           "workspace: expected %llu bytes, got %llu",
                           (unsigned long long)bytes,
                           (unsigned long long)args->workspace_bytes);
  if (!args->workspace || (uintptr_t)args->workspace % alignment != 0)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "workspace: expected a pointer aligned to %u bytes, "
                           "got %p",
                           alignment, args->workspace);
  return STEEP_OK;
}

static int32_t check_device(const steep_step_args *args) {
  const steep_device *gpu = steep_host_device(args);
  if (!gpu) {
    if (!steep_host_tables.cpu_kernels)
      return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                             "device: expected an opened GPU, as %s was "
                             "compiled without kernels for CPUs",
                             steep_host_tables.name);
    if (args->struct_size < offsetof(steep_step_args, masters) ||
        (!args->step_counter && !args->report))
      return STEEP_OK;
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "step_counter and report: expected NULL on the CPU");
  }
  if (gpu->magic != STEEP_DEVICE_MAGIC || !steep_host_tables.gpu)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "device: expected one that this artefact's "
                           "device_open gave");
  if ((uintptr_t)args->step_counter % 8 || (uintptr_t)args->report % 8)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "step_counter and report: expected pointers aligned "
                           "to 8 bytes, got %p and %p",
                           (void *)args->step_counter, (void *)args->report);
  if (args->pool)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "pool: expected NULL on a GPU");
  return STEEP_OK;
}

static int32_t check_pool(const steep_step_args *args) {
  const steep_pool *pool = args->pool;
  if (args->stream && !steep_host_device(args))
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "stream: expected NULL on the CPU, got %p",
                           args->stream);
  if (pool && pool->struct_size < sizeof(steep_pool))
    return steep_host_fail(
        args, STEEP_VERSION_MISMATCH, "pool: expected struct_size %u, got %u",
        (unsigned)sizeof(steep_pool), (unsigned)pool->struct_size);
  if (pool && !pool->run)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "pool: expected a run function, got NULL");
  return STEEP_OK;
}

double *steep_host_measures(const steep_step_args *args) {
  return args->struct_size < sizeof *args ? NULL : args->measures;
}

int32_t steep_host_check_flags(const steep_step_args *args) {
  if (args->flags & ~(uint32_t)STEEP_DELTA_ONLY)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "flags: expected 0 or STEEP_DELTA_ONLY, got %u",
                           (unsigned)args->flags);
  return STEEP_OK;
}

/* What came with version 1.2. */
static int32_t check_latest(const steep_step_args *args) {
  int latest = args->struct_size >= sizeof *args;
  if (steep_host_device(args)) {
    if (args->flags & STEEP_DELTA_ONLY)
      return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                             "flags: STEEP_DELTA_ONLY is not served on a GPU");
    if (latest && args->masters)
      return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                             "masters: expected NULL on a GPU, where weights "
                             "are FP32");
  }
  if (!steep_host_measures(args))
    return STEEP_OK;
  return check_count(args, "measure_count", args->measure_count,
                     steep_host_tables.measure_count);
}

static int32_t check_arrays(const steep_step_args *args, int32_t apply) {
  const steep_tables *t = &steep_host_tables;
  int32_t code = check_count(args, "parameter_count", args->parameter_count,
                             t->parameter_count);
  if (!code && apply)
    code = check_count(args, "state_count", args->state_count, t->state_count);
  if (!code && apply)
    code = check_count(args, "group_count", args->group_count, t->group_count);
  if (!code)
    code = check_present(args, "gradients", args->gradients);
  if (!code && apply)
    code = check_present(args, "parameters", args->parameters);
  if (!code && apply && t->state_count > 0)
    code = check_present(args, "states", args->states);
  if (!code && apply && (args->flags & STEEP_DELTA_ONLY))
    code = check_present(args, "updates", args->updates);
  if (!code && apply)
    code = check_present(args, "lr", args->lr);
  if (!code && apply)
    code = check_present(args, "wd", args->wd);
  return code;
}

int32_t steep_host_check(const steep_step_args *args, int32_t actions) {
  steep_call call = {args, NULL, 0, actions};
  uint64_t bytes;
  int32_t code = STEEP_OK;
  if (!args)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "args: expected a steep_step_args, got NULL");
  /* A smaller structure has no message that could be trusted. */
  if (args->struct_size < offsetof(steep_step_args, device))
    return steep_host_short("steep_step_args", args->struct_size,
                            offsetof(steep_step_args, device));
  code = steep_host_check_flags(args);
  if (!code)
    code = check_device(args);
  /* A caller may have kept what plan said from another process. */
  if (!code && !steep_host_device(args))
    code = steep_host_ask_amx(args->message, args->message_bytes);
  if (!code)
    code = check_latest(args);
  if (!code)
    code = check_arrays(args, actions & STEEP_APPLY);
  /* Before the scalars, which may point to where the tensors are. */
  if (!code)
    code = steep_host_check_tensors(&call);
  if (!code)
    code = check_scalars(args, actions);
  if (!code)
    code = check_pool(args);
  if (code)
    return code;
  bytes = workspace_bytes(steep_host_device(args));
  if (!steep_host_device(args))
    bytes += steep_host_stage_bytes(&call);
  code = check_workspace(args, bytes);
  if (!code)
    code = steep_host_check_overlap(&call, bytes);
  return code;
}
