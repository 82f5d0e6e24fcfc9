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
#include <stdio.h>
#include <string.h>

double steep_host_scalar(const steep_scalar *scalar) {
  return scalar->flags & STEEP_SCALAR_POINTER ? (double)*scalar->pointer
                                              : scalar->value;
}

steep_device *steep_host_device(const steep_step_args *args) {
  return args->struct_size < offsetof(steep_step_args, masters) ? NULL
                                                                : args->device;
}

void *steep_host_data(const DLTensor *tensor) {
  return (char *)tensor->data + tensor->byte_offset;
}

/*===----------------------------------------------------------------------===*\
|* Tensors                                                                    *|
\*===----------------------------------------------------------------------===*/

/* The roles of a tensor, in the order in which they are checked. */
enum { PARAMETER, GRADIENT, STATE, UPDATE, WORKSPACE };

enum { TITLE_BYTES = 2 * STEEP_QUOTED_BYTES + 64 };

/* E.g. `state momentum_buffer of "lm_head.weight"`. */
static const char *title(char out[TITLE_BYTES], int role, int64_t index) {
  static const char *const words[] = {"parameter", "gradient of", "state",
                                      "update of"};
  const steep_tables *t = &steep_host_tables;
  char name[STEEP_QUOTED_BYTES], state[STEEP_QUOTED_BYTES];
  if (role == WORKSPACE)
    return strcpy(out, "the workspace");
  if (role == STATE) {
    int64_t owner = t->states[index].parameter;
    snprintf(out, TITLE_BYTES, "state %s of \"%s\"",
             steep_host_quote(state, t->states[index].name),
             steep_host_quote(name, t->parameters[owner].name));
    return out;
  }
  snprintf(out, TITLE_BYTES, "%s \"%s\"", words[role],
           steep_host_quote(name, t->parameters[index].name));
  return out;
}

/* "64x32x3x3", cut where it is long. */
enum { SHAPE_BYTES = 96 };
static const char *format_shape(char out[SHAPE_BYTES], int64_t ndim,
                                const int64_t *shape) {
  size_t used = 0;
  int64_t i;
  out[0] = 0;
  for (i = 0; i < ndim && used < SHAPE_BYTES; ++i)
    used += (size_t)snprintf(out + used, SHAPE_BYTES - used, "%s%lld",
                             i ? "x" : "", (long long)shape[i]);
  return out;
}

static int same_shape(const DLTensor *tensor, int64_t ndim,
                      const int64_t *shape) {
  int64_t i;
  for (i = 0; i < ndim; ++i)
    if (tensor->shape[i] != shape[i])
      return 0;
  return 1;
}

/* The first dimension whose stride is not that of a dense tensor, or -1. The
 * stride of an extent of 1 has no meaning. */
static int64_t find_gap(const DLTensor *tensor, int64_t *expected) {
  int64_t i;
  *expected = 1;
  for (i = tensor->ndim - 1; tensor->strides && i >= 0; --i) {
    if (tensor->shape[i] > 1 && tensor->strides[i] != *expected)
      return i;
    *expected *= tensor->shape[i];
  }
  return -1;
}

static int32_t check_layout(const steep_step_args *args, const char *what,
                            const DLTensor *tensor, int64_t ndim,
                            const int64_t *shape) {
  const steep_device *gpu = steep_host_device(args);
  char wanted[SHAPE_BYTES], given[SHAPE_BYTES];
  int64_t dim, stride;
  if (!gpu && tensor->device.device_type != kDLCPU)
    return steep_host_fail(
        args, STEEP_INVALID_ARGUMENT,
        "%s: expected a CPU tensor (DLPack device type 1), got device type %d",
        what, (int)tensor->device.device_type);
  if (gpu && (tensor->device.device_type != kDLCUDA ||
              tensor->device.device_id != gpu->ordinal))
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s: expected a tensor of GPU %d (DLPack device "
                           "type 2), got device type %d, number %d",
                           what, gpu->ordinal, (int)tensor->device.device_type,
                           (int)tensor->device.device_id);
  if (tensor->dtype.code != kDLFloat || tensor->dtype.bits != 32 ||
      tensor->dtype.lanes != 1)
    return steep_host_fail(
        args, STEEP_INVALID_ARGUMENT,
        "%s: expected FP32 elements (DLPack type 2, 32 bits, 1 lane), got type "
        "%d, %d bits, %d lanes",
        what, tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
  format_shape(wanted, ndim, shape);
  if (tensor->ndim != ndim || !tensor->shape)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s: expected a %s of %s, got a tensor of rank %d%s",
                           what, ndim == 2 ? "matrix" : "tensor", wanted,
                           (int)tensor->ndim,
                           tensor->shape ? "" : " without a shape");
  if (!same_shape(tensor, ndim, shape))
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s: expected shape %s, got %s", what, wanted,
                           format_shape(given, ndim, tensor->shape));
  dim = find_gap(tensor, &stride);
  if (dim < 0)
    return STEEP_OK;
  if (ndim == 2)
    return steep_host_fail(
        args, STEEP_INVALID_ARGUMENT,
        "%s: expected dense rows (strides %lld, 1), got strides %lld, %lld",
        what, (long long)shape[1], (long long)tensor->strides[0],
        (long long)tensor->strides[1]);
  return steep_host_fail(
      args, STEEP_INVALID_ARGUMENT,
      "%s: expected a dense tensor (stride %lld of dimension "
      "%lld), got stride %lld",
      what, (long long)stride, (long long)dim, (long long)tensor->strides[dim]);
}

static int32_t check_tensor(const steep_step_args *args, int role,
                            int64_t index, const DLTensor *tensor, int64_t ndim,
                            const int64_t *shape) {
  char what[TITLE_BYTES];
  unsigned alignment;
  int32_t code;
  if (!tensor)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s: expected a tensor, got NULL",
                           title(what, role, index));
  title(what, role, index);
  code = check_layout(args, what, tensor, ndim, shape);
  if (code)
    return code;
  if (!tensor->data)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s: expected data, got a NULL pointer", what);
  /* Kernels of a GPU load four floats at a time. */
  alignment = steep_host_device(args) ? 16 : 4;
  if ((uintptr_t)steep_host_data(tensor) % alignment != 0)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "%s: expected data aligned to %u bytes, got %p",
                           what, alignment, steep_host_data(tensor));
  return STEEP_OK;
}

/* A parameter without a gradient stays as it is, and nothing of it is looked
 * at; on a GPU, whose tables are compiled for all of them, it is refused. */
static int is_missing(const steep_step_args *args, int64_t parameter) {
  return !args->gradients[parameter] && !steep_host_device(args);
}

static int32_t check_parameter(const steep_step_args *args, int32_t actions,
                               int64_t index) {
  const steep_parameter_entry *p = &steep_host_tables.parameters[index];
  const steep_state_entry *states = steep_host_tables.states;
  int64_t s, end = p->state_begin + p->state_count;
  int32_t code = check_tensor(args, GRADIENT, index, args->gradients[index],
                              p->ndim, p->shape);
  if (!(actions & STEEP_APPLY))
    return code;
  if (!code)
    code = check_tensor(args, PARAMETER, index, args->parameters[index],
                        p->ndim, p->shape);
  if (!code && args->updates && args->updates[index])
    code = check_tensor(args, UPDATE, index, args->updates[index], p->ndim,
                        p->shape);
  for (s = p->state_begin; !code && s < end; ++s)
    code = check_tensor(args, STATE, s, args->states[s], states[s].ndim,
                        states[s].shape);
  return code;
}

static int32_t check_tensors(const steep_step_args *args, int32_t actions) {
  int64_t i;
  for (i = 0; i < steep_host_tables.parameter_count; ++i) {
    int32_t code =
        is_missing(args, i) ? STEEP_OK : check_parameter(args, actions, i);
    if (code)
      return code;
  }
  return STEEP_OK;
}

static uint64_t workspace_bytes(const steep_device *gpu) {
  return gpu ? steep_host_tables.gpu->workspace_bytes(gpu->target)
             : (uint64_t)steep_host_tables.workspace_bytes;
}

/*===----------------------------------------------------------------------===*\
|* Overlap: two tensors in the same memory, one of them written               *|
\*===----------------------------------------------------------------------===*/

typedef struct {
  uintptr_t begin, end;
  int64_t role, index;
} range;

/* Heap sort by `begin`: in place, without recursion or memory. */
static void sift(range *ranges, int64_t root, int64_t count) {
  for (;;) {
    int64_t child = 2 * root + 1;
    range swap;
    if (child >= count)
      return;
    if (child + 1 < count && ranges[child].begin < ranges[child + 1].begin)
      ++child;
    if (ranges[root].begin >= ranges[child].begin)
      return;
    swap = ranges[root];
    ranges[root] = ranges[child];
    ranges[child] = swap;
    root = child;
  }
}

static void sort(range *ranges, int64_t count) {
  int64_t i;
  for (i = count / 2 - 1; i >= 0; --i)
    sift(ranges, i, count);
  for (i = count - 1; i > 0; --i) {
    range swap = ranges[0];
    ranges[0] = ranges[i];
    ranges[i] = swap;
    sift(ranges, 0, i);
  }
}

static range *add(range *out, const DLTensor *tensor, int role, int64_t index) {
  uintptr_t elements = 1;
  int32_t dim;
  out->begin = (uintptr_t)steep_host_data(tensor);
  for (dim = 0; dim < tensor->ndim; ++dim)
    elements *= (uintptr_t)tensor->shape[dim];
  out->end = out->begin + elements * sizeof(float);
  out->role = role;
  out->index = index;
  return out + 1;
}

uint64_t steep_host_scratch_bytes(void) {
  const steep_tables *t = &steep_host_tables;
  return (uint64_t)(1 + 3 * t->parameter_count + t->state_count) *
         sizeof(range);
}

static int32_t check_overlap(const steep_step_args *args, int32_t actions) {
  const steep_tables *t = &steep_host_tables;
  const steep_device *gpu = steep_host_device(args);
  /* The workspace is large enough for this: see lib/Target/Plan.cpp. */
  range *ranges = gpu ? gpu->scratch : args->workspace, *end = ranges;
  const range *reach = NULL, *written = NULL;
  int64_t i, count;
  end->begin = (uintptr_t)args->workspace;
  end->end = end->begin + (uintptr_t)workspace_bytes(gpu);
  end->role = WORKSPACE;
  end->index = 0;
  ++end;
  for (i = 0; i < t->parameter_count; ++i) {
    const steep_parameter_entry *p = &t->parameters[i];
    int64_t s;
    if (is_missing(args, i))
      continue;
    end = add(end, args->gradients[i], GRADIENT, i);
    if (!(actions & STEEP_APPLY))
      continue;
    end = add(end, args->parameters[i], PARAMETER, i);
    if (args->updates && args->updates[i])
      end = add(end, args->updates[i], UPDATE, i);
    for (s = 0; s < p->state_count; ++s)
      end =
          add(end, args->states[p->state_begin + s], STATE, p->state_begin + s);
  }
  count = end - ranges;
  sort(ranges, count);
  for (i = 0; i < count; ++i) {
    const range *r = &ranges[i], *other = NULL;
    if (written && r->begin < written->end)
      other = written;
    else if (r->role != GRADIENT && reach && r->begin < reach->end)
      other = reach;
    if (other) {
      char one[TITLE_BYTES], two[TITLE_BYTES];
      return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                             "%s and %s overlap in memory: expected tensors of "
                             "their own",
                             title(one, (int)other->role, other->index),
                             title(two, (int)r->role, r->index));
    }
    if (!reach || r->end > reach->end)
      reach = r;
    if (r->role != GRADIENT && (!written || r->end > written->end))
      written = r;
  }
  return STEEP_OK;
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

static int32_t check_workspace(const steep_step_args *args) {
  const steep_device *gpu = steep_host_device(args);
  uint64_t bytes = workspace_bytes(gpu);
  unsigned alignment = gpu ? 256 : 64;
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

/* What 1.2 declares and this version does not serve yet. */
static int32_t check_later(const steep_step_args *args) {
  if (args->struct_size < sizeof *args)
    return STEEP_OK;
  if (args->masters)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "masters: expected NULL; not served yet");
  if (args->measures && steep_host_device(args))
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "measures: expected NULL on a GPU; not served yet");
  if (args->measures)
    return check_count(args, "measure_count", args->measure_count,
                       steep_host_tables.measure_count);
  return STEEP_OK;
}

int32_t steep_host_check(const steep_step_args *args, int32_t actions) {
  const steep_tables *t = &steep_host_tables;
  int32_t apply = actions & STEEP_APPLY, code = STEEP_OK;
  if (!args)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "args: expected a steep_step_args, got NULL");
  /* A smaller structure has no message that could be trusted. */
  if (args->struct_size < offsetof(steep_step_args, device))
    return steep_host_short("steep_step_args", args->struct_size,
                            offsetof(steep_step_args, device));
  if (args->flags != 0)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "flags: expected 0, got %u", (unsigned)args->flags);
  code = check_device(args);
  if (!code)
    code = check_later(args);
  if (!code)
    code = check_count(args, "parameter_count", args->parameter_count,
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
  if (!code && apply)
    code = check_present(args, "lr", args->lr);
  if (!code && apply)
    code = check_present(args, "wd", args->wd);
  if (!code)
    code = check_scalars(args, actions);
  if (!code)
    code = check_pool(args);
  if (!code)
    code = check_workspace(args);
  if (!code)
    code = check_tensors(args, actions);
  if (!code)
    code = check_overlap(args, actions);
  return code;
}
