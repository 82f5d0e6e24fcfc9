/*===-- CudaStep.c - prepare, apply, step on a GPU ----------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* The same walk as Step.c, as launches on the caller's stream. Nothing here  *|
|* waits, copies or allocates, so a step can be captured in a CUDA graph:     *|
|* what the host knows (pointers, scalars) travels in the arguments of        *|
|* prelude kernels, which write it into tables in the workspace; what only    *|
|* the device knows (norm, clip factor, step number, whether to skip) is      *|
|* computed there. Kernels read the skip flag first and return.               *|
|*                                                                            *|
|* Tables are ordered by position: batch by batch, matrices of a batch one    *|
|* after another, so that a wave's part of a table begins at its first        *|
|* matrix. A parameter that holds several matrices has several positions.     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <string.h>

/* Words that one launch of the store kernel writes: Device/Prelude.c's. */
enum { STORE_WORDS = 64, PRELUDE_THREADS = 256 };

/* Sections of the word table, each with one word a position: first pointers by
 * what they point to, states last but for two of other meaning. */
enum { GRADIENTS = 0, WEIGHTS = 1, UPDATES = 2, STATES = 3 };

typedef struct {
  const steep_step_args *args;
  const steep_device *device;
  steep_gpu_layout at;
  uint64_t base;   /* of the workspace */
  uint64_t report; /* the caller's, or the workspace's */
  int64_t most_states, most_measures, positions;
} run;

/* One wave: matrices first .. first + count - 1 of a batch. */
typedef struct {
  const steep_batch_entry *batch;
  const steep_gpu_step_entry *step;
  int64_t first, count;
  int64_t position; /* of the first */
  int64_t squares_bytes, matrix_bytes;
} wave;

static int64_t most_states(void) {
  const steep_tables *t = &steep_host_tables;
  int64_t most = 0, i;
  for (i = 0; i < t->parameter_count; ++i)
    if (t->parameters[i].state_count > most)
      most = t->parameters[i].state_count;
  return most;
}

/* Measures of a matrix whose rule has most. */
static int64_t most_measures(void) {
  const steep_tables *t = &steep_host_tables;
  int64_t most = 0, b, k, i;
  for (b = 0; b < t->batch_count; ++b) {
    const steep_gpu_step_entry *step = t->gpu_targets->batches[b].measured;
    for (k = 0; k < step->kernel_count; ++k)
      for (i = 0; i < step->kernels[k].slot_count; ++i) {
        const steep_slot_entry *slot = &step->kernels[k].slots[i];
        if (slot->kind == STEEP_SLOT_MEASURE && slot->value >= most)
          most = slot->value + 1;
      }
  }
  return most;
}

/* Matrices of all batches. */
static int64_t count_positions(void) {
  const steep_tables *t = &steep_host_tables;
  int64_t positions = 0, b;
  for (b = 0; b < t->batch_count; ++b)
    positions += t->batches[b].count;
  return positions;
}

/* Words: the pointers' sections, order and group of each position, pointers to
 * its measures, then a pair for grad_scale and two for each group. */
static int64_t scalar_words(int64_t states, int64_t measures,
                            int64_t positions) {
  return (STATES + states + 2 + measures) * positions;
}

static uint64_t place(uint64_t *end, int64_t bytes) {
  uint64_t begin = *end;
  *end += ((uint64_t)bytes + 255) / 256 * 256;
  return begin;
}

void steep_gpu_lay_out(const steep_gpu_target *target, steep_gpu_layout *out) {
  const steep_tables *t = &steep_host_tables;
  int64_t count = count_positions();
  uint64_t end = 0;
  out->report = place(&end, sizeof(steep_step_report));
  /* The skip flag and one that is never set are the first word. */
  out->flags =
      place(&end, 8 * (1 + scalar_words(most_states(), most_measures(), count) +
                       2 + 4 * t->group_count));
  out->words = out->flags + 8;
  out->sums = place(&end, 8 * count);
  out->lr = place(&end, 4 * count);
  out->wd = place(&end, 4 * count);
  out->clip = place(&end, 4 * count);
  out->step = place(&end, 8 * count);
  out->waves = place(&end, target->wave_bytes);
  out->bytes = end;
}

uint64_t steep_gpu_workspace_bytes(const steep_gpu_target *target) {
  steep_gpu_layout layout;
  steep_gpu_lay_out(target, &layout);
  return layout.bytes;
}

/*===----------------------------------------------------------------------===*\
|* Launches                                                                   *|
\*===----------------------------------------------------------------------===*/

static int32_t failed(const run *r, cu_result error, const char *name) {
  return steep_gpu_failed(&r->device->driver, r->args->message,
                          r->args->message_bytes, error, "cuLaunchKernel",
                          name);
}

/* `values` holds one eight-byte value a parameter. */
static int32_t launch_prelude(const run *r, int which, const char *name,
                              uint64_t *values, int count, int64_t grid) {
  void *arguments[STORE_WORDS + 2];
  cu_result error;
  int i;
  for (i = 0; i < count; ++i)
    arguments[i] = &values[i];
  error = r->device->driver.launch(r->device->prelude[which], (unsigned)grid, 1,
                                   1, PRELUDE_THREADS, 1, 1, 0, r->args->stream,
                                   arguments, NULL);
  return error ? failed(r, error, name) : STEEP_OK;
}

static uint64_t table_address(const run *r, int64_t section, int64_t position) {
  int64_t index = section * r->positions + position;
  return r->base + r->at.words + 8 * (uint64_t)index;
}

static uint64_t scalars_address(const run *r) {
  int64_t words = scalar_words(r->most_states, r->most_measures, r->positions);
  return r->base + r->at.words + 8 * (uint64_t)words;
}

/* Where the matrix begins that starts at `row` of a parameter, in what
 * `section` says; 0 where the caller gives nothing. */
static uint64_t matrix_address(const run *r, int64_t section, int64_t index,
                               int64_t row) {
  const steep_step_args *args = r->args;
  const steep_parameter_entry *entry = &steep_host_tables.parameters[index];
  DLTensor *const *list = section == GRADIENTS ? args->gradients
                          : section == WEIGHTS ? args->parameters
                          : section == UPDATES ? args->updates
                                               : args->states;
  int64_t columns = entry->columns;
  if (section >= STATES) {
    if (section - STATES >= entry->state_count)
      return 0;
    index = entry->state_begin + section - STATES;
    columns = steep_host_tables.states[index].columns;
  }
  if (!list || !list[index])
    return 0;
  return (uintptr_t)steep_host_data(list[index]) +
         sizeof(float) * (uint64_t)(row * columns);
}

/* What `section` holds for matrix `m` of a batch. */
static uint64_t word_of(const run *r, int64_t section,
                        const steep_batch_entry *batch, int64_t m) {
  int64_t index = batch->parameters[m], order = STATES + r->most_states;
  double *measures = steep_host_measures(r->args);
  if (section == order)
    return (uint64_t)index;
  if (section == order + 1)
    return (uint64_t)steep_host_tables.parameters[index].group;
  if (section > order)
    return measures ? (uintptr_t)(measures + batch->measures[m] + section -
                                  (order + 2))
                    : 0;
  return matrix_address(r, section, index, batch->rows[m]);
}

static uint64_t external(const run *r, const wave *w, int64_t tables,
                         int64_t section) {
  if (tables)
    return table_address(r, section, w->position);
  return word_of(r, section, w->batch, w->first);
}

/* Of a slot that is one of the caller's tensors or measures. */
static int64_t section_of(const run *r, const steep_slot_entry *slot) {
  return slot->kind == STEEP_SLOT_WEIGHT     ? WEIGHTS
         : slot->kind == STEEP_SLOT_GRADIENT ? GRADIENTS
         : slot->kind == STEEP_SLOT_UPDATE   ? UPDATES
         : slot->kind == STEEP_SLOT_MEASURE
             ? STATES + r->most_states + 2 + slot->value
             : STATES + slot->value;
}

static uint64_t slot_value(const run *r, const wave *w, int64_t tables,
                           const steep_slot_entry *slot) {
  uint64_t position = (uint64_t)w->position, value;
  switch (slot->kind) {
  case STEEP_SLOT_WEIGHT:
  case STEEP_SLOT_GRADIENT:
  case STEEP_SLOT_STATE:
  case STEEP_SLOT_UPDATE:
  case STEEP_SLOT_MEASURE:
    return external(r, w, tables, section_of(r, slot));
  case STEEP_SLOT_SQUARES:
    return r->base + r->at.waves;
  case STEEP_SLOT_WORKSPACE:
    return r->base + r->at.waves + (uint64_t)(w->squares_bytes + slot->value);
  case STEEP_SLOT_LR:
    return r->base + r->at.lr + 4 * position;
  case STEEP_SLOT_WD:
    return r->base + r->at.wd + 4 * position;
  case STEEP_SLOT_CLIP:
    return r->base + r->at.clip + 4 * position;
  case STEEP_SLOT_STEP:
    return r->base + r->at.step + 8 * position;
  default:
    memcpy(&value, &slot->value, sizeof value);
    return value;
  }
}

/*===----------------------------------------------------------------------===*\
|* What a kernel may reach, for an emulated GPU                               *|
\*===----------------------------------------------------------------------===*/

/* The bytes of the largest of a kernel's arguments at this place: a kernel may
 * overwrite what it reads. */
static int64_t largest_at(const steep_gpu_kernel_entry *kernel,
                          const steep_slot_entry *slot) {
  int64_t bytes = 0, i;
  for (i = 0; i < kernel->slot_count; ++i)
    if (kernel->slots[i].kind == slot->kind &&
        kernel->slots[i].value == slot->value && kernel->slots[i].bytes > bytes)
      bytes = kernel->slots[i].bytes;
  return bytes;
}

/* Every matrix of a wave in what `section` says: it may be a part of a
 * parameter. */
static void declare_matrices(const run *r, const wave *w, const char *name,
                             int64_t section, int64_t bytes) {
  int64_t m;
  for (m = w->first; m < w->first + w->count; ++m)
    r->device->declare(name, word_of(r, section, w->batch, m), (size_t)bytes, 0,
                       1);
}

/* Says what each argument of a launch may reach, or takes it back. Without this
 * the emulated GPU sees only where an allocation ends, and all views of the
 * workspace are one. */
static void declare_slots(const run *r, const wave *w,
                          const steep_gpu_kernel_entry *kernel,
                          const uint64_t *values, int64_t tables, int undo) {
  static const char *const names[] = {
      "weight",         "gradient", "state", "update",      "row sums",
      "workspace view", "lr",       "wd",    "clip factor", "step"};
  int64_t i;
  if (!r->device->declare)
    return;
  for (i = 0; i < kernel->slot_count; ++i) {
    const steep_slot_entry *slot = &kernel->slots[i];
    int64_t kind = slot->kind, bytes = undo ? 0 : largest_at(kernel, slot);
    int is_view = kind == STEEP_SLOT_SQUARES || kind == STEEP_SLOT_WORKSPACE;
    if (kind == STEEP_SLOT_CONSTANT)
      continue;
    if (is_view) {
      r->device->declare(names[kind], values[i], (size_t)bytes,
                         (size_t)w->matrix_bytes, (size_t)w->count);
    } else if (kind >= STEEP_SLOT_LR && kind != STEEP_SLOT_MEASURE) {
      bytes = undo ? 0 : (kind == STEEP_SLOT_STEP ? 8 : 4) * w->count;
      r->device->declare(names[kind], values[i], (size_t)bytes, 0, 1);
    } else {
      declare_matrices(r, w,
                       kind == STEEP_SLOT_MEASURE ? "measure" : names[kind],
                       section_of(r, slot), bytes);
      if (tables)
        r->device->declare("table of pointers", values[i],
                           undo ? 0 : 8 * (size_t)w->count, 0, 1);
    }
  }
}

/* All kernels of a step function, on one wave. `flag` is read by each. */
static int32_t run_wave(const run *r, const wave *w, uint64_t flag) {
  const steep_device *device = r->device;
  int64_t k, i;
  for (k = 0; k < w->step->kernel_count; ++k) {
    const steep_gpu_kernel_entry *kernel = &w->step->kernels[k];
    const steep_gpu_function_entry *entry =
        &device->target->functions[kernel->function];
    uint64_t values[STEEP_MAX_SLOTS + 2];
    void *arguments[STEEP_MAX_SLOTS + 2];
    cu_result error;
    for (i = 0; i < kernel->slot_count; ++i)
      values[i] = slot_value(r, w, entry->tables, &kernel->slots[i]);
    values[i] = (uint64_t)w->matrix_bytes;
    values[i + 1] = flag;
    for (i = 0; i < kernel->slot_count + 2; ++i)
      arguments[i] = &values[i];
    declare_slots(r, w, kernel, values, entry->tables, /*undo=*/0);
    error = device->driver.launch(
        device->functions[kernel->function], (unsigned)kernel->grid,
        (unsigned)w->count, 1, (unsigned)entry->block[0],
        (unsigned)entry->block[1], (unsigned)entry->block[2],
        (unsigned)entry->shared, r->args->stream, arguments, NULL);
    declare_slots(r, w, kernel, values, entry->tables, /*undo=*/1);
    if (error)
      return failed(r, error, entry->name);
  }
  return STEEP_OK;
}

static void set_step(wave *w, const steep_gpu_step_entry *step) {
  w->step = step;
  w->squares_bytes = (step->squares_count * 8 + 63) / 64 * 64;
  w->matrix_bytes = w->squares_bytes + step->workspace_bytes;
}

/*===----------------------------------------------------------------------===*\
|* The word table                                                             *|
\*===----------------------------------------------------------------------===*/

typedef struct {
  const run *r;
  uint64_t values[STORE_WORDS + 2]; /* to, count, words */
  int64_t count, done;
  int32_t code;
} writer;

static void flush(writer *w) {
  if (w->code || w->count == 0)
    return;
  w->values[0] = w->r->base + w->r->at.flags + 8 * (uint64_t)w->done;
  w->values[1] = (uint64_t)w->count;
  w->code = launch_prelude(w->r, STEEP_PRELUDE_STORE, "steep_prelude_store",
                           w->values, STORE_WORDS + 2, 1);
  w->done += w->count;
  w->count = 0;
}

static void put(writer *w, uint64_t word) {
  w->values[2 + w->count++] = word;
  if (w->count == STORE_WORDS)
    flush(w);
}

static void put_scalar(writer *w, const steep_scalar *scalar) {
  int is_pointer = (scalar->flags & STEEP_SCALAR_POINTER) != 0;
  uint64_t bits = 0;
  if (!is_pointer)
    memcpy(&bits, &scalar->value, sizeof bits);
  put(w, bits);
  put(w, is_pointer ? (uintptr_t)scalar->pointer : 0);
}

/* Writes the table; prepare has no need of what only apply reads. */
static int32_t write_words(const run *r, int32_t actions) {
  const steep_tables *t = &steep_host_tables;
  int64_t section, b, m, g;
  writer w;
  memset(&w, 0, sizeof w);
  w.r = r;
  put(&w, 0); /* both flags */
  for (section = 0; section < STATES + r->most_states + 2 + r->most_measures;
       ++section) {
    int only_apply = section != GRADIENTS &&
                     section != STATES + r->most_states &&
                     section != STATES + r->most_states + 1;
    for (b = 0; b < t->batch_count; ++b)
      for (m = 0; m < t->batches[b].count; ++m)
        put(&w, only_apply && !(actions & STEEP_APPLY)
                    ? 0
                    : word_of(r, section, &t->batches[b], m));
  }
  put_scalar(&w, &r->args->grad_scale);
  for (g = 0; g < t->group_count && (actions & STEEP_APPLY); ++g) {
    put_scalar(&w, &r->args->lr[g]);
    put_scalar(&w, &r->args->wd[g]);
  }
  flush(&w);
  return w.code;
}

/*===----------------------------------------------------------------------===*\
|* prepare and apply                                                          *|
\*===----------------------------------------------------------------------===*/

/* Sums of a wave's row sums, to where its positions have theirs. */
static int32_t sum_rows(const run *r, const wave *w) {
  uint64_t values[4];
  values[0] = r->base + r->at.waves;
  values[1] = (uint64_t)w->matrix_bytes;
  values[2] = (uint64_t)w->step->squares_count;
  values[3] = r->base + r->at.sums + 8 * (uint64_t)w->position;
  return launch_prelude(r, STEEP_PRELUDE_SUMS, "steep_prelude_sums", values, 4,
                        w->count);
}

static int32_t prepare(const run *r) {
  const steep_tables *t = &steep_host_tables;
  const steep_gpu_batch_entry *batches = r->device->target->batches;
  uint64_t values[7];
  int64_t position = 0, b;
  for (b = 0; b < t->batch_count; ++b) {
    wave w;
    int32_t code = STEEP_OK;
    w.batch = &t->batches[b];
    set_step(&w, batches[b].squares);
    for (w.first = 0; w.first < w.batch->count && !code; w.first += w.count) {
      int64_t rest = w.batch->count - w.first;
      w.count = rest < batches[b].squares_wave ? rest : batches[b].squares_wave;
      w.position = position + w.first;
      code = run_wave(r, &w, r->base + r->at.flags + sizeof(int32_t));
      if (!code)
        code = sum_rows(r, &w);
    }
    if (code)
      return code;
    position += w.batch->count;
  }
  values[0] = r->base + r->at.sums;
  values[1] = table_address(r, STATES + r->most_states, 0);
  values[2] = (uint64_t)r->positions;
  values[3] = scalars_address(r);
  memcpy(&values[4], &t->clip_norm, sizeof values[4]);
  values[5] = (uint64_t)(int64_t)(t->nonfinite_error ? STEEP_INVALID_ARGUMENT
                                                     : STEEP_SKIPPED);
  values[6] = r->report;
  return launch_prelude(r, STEEP_PRELUDE_FINISH, "steep_prelude_finish", values,
                        7, 1);
}

/* Each matrix's scalars, the step's number and the skip flag. */
static int32_t prepare_scalars(const run *r) {
  const steep_tables *t = &steep_host_tables;
  uint64_t values[12];
  values[0] = table_address(r, STATES + r->most_states + 1, 0);
  values[1] = (uint64_t)r->positions;
  values[2] = (uint64_t)t->group_count;
  values[3] = scalars_address(r);
  values[4] = r->report;
  values[5] = (uint64_t)r->args->step;
  values[6] = (uintptr_t)r->args->step_counter;
  values[7] = r->base + r->at.lr;
  values[8] = r->base + r->at.wd;
  values[9] = r->base + r->at.clip;
  values[10] = r->base + r->at.step;
  values[11] = r->base + r->at.flags;
  return launch_prelude(r, STEEP_PRELUDE_SCALARS, "steep_prelude_scalars",
                        values, 12, 1);
}

static int wants_update(const run *r, const wave *w, int64_t member) {
  const steep_step_args *args = r->args;
  return args->updates && args->updates[w->batch->parameters[member]];
}

/* What computes the update, and the measures if the caller wants them. */
static const steep_gpu_step_entry *
select_step(const run *r, const steep_gpu_batch_entry *batch, int update) {
  if (!steep_host_measures(r->args))
    return update ? batch->with_update : batch->plain;
  return update ? batch->measured_with_update : batch->measured;
}

static int32_t apply(const run *r) {
  const steep_tables *t = &steep_host_tables;
  int64_t position = 0, b;
  int32_t code = prepare_scalars(r);
  for (b = 0; b < t->batch_count && !code; ++b) {
    const steep_gpu_batch_entry *batch = &r->device->target->batches[b];
    wave w;
    w.batch = &t->batches[b];
    /* A wave is a run of neighbours that all want their update, or none. */
    for (w.first = 0; w.first < w.batch->count && !code; w.first += w.count) {
      int update = wants_update(r, &w, w.first);
      for (w.count = 1; w.count < batch->wave &&
                        w.first + w.count < w.batch->count &&
                        wants_update(r, &w, w.first + w.count) == update;)
        ++w.count;
      w.position = position + w.first;
      set_step(&w, select_step(r, batch, update));
      code = run_wave(r, &w, r->base + r->at.flags);
    }
    position += w.batch->count;
  }
  return code;
}

int32_t steep_gpu_step(const steep_step_args *args, int32_t actions) {
  run r;
  cu_context before = NULL;
  const steep_driver *driver = &args->device->driver;
  cu_result error;
  int32_t code;
  r.args = args;
  r.device = args->device;
  r.base = (uintptr_t)args->workspace;
  r.most_states = most_states();
  r.most_measures = most_measures();
  r.positions = count_positions();
  steep_gpu_lay_out(r.device->target, &r.at);
  r.report = args->report ? (uintptr_t)args->report : r.base + r.at.report;
  error = driver->context_get(&before);
  if (!error && before != r.device->context)
    error = driver->context_set(r.device->context);
  if (error)
    return steep_gpu_failed(driver, args->message, args->message_bytes, error,
                            "cuCtxSetCurrent", "the device");
  code = write_words(&r, actions);
  if (!code && (actions & STEEP_PREPARE))
    code = prepare(&r);
  if (!code && (actions & STEEP_APPLY))
    code = apply(&r);
  if (before != r.device->context)
    driver->context_set(before);
  return code;
}
