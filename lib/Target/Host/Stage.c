/*===-- Stage.c - tensors that kernels do not take as they are ----*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Kernels work on dense FP32 matrices. Where a tensor is BF16 or strided, a  *|
|* wave of matrices is copied to the workspace, goes through the kernels      *|
|* there, and is copied back. So is a matrix that is a block of columns of    *|
|* its parameter. What a kernel computes does not depend on where its matrix  *|
|* lies, so the bits are those of dense tensors.                              *|
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

/* All that a phase of a step may touch, but the update of one that changes a
 * copy of the weight. */
static uint64_t find_all_roles(const steep_call *call, int64_t states,
                               int32_t phase) {
  if (phase != STEEP_APPLY)
    return 1u << GRADIENT;
  return 1u << GRADIENT | 1u << WEIGHT |
         (steep_host_is_delta(call) ? 0u : 1u << UPDATE) |
         (((uint64_t)1 << states) - 1) << STATES;
}

/* The roles of one parameter of a batch that need a copy in the workspace. */
static uint64_t find_roles(const steep_call *call,
                           const steep_batch_entry *batch, int64_t parameter,
                           int32_t phase) {
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  uint64_t roles = 0;
  int64_t k;
  if (entry->columns != batch->matrix_columns)
    return find_all_roles(call, entry->state_count, phase);
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

/* Does this tensor of a parameter have one number a row and block of columns?
 * The others have the weight's shape. */
static int is_narrow(int64_t parameter, int role) {
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  return role >= STATES &&
         steep_host_tables.states[entry->state_begin + role - STATES].columns !=
             entry->columns;
}

/* Columns of one matrix's part of a role's tensor. */
static int64_t count_columns(const steep_batch_entry *batch, int role) {
  return is_narrow(batch->parameters[0], role) ? 1 : batch->matrix_columns;
}

/* Is it a row of means a matrix? */
static int is_mean(int64_t parameter, int role) {
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  return role >= STATES &&
         steep_host_tables.states[entry->state_begin + role - STATES].is_mean;
}

/* And its rows. */
static int64_t count_rows(const steep_batch_entry *batch, int role) {
  return is_mean(batch->parameters[0], role) ? 1 : batch->matrix_rows;
}

static int64_t count_elements(const steep_batch_entry *batch, int role) {
  return count_rows(batch, role) * count_columns(batch, role);
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
    stage.roles |= find_roles(call, batch, parameter, phase);
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
  /* Blocks of columns are always copied: the tables have room for that. */
  uint64_t there = (uint64_t)(t->workspace_bytes - t->copies_offset);
  uint64_t most = there;
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
  return most - there;
}

/* The copy of a role, or NULL where the parameter's own tensor serves. */
static float *find_copy(const steep_staged_wave *wave, int64_t matrix,
                        int role) {
  int64_t parameter = wave->batch->parameters[wave->first + matrix];
  uint64_t roles = wave->stage.roles;
  if (!(roles >> role & 1))
    return NULL;
  /* In a batch some tensors may be dense and others not. */
  if (!(find_roles(wave->call, wave->batch, parameter, STEEP_APPLY) >> role &
        1))
    return NULL;
  return (float *)(void *)(wave->memory + matrix * wave->stage.bytes +
                           count_bytes(wave->batch, roles, role));
}

/* The first row of a matrix of a batch in a role's tensor. */
static int64_t find_row(const steep_batch_entry *batch, int64_t member,
                        int role) {
  return is_mean(batch->parameters[member], role) ? batch->row_blocks[member]
                                                  : batch->rows[member];
}

void *steep_host_work(const steep_staged_wave *wave, int64_t matrix,
                      const steep_slot_entry *slot) {
  const steep_call *call = wave->call;
  int64_t parameter = wave->batch->parameters[wave->first + matrix];
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  int64_t columns = entry->columns, state = entry->state_begin + slot->value;
  const DLTensor *tensor;
  float *copy;
  int role = WEIGHT;
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
    role = STATES + (int)slot->value;
    copy = find_copy(wave, matrix, role);
    tensor = steep_host_tensor(call, STEEP_STATE, state);
    columns = steep_host_tables.states[state].columns;
    break;
  }
  if (copy)
    return copy;
  return (float *)steep_host_data(tensor) +
         find_row(wave->batch, wave->first + matrix, role) * columns;
}

/*===----------------------------------------------------------------------===*\
|* Copies                                                                     *|
\*===----------------------------------------------------------------------===*/

int64_t steep_host_copy_items(const steep_staged_wave *wave) {
  return (count_elements(wave->batch, WEIGHT) + COPY_ELEMENTS - 1) /
         COPY_ELEMENTS;
}

/* An item's part of one matrix's part of a role's tensor: elements begin .. end
 * - 1 of the matrix. */
typedef struct {
  const DLTensor *tensor;
  int64_t first;   /* element of the tensor, of the matrix's first one */
  int64_t pitch;   /* from a row of the matrix to the next, in the tensor */
  int64_t columns; /* of the matrix */
  int64_t begin, end;
} part;

static part find_part(const steep_staged_wave *wave, int64_t matrix,
                      int64_t item, int role, const DLTensor *tensor) {
  const steep_batch_entry *batch = wave->batch;
  int64_t member = wave->first + matrix;
  int64_t parameter = batch->parameters[member];
  const steep_parameter_entry *entry = &steep_host_tables.parameters[parameter];
  int64_t elements = count_elements(batch, role);
  int64_t items = steep_host_copy_items(wave);
  int64_t each = (elements + items - 1) / items;
  int64_t column = batch->columns[member];
  part p;
  p.tensor = tensor;
  p.columns = count_columns(batch, role);
  p.pitch = entry->columns;
  if (is_narrow(parameter, role)) {
    p.pitch =
        steep_host_tables.states[entry->state_begin + role - STATES].columns;
    column = batch->column_blocks[member];
  }
  p.first = find_row(batch, member, role) * p.pitch + column;
  p.begin = item * each < elements ? item * each : elements;
  p.end = p.begin + each < elements ? p.begin + each : elements;
  return p;
}

/* Elements `at` .. at + count - 1 of the matrix, between its tensor and
 * `memory`, run by run. */
static void move(const part *p, int64_t at, int64_t count, float *memory,
                 int in) {
  while (count > 0) {
    int64_t row = at / p->columns, column = at % p->columns;
    int64_t run = p->pitch == p->columns ? count : p->columns - column;
    int64_t from = p->first + row * p->pitch + column;
    run = run < count ? run : count;
    if (in)
      steep_host_load(p->tensor, from, run, memory);
    else
      steep_host_store(p->tensor, from, run, memory);
    at += run;
    memory += run;
    count -= run;
  }
}

/* All of the part; `matrix` is the memory of the whole matrix. */
static void move_part(const part *p, float *matrix, int in) {
  move(p, p->begin, p->end - p->begin, matrix + p->begin, in);
}

static void copy_role(const steep_staged_wave *wave, int64_t matrix,
                      int64_t item, int role, const DLTensor *tensor, int in) {
  float *copy = find_copy(wave, matrix, role);
  part p;
  if (!copy || !tensor)
    return;
  p = find_part(wave, matrix, item, role, tensor);
  move_part(&p, copy, in);
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
    part p =
        find_part(wave, matrix, item, WEIGHT, find_weight(call, parameter));
    move_part(&p, find_working_weight(wave, matrix), 1);
  } else {
    copy_role(wave, matrix, item, WEIGHT, find_weight(call, parameter), 1);
  }
}

/* update = new weight - weight, where both may be anywhere. */
static void copy_difference(const steep_staged_wave *wave, int64_t matrix,
                            int64_t item) {
  const steep_call *call = wave->call;
  int64_t parameter = wave->batch->parameters[wave->first + matrix], i;
  const float *fresh = find_working_weight(wave, matrix);
  part old =
      find_part(wave, matrix, item, WEIGHT, find_weight(call, parameter));
  part update = find_part(wave, matrix, item, WEIGHT,
                          steep_host_tensor(call, STEEP_UPDATE, parameter));
  int64_t at;
  float buffer[BUFFER];
  for (at = old.begin; at < old.end; at += BUFFER) {
    int64_t count = old.end - at < BUFFER ? old.end - at : BUFFER;
    move(&old, at, count, buffer, 1);
    for (i = 0; i < count; ++i)
      buffer[i] = fresh[at + i] - buffer[i];
    move(&update, at, count, buffer, 0);
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
    part p = find_part(wave, matrix, item, WEIGHT, weight);
    move_part(&p, find_working_weight(wave, matrix), 0);
  }
}
