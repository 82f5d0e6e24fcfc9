/*===-- Xla.c - the step as a function that XLA calls -------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* A handler of XLA's foreign function interface, for CPUs. With P parameters,*|
|* S states and G groups, in the order of steep_NAME_parameter:               *|
|*                                                                            *|
|*   arguments  P weights, P gradients, S states, lr f32[G], wd f32[G],       *|
|*              count s32[], the number of updates applied so far             *|
|*   results    P updates, S states, count s32[],                             *|
|*              workspace u8[steep_NAME_xla_workspace_bytes()]                *|
|*                                                                            *|
|* Nothing that is an argument is written, unless XLA lets a state's result   *|
|* share its memory. An update is what STEEP_DELTA_ONLY gives, all that is to *|
|* be added to the weight, decay included; after a gradient that is not       *|
|* finite it is zero, and states and count are as before. Loops are run by    *|
|* XLA's threads.                                                             *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Crew.h"
#include "Host.h"
#include "XlaApi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static xla_error *fail(const xla_call *call, int32_t code,
                       const char *message) {
  xla_error_create args = {sizeof args, NULL, message, code};
  return call->api->create_error(&args);
}

/*===----------------------------------------------------------------------===*\
|* XLA's threads                                                              *|
\*===----------------------------------------------------------------------===*/

/* Helpers may begin after the step has ended, so whoever is last frees it. */
typedef struct {
  steep_pool base;
  steep_crew crew;
  pthread_t caller;
  int64_t users; /* guarded by the crew's lock */
} helpers;

static void release(helpers *h) {
  int64_t left;
  pthread_mutex_lock(&h->crew.lock);
  left = --h->users;
  pthread_mutex_unlock(&h->crew.lock);
  if (left > 0)
    return;
  steep_host_crew_destroy(&h->crew);
  free(h);
}

/* XLA may call it at once, on the thread that schedules it. */
static void help(void *data) {
  helpers *h = data;
  if (!pthread_equal(pthread_self(), h->caller))
    steep_host_crew_join(&h->crew);
  release(h);
}

static void run(void *context, int64_t count,
                void (*task)(void *data, int64_t begin, int64_t end),
                void *data) {
  helpers *h = context;
  steep_host_crew_run(&h->crew, h->base.threads, count, task, data);
}

static void drop(const xla_call *call, xla_error *error) {
  xla_error_destroy args = {sizeof args, NULL, error};
  call->api->destroy_error(&args);
}

static int32_t count_threads(const xla_call *call) {
  int64_t threads = 1;
  xla_count_threads args = {sizeof args, NULL, call->context, &threads};
  xla_error *error;
  if (call->api->struct_size < sizeof *call->api)
    return 1;
  error = call->api->count_threads(&args);
  if (error) {
    drop(call, error);
    return 1;
  }
  return threads < 1 ? 1 : threads > 1024 ? 1024 : (int32_t)threads;
}

/* NULL: the step has the caller's thread alone. */
static helpers *gather(const xla_call *call) {
  int32_t threads = count_threads(call), i;
  helpers *h = threads > 1 ? calloc(1, sizeof *h) : NULL;
  if (!h)
    return NULL;
  h->base.struct_size = sizeof h->base;
  h->base.threads = threads;
  h->base.context = h;
  h->base.run = run;
  h->caller = pthread_self();
  h->users = threads;
  steep_host_crew_init(&h->crew);
  for (i = 1; i < threads; ++i) {
    xla_schedule args = {sizeof args, NULL, call->context, help, h};
    xla_error *error = call->api->schedule(&args);
    if (!error)
      continue;
    drop(call, error);
    release(h);
  }
  return h;
}

/* task(call, begin, end) on all items, which are few and large. */
static void each(helpers *h, int64_t count,
                 void (*task)(void *data, int64_t begin, int64_t end),
                 xla_call *call) {
  if (h)
    run(h, count, task, call);
  else
    task(call, 0, count);
}

static void dismiss(helpers *h) {
  if (!h)
    return;
  steep_host_crew_dismiss(&h->crew);
  release(h);
}

/*===----------------------------------------------------------------------===*\
|* From buffers to a step's arguments                                         *|
\*===----------------------------------------------------------------------===*/

/* The tensors of a call and what points at them: the first part of the
 * workspace that XLA gives. */
typedef struct {
  DLTensor *tensors;
  DLTensor **pointers;
  steep_scalar *lr, *wd;
  char *rest; /* the step's own workspace */
} layout;

static uint64_t align_up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/* Cuts `memory`, where there is one; returns how many bytes are needed. */
static uint64_t lay_out(char *memory, layout *out) {
  const steep_tables *t = &steep_host_tables;
  uint64_t count = (uint64_t)(3 * t->parameter_count + t->state_count);
  uint64_t scalars = (uint64_t)t->group_count * sizeof(steep_scalar);
  uint64_t pointers = align_up(count * sizeof(DLTensor));
  uint64_t lr = pointers + align_up(count * sizeof(DLTensor *));
  uint64_t wd = lr + align_up(scalars), rest = wd + align_up(scalars);
  if (memory) {
    out->tensors = (DLTensor *)(void *)memory;
    out->pointers = (DLTensor **)(void *)(memory + pointers);
    out->lr = (steep_scalar *)(void *)(memory + lr);
    out->wd = (steep_scalar *)(void *)(memory + wd);
    out->rest = memory + rest;
  }
  return rest + (uint64_t)t->workspace_bytes;
}

/* 63 more than it takes, so that it can be aligned. */
uint64_t steep_host_export_xla_workspace_bytes(void) {
  return lay_out(NULL, NULL) + 63;
}

static void describe(DLTensor *tensor, const xla_buffer *buffer) {
  memset(tensor, 0, sizeof *tensor);
  tensor->data = buffer->data;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = (int32_t)buffer->rank;
  /* Whatever else it is, it is not FP32, and the step says whose it is. */
  tensor->dtype.code = buffer->dtype == XLA_F32 ? kDLFloat : kDLInt;
  tensor->dtype.bits = 32;
  tensor->dtype.lanes = 1;
  tensor->shape = buffer->dims;
}

static int64_t count_elements(const xla_buffer *buffer) {
  int64_t count = 1, i;
  for (i = 0; i < buffer->rank; ++i)
    count *= buffer->dims[i];
  return count;
}

static int is(const xla_buffer *buffer, int32_t dtype, int64_t least) {
  return buffer->dtype == dtype && count_elements(buffer) >= least;
}

/* State `i` as it was, and where it will be. */
static const xla_buffer *old_state(const xla_call *call, int64_t i) {
  return call->arguments.buffers[2 * steep_host_tables.parameter_count + i];
}
static const xla_buffer *new_state(const xla_call *call, int64_t i) {
  return call->results.buffers[steep_host_tables.parameter_count + i];
}

/* Are the counts, and the buffers that are no tensors of the step, as the
 * comment above says? The step itself looks at the others. */
static const char *find_fault(const xla_call *call) {
  const steep_tables *t = &steep_host_tables;
  int64_t p = t->parameter_count, s = t->state_count, g = t->group_count;
  int64_t arguments = 2 * p + s + 3, results = p + s + 2, i;
  xla_buffer **in = call->arguments.buffers, **out = call->results.buffers;
  if (call->arguments.size != arguments || call->results.size != results)
    return "expected the arguments and results of this artefact's parameters";
  if (!is(in[arguments - 3], XLA_F32, g) || !is(in[arguments - 2], XLA_F32, g))
    return "lr and wd: expected f32, one number a group";
  if (!is(in[arguments - 1], XLA_S32, 1) || !is(out[results - 2], XLA_S32, 1))
    return "count: expected s32";
  if (!is(out[results - 1], XLA_U8,
          (int64_t)steep_host_export_xla_workspace_bytes()))
    return "workspace: expected u8, steep_NAME_xla_workspace_bytes() of them";
  for (i = 0; i < s; ++i)
    if (count_elements(old_state(call, i)) !=
        count_elements(new_state(call, i)))
      return "states: expected the shapes of their results";
  return NULL;
}

/* States begin .. end - 1 of `data`, a call: results begin as copies. */
static void copy_states(void *data, int64_t begin, int64_t end) {
  const xla_call *call = data;
  int64_t i;
  for (i = begin; i < end; ++i) {
    const xla_buffer *from = old_state(call, i), *to = new_state(call, i);
    if (from->dtype == XLA_F32 && to->dtype == XLA_F32 &&
        to->data != from->data)
      memcpy(to->data, from->data, (size_t)count_elements(to) * sizeof(float));
  }
}

/* A skipped step writes nothing: nothing is to be added then. */
static void clear_updates(void *data, int64_t begin, int64_t end) {
  const xla_call *call = data;
  int64_t p;
  for (p = begin; p < end; ++p) {
    const xla_buffer *update = call->results.buffers[p];
    memset(update->data, 0, (size_t)count_elements(update) * sizeof(float));
  }
}

static void fill_scalars(steep_scalar *out, const xla_buffer *numbers) {
  int64_t i;
  for (i = 0; i < steep_host_tables.group_count; ++i) {
    memset(&out[i], 0, sizeof out[i]);
    out[i].value = ((const float *)numbers->data)[i];
  }
}

static steep_step_args fill(const xla_call *call, const layout *l) {
  const steep_tables *t = &steep_host_tables;
  const int64_t p = t->parameter_count, s = t->state_count;
  xla_buffer **in = call->arguments.buffers, **out = call->results.buffers;
  steep_step_args args;
  int64_t i;
  for (i = 0; i < 3 * p + s; ++i) {
    /* Weights and gradients are arguments; updates and states are results. */
    describe(&l->tensors[i], i < 2 * p ? in[i] : out[i - 2 * p]);
    l->pointers[i] = &l->tensors[i];
  }
  fill_scalars(l->lr, in[2 * p + s]);
  fill_scalars(l->wd, in[2 * p + s + 1]);
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.flags = STEEP_DELTA_ONLY;
  args.parameter_count = p;
  args.parameters = l->pointers;
  args.gradients = l->pointers + p;
  args.updates = l->pointers + 2 * p;
  args.state_count = s;
  args.states = l->pointers + 3 * p;
  args.group_count = t->group_count;
  args.lr = l->lr;
  args.wd = l->wd;
  args.grad_scale.value = 1;
  args.step = (int64_t) * (const int32_t *)in[2 * p + s + 2]->data + 1;
  args.workspace = l->rest;
  args.workspace_bytes = (uint64_t)t->workspace_bytes;
  return args;
}

static xla_error *execute(xla_call *call) {
  const steep_tables *t = &steep_host_tables;
  const char *fault = find_fault(call);
  xla_buffer **results = call->results.buffers;
  char message[512], *memory;
  steep_step_args args;
  helpers *h;
  layout l;
  int32_t code;
  if (fault)
    return fail(call, XLA_INVALID_ARGUMENT, fault);
  memory = results[call->results.size - 1]->data;
  memory += -(uintptr_t)memory % 64;
  lay_out(memory, &l);
  args = fill(call, &l);
  args.message = message;
  args.message_bytes = sizeof message;
  h = gather(call);
  args.pool = h ? &h->base : NULL;
  each(h, t->state_count, copy_states, call);
  code = steep_host_export_step(&args);
  if (code == STEEP_SKIPPED)
    each(h, t->parameter_count, clear_updates, call);
  dismiss(h);
  if (code < 0)
    return fail(call, XLA_INVALID_ARGUMENT, message);
  *(int32_t *)results[call->results.size - 2]->data =
      (int32_t)(code == STEEP_SKIPPED ? args.step - 1 : args.step);
  return NULL;
}

/* XLA asks once what a handler was made for: for whatever asks, since only
 * fields are used that every version 0.x has. */
static int answer_metadata(xla_call *call) {
  xla_extension *extension = call->extensions;
  for (; extension; extension = extension->next)
    if (extension->type == XLA_EXTENSION_METADATA) {
      xla_metadata *metadata =
          ((xla_metadata_extension *)(void *)extension)->metadata;
      metadata->version.major = 0;
      metadata->version.minor = call->api ? call->api->version.minor : 1;
      metadata->traits = 0;
      return 1;
    }
  return 0;
}

void *steep_host_export_xla_step(void *frame) {
  xla_call *call = frame;
  if (answer_metadata(call))
    return NULL;
  if (call->stage != XLA_STAGE_EXECUTE)
    return fail(call, XLA_INTERNAL,
                "the step runs in the stage `execute` only");
  return execute(call);
}
