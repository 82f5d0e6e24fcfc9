/*===-- Tensors.c - are a call's tensors what was compiled? -------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Every message names the tensor, what was expected and what came.           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <stdio.h>
#include <string.h>

/*===----------------------------------------------------------------------===*\
|* Which tensors there are                                                    *|
\*===----------------------------------------------------------------------===*/

static const DLTensor *listed(DLTensor *const *list, int64_t index) {
  return list ? list[index] : NULL;
}

/* The caller's entry for a parameter. Mostly they come in the same order. */
static const steep_binding *find_binding(const steep_call *call,
                                         int64_t parameter) {
  const char *first = (const char *)call->bindings;
  int64_t i, size = call->bindings[0].struct_size;
  for (i = 0; i < call->binding_count; ++i) {
    int64_t at = (parameter + i) % call->binding_count;
    const steep_binding *binding =
        (const steep_binding *)(const void *)(first + at * size);
    if (binding->index == parameter)
      return binding;
  }
  return NULL;
}

static const DLTensor *bound(const steep_call *call, int role, int64_t index) {
  const steep_tables *t = &steep_host_tables;
  int64_t parameter = role == STEEP_STATE ? t->states[index].parameter : index;
  const steep_binding *binding = find_binding(call, parameter);
  if (!binding)
    return NULL;
  switch (role) {
  case STEEP_PARAMETER:
    return binding->parameter;
  case STEEP_GRADIENT:
    return binding->gradient;
  case STEEP_STATE:
    return listed(binding->states,
                  index - t->parameters[parameter].state_begin);
  case STEEP_UPDATE:
    return binding->update;
  default:
    return binding->master;
  }
}

const DLTensor *steep_host_tensor(const steep_call *call, int role,
                                  int64_t index) {
  const steep_step_args *args = call->args;
  if (call->bindings)
    return bound(call, role, index);
  switch (role) {
  case STEEP_PARAMETER:
    return listed(args->parameters, index);
  case STEEP_GRADIENT:
    return listed(args->gradients, index);
  case STEEP_STATE:
    return listed(args->states, index);
  case STEEP_UPDATE:
    return listed(args->updates, index);
  default:
    return args->struct_size < sizeof *args ? NULL
                                            : listed(args->masters, index);
  }
}

int steep_host_is_missing(const steep_call *call, int64_t parameter) {
  return !call->bindings && !call->args->gradients[parameter] &&
         !steep_host_device(call->args);
}

int steep_host_is_delta(const steep_call *call) {
  return (call->args->flags & STEEP_DELTA_ONLY) != 0;
}

/*===----------------------------------------------------------------------===*\
|* Of one tensor                                                              *|
\*===----------------------------------------------------------------------===*/

void *steep_host_data(const DLTensor *tensor) {
  return (char *)tensor->data + tensor->byte_offset;
}

int steep_host_is_bf16(const DLTensor *tensor) {
  return tensor && tensor->dtype.code == kDLBfloat;
}

static int64_t size_of_element(const DLTensor *tensor) {
  return tensor->dtype.bits / 8;
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

int steep_host_is_plain(const DLTensor *tensor) {
  int64_t stride;
  return !tensor ||
         (tensor->dtype.code == kDLFloat && find_gap(tensor, &stride) < 0);
}

uint64_t steep_host_span(const DLTensor *tensor) {
  uint64_t last = 0, dense = 1;
  int64_t i;
  for (i = tensor->ndim - 1; i >= 0; --i) {
    uint64_t stride = tensor->strides ? (uint64_t)tensor->strides[i] : dense;
    last += (uint64_t)(tensor->shape[i] - 1) * stride;
    dense *= (uint64_t)tensor->shape[i];
  }
  return (last + 1) * (uint64_t)size_of_element(tensor);
}

const char *steep_host_title(char out[STEEP_TITLE_BYTES], int role,
                             int64_t index) {
  static const char *const words[] = {"parameter", "gradient of", "state",
                                      "update of", "master of"};
  const steep_tables *t = &steep_host_tables;
  char name[STEEP_QUOTED_BYTES], state[STEEP_QUOTED_BYTES];
  if (role == STEEP_WORKSPACE)
    return strcpy(out, "the workspace");
  if (role == STEEP_STATE) {
    int64_t owner = t->states[index].parameter;
    snprintf(out, STEEP_TITLE_BYTES, "state %s of \"%s\"",
             steep_host_quote(state, t->states[index].name),
             steep_host_quote(name, t->parameters[owner].name));
    return out;
  }
  snprintf(out, STEEP_TITLE_BYTES, "%s \"%s\"", words[role],
           steep_host_quote(name, t->parameters[index].name));
  return out;
}

const char *steep_host_shape(char out[STEEP_SHAPE_BYTES], int64_t ndim,
                             const int64_t *shape) {
  size_t used = 0;
  int64_t i;
  out[0] = 0;
  for (i = 0; i < ndim && used < STEEP_SHAPE_BYTES; ++i)
    used += (size_t)snprintf(out + used, STEEP_SHAPE_BYTES - used, "%s%lld",
                             i ? "x" : "", (long long)shape[i]);
  return out;
}

/*===----------------------------------------------------------------------===*\
|* Checks                                                                     *|
\*===----------------------------------------------------------------------===*/

/* A tensor that is looked at, and what it is for. */
typedef struct {
  const steep_call *call;
  const DLTensor *tensor;
  int role;
  int64_t ndim;
  const int64_t *shape;
  const char *what; /* its title */
} subject;

static int32_t check_device(const subject *s) {
  const steep_device *gpu = steep_host_device(s->call->args);
  const DLDevice *device = &s->tensor->device;
  if (!gpu && device->device_type == kDLCUDA && steep_host_tables.gpu)
    return steep_host_fail(
        s->call->args, STEEP_INVALID_ARGUMENT,
        "%s: is a tensor of a GPU (DLPack device type 2), but the step has no "
        "device; expected what device_open gave in it",
        s->what);
  if (!gpu && device->device_type != kDLCPU)
    return steep_host_fail(
        s->call->args, STEEP_INVALID_ARGUMENT,
        "%s: expected a CPU tensor (DLPack device type 1), got device type %d",
        s->what, (int)device->device_type);
  if (gpu &&
      (device->device_type != kDLCUDA || device->device_id != gpu->ordinal))
    return steep_host_fail(s->call->args, STEEP_INVALID_ARGUMENT,
                           "%s: expected a tensor of GPU %d (DLPack device "
                           "type 2), got device type %d, number %d",
                           s->what, gpu->ordinal, (int)device->device_type,
                           (int)device->device_id);
  return STEEP_OK;
}

static int32_t check_type(const subject *s) {
  const DLDataType type = s->tensor->dtype;
  int gpu = steep_host_device(s->call->args) != NULL;
  int bf16 = !gpu && s->role != STEEP_STATE && s->role != STEEP_MASTER;
  if (type.lanes == 1 && type.code == kDLFloat && type.bits == 32)
    return STEEP_OK;
  if (bf16 && type.lanes == 1 && type.code == kDLBfloat && type.bits == 16)
    return STEEP_OK;
  return steep_host_fail(
      s->call->args, STEEP_INVALID_ARGUMENT,
      "%s: expected FP32 elements (DLPack type 2, 32 bits, 1 lane)%s, got type "
      "%d, %d bits, %d lanes",
      s->what, bf16 ? " or BF16 (type 4, 16 bits)" : "", type.code, type.bits,
      type.lanes);
}

static int32_t check_shape(const subject *s) {
  char wanted[STEEP_SHAPE_BYTES], given[STEEP_SHAPE_BYTES];
  int64_t i;
  steep_host_shape(wanted, s->ndim, s->shape);
  if (s->tensor->ndim != s->ndim || !s->tensor->shape)
    return steep_host_fail(s->call->args, STEEP_INVALID_ARGUMENT,
                           "%s: expected a %s of %s, got a tensor of rank %d%s",
                           s->what, s->ndim == 2 ? "matrix" : "tensor", wanted,
                           (int)s->tensor->ndim,
                           s->tensor->shape ? "" : " without a shape");
  for (i = 0; i < s->ndim; ++i)
    if (s->tensor->shape[i] != s->shape[i])
      return steep_host_fail(
          s->call->args, STEEP_INVALID_ARGUMENT,
          "%s: expected shape %s, got %s", s->what, wanted,
          steep_host_shape(given, s->ndim, s->tensor->shape));
  return STEEP_OK;
}

/* On a GPU, kernels work on tensors where they are. */
static int32_t check_dense(const subject *s) {
  const int64_t *strides = s->tensor->strides;
  int64_t stride, dim = find_gap(s->tensor, &stride);
  if (dim < 0)
    return STEEP_OK;
  if (s->ndim == 2)
    return steep_host_fail(
        s->call->args, STEEP_INVALID_ARGUMENT,
        "%s: expected dense rows (strides %lld, 1), got strides %lld, %lld",
        s->what, (long long)s->shape[1], (long long)strides[0],
        (long long)strides[1]);
  return steep_host_fail(
      s->call->args, STEEP_INVALID_ARGUMENT,
      "%s: expected a dense tensor (stride %lld of dimension "
      "%lld), got stride %lld",
      s->what, (long long)stride, (long long)dim, (long long)strides[dim]);
}

/* May some element be reached twice? Says no only where each stride is beyond
 * all that smaller ones reach, as they are in any view of a dense tensor. */
static int may_repeat(const DLTensor *tensor) {
  int64_t i, j;
  for (i = 0; i < tensor->ndim; ++i) {
    int64_t reach = 0;
    if (tensor->shape[i] == 1)
      continue;
    for (j = 0; j < tensor->ndim; ++j) {
      int smaller = tensor->strides[j] < tensor->strides[i] ||
                    (tensor->strides[j] == tensor->strides[i] && j > i);
      if (j != i && smaller)
        reach += (tensor->shape[j] - 1) * tensor->strides[j];
    }
    if (tensor->strides[i] <= reach)
      return 1;
  }
  return 0;
}

static int32_t check_strides(const subject *s) {
  const int64_t *strides = s->tensor->strides;
  int64_t i, reach = 0, part;
  if (steep_host_device(s->call->args))
    return check_dense(s);
  for (i = 0; strides && i < s->ndim; ++i) {
    if (strides[i] < 0 && s->shape[i] > 1)
      return steep_host_fail(s->call->args, STEEP_INVALID_ARGUMENT,
                             "%s: expected strides of at least 0, got %lld for "
                             "dimension %lld",
                             s->what, (long long)strides[i], (long long)i);
    /* Far below 2^63, so that no sum of bytes wraps. */
    if (s->shape[i] > 1 &&
        (__builtin_mul_overflow(s->shape[i] - 1, strides[i], &part) ||
         __builtin_add_overflow(reach, part, &reach) || reach >> 58 != 0))
      return steep_host_fail(s->call->args, STEEP_INVALID_ARGUMENT,
                             "%s: expected strides within an address space, "
                             "got %lld for dimension %lld",
                             s->what, (long long)strides[i], (long long)i);
  }
  if (strides && s->role != STEEP_GRADIENT && may_repeat(s->tensor))
    return steep_host_fail(s->call->args, STEEP_INVALID_ARGUMENT,
                           "%s: expected strides that reach no element twice",
                           s->what);
  return STEEP_OK;
}

static int32_t check_data(const subject *s) {
  unsigned alignment = (unsigned)size_of_element(s->tensor);
  if (!s->tensor->data)
    return steep_host_fail(s->call->args, STEEP_INVALID_ARGUMENT,
                           "%s: expected data, got a NULL pointer", s->what);
  /* Kernels of a GPU load four floats at a time. */
  if (steep_host_device(s->call->args))
    alignment = 16;
  if ((uintptr_t)steep_host_data(s->tensor) % alignment != 0)
    return steep_host_fail(s->call->args, STEEP_INVALID_ARGUMENT,
                           "%s: expected data aligned to %u bytes, got %p",
                           s->what, alignment, steep_host_data(s->tensor));
  return STEEP_OK;
}

static int32_t check_tensor(const steep_call *call, int role, int64_t index) {
  const steep_tables *t = &steep_host_tables;
  char what[STEEP_TITLE_BYTES];
  subject s = {call, steep_host_tensor(call, role, index), role, 0, NULL, what};
  int32_t code;
  /* In plan it is dense and FP32 then. */
  if (!s.tensor && call->bindings)
    return STEEP_OK;
  steep_host_title(what, role, index);
  if (!s.tensor)
    return steep_host_fail(call->args, STEEP_INVALID_ARGUMENT,
                           "%s: expected a tensor, got NULL", what);
  s.ndim =
      role == STEEP_STATE ? t->states[index].ndim : t->parameters[index].ndim;
  s.shape =
      role == STEEP_STATE ? t->states[index].shape : t->parameters[index].shape;
  code = check_device(&s);
  if (!code)
    code = check_type(&s);
  if (!code)
    code = check_shape(&s);
  if (!code)
    code = check_strides(&s);
  return code || call->bindings ? code : check_data(&s);
}

/* A BF16 weight and its master, which have been checked one by one. */
static int32_t check_master(const steep_call *call, int64_t index) {
  const DLTensor *master = steep_host_tensor(call, STEEP_MASTER, index);
  int bf16 =
      steep_host_is_bf16(steep_host_tensor(call, STEEP_PARAMETER, index));
  char what[STEEP_TITLE_BYTES];
  if (bf16 && !master && !steep_host_is_delta(call))
    return steep_host_fail(
        call->args, STEEP_INVALID_ARGUMENT,
        "%s: expected an FP32 master of this BF16 weight, got NULL",
        steep_host_title(what, STEEP_PARAMETER, index));
  if (!bf16 && master)
    return steep_host_fail(call->args, STEEP_INVALID_ARGUMENT,
                           "%s: expected NULL, since the weight is FP32 itself",
                           steep_host_title(what, STEEP_MASTER, index));
  return STEEP_OK;
}

int32_t steep_host_check_parameter(const steep_call *call, int64_t index) {
  const steep_parameter_entry *entry = &steep_host_tables.parameters[index];
  int32_t code = check_tensor(call, STEEP_GRADIENT, index);
  int64_t i;
  if (code || !(call->actions & STEEP_APPLY))
    return code;
  code = check_tensor(call, STEEP_PARAMETER, index);
  if (!code && steep_host_tensor(call, STEEP_MASTER, index))
    code = check_tensor(call, STEEP_MASTER, index);
  if (!code)
    code = check_master(call, index);
  if (!code && (steep_host_is_delta(call) ||
                steep_host_tensor(call, STEEP_UPDATE, index)))
    code = check_tensor(call, STEEP_UPDATE, index);
  for (i = 0; !code && i < entry->state_count; ++i)
    code = check_tensor(call, STEEP_STATE, entry->state_begin + i);
  return code;
}

int32_t steep_host_check_tensors(const steep_call *call) {
  int32_t code = STEEP_OK;
  int64_t i;
  for (i = 0; !code && i < steep_host_tables.parameter_count; ++i)
    if (!steep_host_is_missing(call, i))
      code = steep_host_check_parameter(call, i);
  return code;
}
