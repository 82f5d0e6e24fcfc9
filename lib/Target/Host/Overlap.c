/*===-- Overlap.c - two tensors in one memory, one of them written -*- C
-*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

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

/*===----------------------------------------------------------------------===*\
|* Columns of one matrix: views that interleave and do not touch              *|
\*===----------------------------------------------------------------------===*/

/* Memory as runs of `width` bytes, one every `pitch`; pitch 0: one run. */
typedef struct {
  uintptr_t width, pitch;
} runs;

/* 0 where a tensor is no such thing. */
static int find_runs(const DLTensor *tensor, runs *out) {
  uintptr_t size = tensor->dtype.bits / 8u;
  int64_t i = tensor->ndim - 1, dense = 1, step;
  for (; i >= 0 && (!tensor->strides || tensor->shape[i] == 1 ||
                    tensor->strides[i] == dense);
       --i)
    dense *= tensor->shape[i];
  out->width = (uintptr_t)dense * size;
  out->pitch = 0;
  if (i < 0)
    return 1;
  step = tensor->strides[i];
  out->pitch = (uintptr_t)step * size;
  for (; i >= 0; --i) {
    if (tensor->shape[i] > 1 && tensor->strides[i] != step)
      return 0;
    step *= tensor->shape[i];
  }
  return 1;
}

/* `a` begins first, and `b` before its end. */
static int do_interleave(const steep_call *call, const range *a,
                         const range *b) {
  runs one, two;
  uintptr_t pitch, distance;
  if (a->role == STEEP_WORKSPACE || b->role == STEEP_WORKSPACE ||
      !find_runs(steep_host_tensor(call, (int)a->role, a->index), &one) ||
      !find_runs(steep_host_tensor(call, (int)b->role, b->index), &two))
    return 0;
  pitch = one.pitch;
  if (pitch == 0 || (two.pitch != 0 && two.pitch != pitch))
    return 0;
  distance = (b->begin - a->begin) % pitch;
  return distance >= one.width && distance + two.width <= pitch;
}

/*===----------------------------------------------------------------------===*\
|* All tensors of a call                                                      *|
\*===----------------------------------------------------------------------===*/

static range *add(range *out, const steep_call *call, int role, int64_t index) {
  const DLTensor *tensor = steep_host_tensor(call, role, index);
  if (!tensor)
    return out;
  out->begin = (uintptr_t)steep_host_data(tensor);
  out->end = out->begin + (uintptr_t)steep_host_span(tensor);
  out->role = role;
  out->index = index;
  return out + 1;
}

uint64_t steep_host_scratch_bytes(void) {
  const steep_tables *t = &steep_host_tables;
  return (uint64_t)(1 + 4 * t->parameter_count + t->state_count) *
         sizeof(range);
}

static int64_t collect(const steep_call *call, uint64_t bytes, range *ranges) {
  const steep_tables *t = &steep_host_tables;
  range *end = ranges;
  int64_t i;
  end->begin = (uintptr_t)call->args->workspace;
  end->end = end->begin + (uintptr_t)bytes;
  end->role = STEEP_WORKSPACE;
  end->index = 0;
  ++end;
  for (i = 0; i < t->parameter_count; ++i) {
    const steep_parameter_entry *entry = &t->parameters[i];
    int64_t k;
    if (steep_host_is_missing(call, i))
      continue;
    end = add(end, call, STEEP_GRADIENT, i);
    if (!(call->actions & STEEP_APPLY))
      continue;
    end = add(end, call, STEEP_PARAMETER, i);
    end = add(end, call, STEEP_MASTER, i);
    end = add(end, call, STEEP_UPDATE, i);
    for (k = 0; k < entry->state_count; ++k)
      end = add(end, call, STEEP_STATE, entry->state_begin + k);
  }
  return end - ranges;
}

static int is_read(const steep_call *call, const range *r) {
  return r->role == STEEP_GRADIENT ||
         (steep_host_is_delta(call) &&
          (r->role == STEEP_PARAMETER || r->role == STEEP_MASTER));
}

int32_t steep_host_check_overlap(const steep_call *call, uint64_t bytes) {
  const steep_device *gpu = steep_host_device(call->args);
  /* The workspace is large enough for this: see lib/Target/Plan.cpp. */
  range *ranges = gpu ? gpu->scratch : call->args->workspace;
  int64_t i, j, count = collect(call, bytes, ranges);
  sort(ranges, count);
  for (i = 0; i < count; ++i)
    for (j = i + 1; j < count && ranges[j].begin < ranges[i].end; ++j) {
      const range *a = &ranges[i], *b = &ranges[j];
      char one[STEEP_TITLE_BYTES], two[STEEP_TITLE_BYTES];
      if ((is_read(call, a) && is_read(call, b)) || do_interleave(call, a, b))
        continue;
      return steep_host_fail(call->args, STEEP_INVALID_ARGUMENT,
                             "%s and %s overlap in memory: expected tensors of "
                             "their own",
                             steep_host_title(one, (int)a->role, a->index),
                             steep_host_title(two, (int)b->role, b->index));
    }
  return STEEP_OK;
}
