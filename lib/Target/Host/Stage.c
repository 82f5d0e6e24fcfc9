/*===-- Stage.c - tensors that kernels do not take as they are ----*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Kernels work on dense FP32 matrices. Where a tensor is BF16 or strided, a  *|
|* wave of matrices is copied to the workspace, goes through the kernels      *|
|* there, and is copied back. What a kernel computes does not depend on where *|
|* its matrix lies, so the bits are those of dense tensors.                   *|
|*                                                                            *|
|* With STEEP_DELTA_ONLY the kernels work on a copy of the weight, in         *|
|* `updates` or, where that is not dense FP32, in the workspace.              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

enum {
  WEIGHT = 0, /* bits of steep_stage.roles */
  GRADIENT = 1,
  UPDATE = 2,
  STATES = 3,
  COPY_ELEMENTS = 1 << 14, /* of an item */
  BUFFER = 512
};

/* A wave's copies take no more than this where matrices are large. */
static const int64_t most_bytes = (int64_t)64 << 20;

/*===----------------------------------------------------------------------===*\
|* What is copied                                                             *|
\*===----------------------------------------------------------------------===*/

/* The tensor that holds a weight in full precision. */
static const DLTensor *find_weight(const steep_call *call, int64_t parameter) {
  const DLTensor *master = steep_host_tensor(call, STEEP_MASTER, parameter);
  return master ? master : steep_host_tensor(call, STEEP_PARAMETER, parameter);
}

static int is_plain(const steep_call *call, int role, int64_t index) {
  return steep_host_is_plain(steep_host_tensor(call, role, index));
}

/* The roles of one parameter that need a copy in the workspace. */
static uint64_t find_roles(const steep_call *call, int64_t parameter,
                           int32_t phase) {
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  uint64_t roles = 0;
  int64_t k;
  if (!is_plain(call, STEEP_GRADIENT, parameter))
    roles |= 1u << GRADIENT;
  if (phase != STEEP_APPLY)
    return roles;
  if (steep_host_is_delta(call)) {
    if (!is_plain(call, STEEP_UPDATE, parameter))
      roles |= 1u << WEIGHT;
  } else {
    if (!steep_host_is_plain(find_weight(call, parameter)))
      roles |= 1u << WEIGHT;
    if (!is_plain(call, STEEP_UPDATE, parameter))
      roles |= 1u << UPDATE;
  }
  for (k = 0; k < entry->state_count; ++k)
    if (!is_plain(call, STEEP_STATE, entry->state_begin + k))
      roles |= (uint64_t)1 << (STATES + k);
  return roles;
}

/* Elements of one matrix's part of a role's tensor. */
static int64_t count_elements(const steep_batch_entry *batch, int role) {
  const steep_parameter_entry *entry =
      &steep_host_tables.parameters[batch->parameters[0]];
  int64_t columns = entry->columns;
  if (role >= STATES)
    columns =
        steep_host_tables.states[entry->state_begin + role - STATES].columns;
  return batch->matrix_rows * columns;
}

/* Bytes of the copies of all roles below `end`. */
static int64_t count_bytes(const steep_batch_entry *batch, uint64_t roles,
                           int end) {
  int64_t bytes = 0;
  int role;
  for (role = 0; role < end; ++role)
    if (roles >> role & 1)
      bytes += (count_elements(batch, role) * 4 + 63) / 64 * 64;
  return bytes;
}

steep_stage steep_host_stage(const steep_call *call,
                             const steep_batch_entry *batch, int32_t phase) {
  steep_stage stage = {0, 0, 0, 0, 0};
  int64_t i, last = -1;
  stage.wave = phase == STEEP_APPLY ? batch->wave : batch->squares_wave;
  for (i = 0; i < batch->count; ++i) {
    int64_t parameter = batch->parameters[i];
    if (parameter == last)
      continue;
    last = parameter;
    if (steep_host_is_missing(call, parameter))
      continue;
    stage.roles |= find_roles(call, parameter, phase);
    if (phase == STEEP_APPLY &&
        steep_host_is_bf16(steep_host_tensor(call, STEEP_PARAMETER, parameter)))
      stage.copies_out = 1;
  }
  if (phase == STEEP_APPLY && steep_host_is_delta(call))
    stage.copies_in = stage.copies_out = 1;
  if (stage.roles == 0)
    return stage;
  stage.copies_in = 1;
  stage.copies_out |= phase == STEEP_APPLY;
  stage.bytes = count_bytes(batch, stage.roles, 64);
  if (stage.wave > most_bytes / stage.bytes)
    stage.wave = most_bytes / stage.bytes > 0 ? most_bytes / stage.bytes : 1;
  return stage;
}

uint64_t steep_host_stage_bytes(const steep_call *call) {
  const steep_tables *t = &steep_host_tables;
  uint64_t most = 0;
  int32_t phase;
  int64_t b;
  for (b = 0; b < t->batch_count; ++b)
    for (phase = STEEP_PREPARE; phase <= STEEP_APPLY; ++phase) {
      steep_stage stage;
      uint64_t bytes;
      if (!(call->actions & phase))
        continue;
      stage = steep_host_stage(call, &t->batches[b], phase);
      bytes = (uint64_t)stage.bytes * (uint64_t)stage.wave;
      most = bytes > most ? bytes : most;
    }
  return most;
}

/* The copy of a role, or NULL where the parameter's own tensor serves. */
static float *find_copy(const steep_staged_wave *wave, int64_t matrix,
                        int role) {
  int64_t parameter = wave->batch->parameters[wave->first + matrix];
  uint64_t roles = wave->stage.roles;
  if (!(roles >> role & 1))
    return NULL;
  /* In a batch some tensors may be dense and others not. */
  if (!(find_roles(wave->call, parameter, STEEP_APPLY) >> role & 1))
    return NULL;
  return (float *)(void *)(wave->memory + matrix * wave->stage.bytes +
                           count_bytes(wave->batch, roles, role));
}

/* The first element of a matrix in a tensor with rows of `columns`. */
static int64_t find_first(const steep_staged_wave *wave, int64_t matrix,
                          int64_t columns) {
  return wave->batch->rows[wave->first + matrix] * columns;
}

void *steep_host_work(const steep_staged_wave *wave, int64_t matrix,
                      const steep_slot_entry *slot) {
  const steep_call *call = wave->call;
  int64_t parameter = wave->batch->parameters[wave->first + matrix];
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  int64_t columns = entry->columns, state = entry->state_begin + slot->value;
  const DLTensor *tensor;
  float *copy;
  switch (slot->kind) {
  case STEEP_SLOT_WEIGHT:
    copy = find_copy(wave, matrix, WEIGHT);
    tensor = steep_host_is_delta(call)
                 ? steep_host_tensor(call, STEEP_UPDATE, parameter)
                 : find_weight(call, parameter);
    break;
  case STEEP_SLOT_GRADIENT:
    copy = find_copy(wave, matrix, GRADIENT);
    tensor = steep_host_tensor(call, STEEP_GRADIENT, parameter);
    break;
  case STEEP_SLOT_UPDATE:
    copy = find_copy(wave, matrix, UPDATE);
    tensor = steep_host_tensor(call, STEEP_UPDATE, parameter);
    break;
  default:
    copy = find_copy(wave, matrix, STATES + (int)slot->value);
    tensor = steep_host_tensor(call, STEEP_STATE, state);
    columns = steep_host_tables.states[state].columns;
    break;
  }
  if (copy)
    return copy;
  return (float *)steep_host_data(tensor) + find_first(wave, matrix, columns);
}

/*===----------------------------------------------------------------------===*\
|* Copies                                                                     *|
\*===----------------------------------------------------------------------===*/

int64_t steep_host_copy_items(const steep_staged_wave *wave) {
  return (count_elements(wave->batch, WEIGHT) + COPY_ELEMENTS - 1) /
         COPY_ELEMENTS;
}

/* An item's part of one role's tensor: elements begin .. end - 1 of the
 * matrix, which is at `first` in the tensor. */
typedef struct {
  int64_t first, begin, end;
} part;

static part find_part(const steep_staged_wave *wave, int64_t matrix,
                      int64_t item, int role) {
  int64_t elements = count_elements(wave->batch, role);
  int64_t items = steep_host_copy_items(wave);
  int64_t each = (elements + items - 1) / items;
  part p;
  p.first = find_first(wave, matrix, elements / wave->batch->matrix_rows);
  p.begin = item * each < elements ? item * each : elements;
  p.end = p.begin + each < elements ? p.begin + each : elements;
  return p;
}

static void copy_role(const steep_staged_wave *wave, int64_t matrix,
                      int64_t item, int role, const DLTensor *tensor, int in) {
  float *copy = find_copy(wave, matrix, role);
  part p;
  if (!copy)
    return;
  p = find_part(wave, matrix, item, role);
  if (in)
    steep_host_load(tensor, p.first + p.begin, p.end - p.begin, copy + p.begin);
  else
    steep_host_store(tensor, p.first + p.begin, p.end - p.begin,
                     copy + p.begin);
}

static void copy_states(const steep_staged_wave *wave, int64_t matrix,
                        int64_t item, int in) {
  int64_t parameter = wave->batch->parameters[wave->first + matrix], k;
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  for (k = 0; k < entry->state_count; ++k)
    copy_role(
        wave, matrix, item, STATES + (int)k,
        steep_host_tensor(wave->call, STEEP_STATE, entry->state_begin + k), in);
}

/* The memory in which the kernels change a matrix's weight. */
static float *find_working_weight(const steep_staged_wave *wave,
                                  int64_t matrix) {
  static const steep_slot_entry slot = {STEEP_SLOT_WEIGHT, 0, 0};
  return steep_host_work(wave, matrix, &slot);
}

void steep_host_copy_in(const steep_staged_wave *wave, int64_t matrix,
                        int64_t item) {
  const steep_call *call = wave->call;
  int64_t parameter = wave->batch->parameters[wave->first + matrix];
  copy_role(wave, matrix, item, GRADIENT,
            steep_host_tensor(call, STEEP_GRADIENT, parameter), 1);
  if (!(call->actions & STEEP_APPLY))
    return;
  copy_states(wave, matrix, item, 1);
  if (steep_host_is_delta(call)) {
    part p = find_part(wave, matrix, item, WEIGHT);
    steep_host_load(find_weight(call, parameter), p.first + p.begin,
                    p.end - p.begin,
                    find_working_weight(wave, matrix) + p.begin);
  } else {
    copy_role(wave, matrix, item, WEIGHT, find_weight(call, parameter), 1);
  }
}

/* update = new weight - weight, where both may be anywhere. */
static void copy_difference(const steep_staged_wave *wave, int64_t matrix,
                            int64_t item) {
  const steep_call *call = wave->call;
  int64_t parameter = wave->batch->parameters[wave->first + matrix], i;
  const DLTensor *weight = find_weight(call, parameter);
  const DLTensor *update = steep_host_tensor(call, STEEP_UPDATE, parameter);
  const float *fresh = find_working_weight(wave, matrix);
  part p = find_part(wave, matrix, item, WEIGHT);
  float buffer[BUFFER];
  for (; p.begin < p.end; p.begin += BUFFER) {
    int64_t count = p.end - p.begin < BUFFER ? p.end - p.begin : BUFFER;
    steep_host_load(weight, p.first + p.begin, count, buffer);
    for (i = 0; i < count; ++i)
      buffer[i] = fresh[p.begin + i] - buffer[i];
    steep_host_store(update, p.first + p.begin, count, buffer);
  }
}

void steep_host_copy_out(const steep_staged_wave *wave, int64_t matrix,
                         int64_t item) {
  const steep_call *call = wave->call;
  int64_t parameter = wave->batch->parameters[wave->first + matrix];
  const DLTensor *weight = steep_host_tensor(call, STEEP_PARAMETER, parameter);
  copy_states(wave, matrix, item, 0);
  if (steep_host_is_delta(call)) {
    copy_difference(wave, matrix, item);
    return;
  }
  copy_role(wave, matrix, item, WEIGHT, find_weight(call, parameter), 0);
  copy_role(wave, matrix, item, UPDATE,
            steep_host_tensor(call, STEEP_UPDATE, parameter), 0);
  if (steep_host_is_bf16(weight)) {
    part p = find_part(wave, matrix, item, WEIGHT);
    steep_host_store(weight, p.first + p.begin, p.end - p.begin,
                     find_working_weight(wave, matrix) + p.begin);
  }
}
