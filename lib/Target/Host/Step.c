/*===-- Step.c - prepare, apply, step -----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* A batch holds parameters of one shape and rule. Its matrices go through    *|
|* the kernels in waves, so that the workspace stays bounded. A thread takes *|
|* whole matrices of a wave through all kernels, or, where they are few, one  *|
|* launch is one kernel over the wave, item = matrix * grid + block. A block  *|
|* always does the same work on the same data, so the result does not depend  *|
|* on how the pool splits the items.                                          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

#include <float.h>
#include <math.h>

/* One kernel, all of a function, or one direction of copies, over a wave of a
 * batch. */
typedef struct {
  steep_staged_wave wave;
  const steep_step_args *args;
  const steep_function_entry *function;
  const steep_kernel_entry *kernel;
  char *workspace; /* of the wave's first matrix */
  int64_t workspace_bytes;
  int64_t squares_bytes; /* at the start of a matrix's part */
  double gradient_scale;
  int in; /* of copies */
} launch;

/* Where the mean row of the gradient of one of a batch's matrices lies, from
 * prepare to apply. */
static void *find_gradient_mean(const steep_step_args *args,
                                const steep_batch_entry *batch,
                                int64_t member) {
  int64_t bytes = (batch->matrix_columns * 4 + 63) / 64 * 64;
  return (char *)args->workspace + batch->means_offset + member * bytes;
}

/* What the caller has set in the floating-point control register (flush to
 * zero, rounding) must not change the result: threads may differ in it. */
static unsigned enter_default_mode(void) {
  unsigned saved = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0x1f80);
  return saved;
}

/* Runs blocks begin .. end - 1 on one matrix of the wave. */
static void run_matrix(const launch *l, int64_t matrix, int64_t begin,
                       int64_t end) {
  const steep_step_args *args = l->args;
  const steep_kernel_entry *kernel = l->kernel;
  int64_t index = l->wave.batch->parameters[l->wave.first + matrix];
  const steep_parameter_entry *parameter = &steep_host_tables.parameters[index];
  char *workspace = l->workspace + matrix * l->workspace_bytes;
  void *slots[STEEP_MAX_SLOTS];
  float lr, wd, clip = (float)l->gradient_scale;
  int64_t step = args->step, i;
  for (i = 0; i < kernel->slot_count; ++i) {
    const steep_slot_entry *slot = &kernel->slots[i];
    switch (slot->kind) {
    case STEEP_SLOT_WEIGHT:
    case STEEP_SLOT_GRADIENT:
    case STEEP_SLOT_STATE:
    case STEEP_SLOT_UPDATE:
      slots[i] = steep_host_work(&l->wave, matrix, slot);
      break;
    case STEEP_SLOT_SQUARES:
      slots[i] = workspace;
      break;
    case STEEP_SLOT_GRADIENT_MEAN:
      slots[i] =
          find_gradient_mean(args, l->wave.batch, l->wave.first + matrix);
      break;
    case STEEP_SLOT_WORKSPACE:
      slots[i] = workspace + l->squares_bytes + slot->value;
      break;
    case STEEP_SLOT_LR:
      lr = (float)steep_host_scalar(&args->lr[parameter->group]);
      slots[i] = &lr;
      break;
    case STEEP_SLOT_WD:
      wd = (float)steep_host_scalar(&args->wd[parameter->group]);
      slots[i] = &wd;
      break;
    case STEEP_SLOT_CLIP:
      slots[i] = &clip;
      break;
    case STEEP_SLOT_STEP:
      slots[i] = &step;
      break;
    case STEEP_SLOT_MEASURE:
      slots[i] = args->measures +
                 l->wave.batch->measures[l->wave.first + matrix] + slot->value;
      break;
    default:
      slots[i] = (void *)&slot->value;
      break;
    }
  }
  kernel->run(slots, begin, end);
}

static void run_items(void *data, int64_t begin, int64_t end) {
  const launch *l = data;
  int64_t grid = l->kernel->grid;
  unsigned saved = enter_default_mode();
  while (begin < end) {
    int64_t matrix = begin / grid, block = begin % grid;
    int64_t last = end - begin < grid - block ? block + end - begin : grid;
    run_matrix(l, matrix, block, last);
    begin += last - block;
  }
  __builtin_ia32_ldmxcsr(saved);
}

/* All kernels, matrix by matrix: what one leaves in a core's cache, the next
 * one finds there. */
static void run_matrices(void *data, int64_t begin, int64_t end) {
  launch l = *(const launch *)data;
  unsigned saved = enter_default_mode();
  int64_t matrix, k;
  for (matrix = begin; matrix < end; ++matrix)
    for (k = 0; k < l.function->kernel_count; ++k) {
      l.kernel = &l.function->kernels[k];
      run_matrix(&l, matrix, 0, l.kernel->grid);
    }
  __builtin_ia32_ldmxcsr(saved);
}

static void copy_items(void *data, int64_t begin, int64_t end) {
  const launch *l = data;
  int64_t items = steep_host_copy_items(&l->wave);
  unsigned saved = enter_default_mode();
  for (; begin < end; ++begin) {
    if (l->in)
      steep_host_copy_in(&l->wave, begin / items, begin % items);
    else
      steep_host_copy_out(&l->wave, begin / items, begin % items);
  }
  __builtin_ia32_ldmxcsr(saved);
}

/* On the caller's threads, or on this one. */
static void run_task(launch *l, int64_t items,
                     void (*task)(void *data, int64_t begin, int64_t end)) {
  const steep_pool *pool = l->args->pool;
  if (pool)
    pool->run(pool->context, items, task, l);
  else
    task(l, 0, items);
}

static void copy_wave(launch *l, int64_t count, int in) {
  l->in = in;
  run_task(l, count * steep_host_copy_items(&l->wave), copy_items);
}

/* All kernels of `function`, on one wave whose tensors are as kernels take
 * them. Where there are enough matrices for all threads, a matrix stays with
 * one; few matrices are split between them. */
static void run_kernels(launch *l, int64_t count) {
  const steep_pool *pool = l->args->pool;
  int64_t k;
  if (!pool || count >= 2 * (int64_t)pool->threads) {
    run_task(l, count, run_matrices);
    return;
  }
  for (k = 0; k < l->function->kernel_count; ++k) {
    l->kernel = &l->function->kernels[k];
    run_task(l, count * l->kernel->grid, run_items);
  }
}

static void run_function(launch *l, const steep_function_entry *function,
                         int64_t count) {
  l->function = function;
  l->squares_bytes = (function->squares_count * 8 + 63) / 64 * 64;
  l->workspace_bytes = l->squares_bytes + function->workspace_bytes;
  if (l->wave.stage.copies_in)
    copy_wave(l, count, 1);
  run_kernels(l, count);
  if (l->wave.stage.copies_out)
    copy_wave(l, count, 0);
}

static launch start(const steep_call *call) {
  launch l = {0};
  char *workspace = call->args->workspace;
  l.args = call->args;
  l.wave.call = call;
  l.wave.memory = workspace + steep_host_tables.copies_offset;
  l.workspace = workspace + steep_host_tables.workspace_offset;
  return l;
}

/* What a step does to a matrix of a batch. */
typedef enum { MISSING, PLAIN, WITH_UPDATE } treatment;

static treatment classify(const launch *l, int64_t member) {
  const steep_call *call = l->wave.call;
  int64_t index = l->wave.batch->parameters[member];
  if (steep_host_is_missing(call, index))
    return MISSING;
  return !steep_host_is_delta(call) &&
                 steep_host_tensor(call, STEEP_UPDATE, index)
             ? WITH_UPDATE
             : PLAIN;
}

/* A wave is a run of neighbours that are treated alike: how many of them, from
 * `first` on. */
static int64_t count_alike(const launch *l, int64_t first) {
  treatment wanted = classify(l, first);
  int64_t count = 1;
  while (count < l->wave.stage.wave && first + count < l->wave.batch->count &&
         classify(l, first + count) == wanted)
    ++count;
  return count;
}

/*===----------------------------------------------------------------------===*\
|* prepare: the gradients' norm, the clip factor, is everything finite?       *|
\*===----------------------------------------------------------------------===*/

/* Adds each matrix's sum of squares to its parameter's in the first part of the
 * workspace, and leaves the mean rows that the batch's updates read.
 * Row sums are FP64 and added in order: FP32 squares neither overflow nor
 * vanish in it, so a sum is finite exactly where the gradient is. */
static void sum_batch(launch *l, const steep_batch_entry *batch) {
  const steep_call *call = l->wave.call;
  const steep_function_entry *function = batch->squares;
  double *sums = call->args->workspace;
  int64_t first, m, i, count;
  l->wave.batch = batch;
  l->wave.stage = steep_host_stage(call, batch, STEEP_PREPARE);
  for (first = 0; first < batch->count; first += count) {
    count = count_alike(l, first);
    if (classify(l, first) == MISSING)
      continue;
    l->wave.first = first;
    run_function(l, function, count);
    for (m = 0; m < count; ++m) {
      const double *rows =
          (const double *)(const void *)(l->workspace + m * l->workspace_bytes);
      double sum = 0;
      for (i = 0; i < function->squares_count; ++i)
        sum += rows[i];
      sums[batch->parameters[first + m]] += sum;
    }
  }
}

/* All batches, in their order; or those alone whose updates read mean rows. */
static void sum_squares(const steep_call *call, int means_only) {
  const steep_tables *t = &steep_host_tables;
  double *sums = call->args->workspace;
  launch l = start(call);
  int64_t b, i;
  for (i = 0; i < t->parameter_count; ++i)
    sums[i] = 0;
  for (b = 0; b < t->batch_count; ++b)
    if (!means_only || t->batches[b].means_offset)
      sum_batch(&l, &t->batches[b]);
}

/* Is some scaled gradient of a parameter with this sum beyond FP32? */
static int overflows(double sum, double scale) {
  return !(sqrt(sum) * fabs(scale) <= FLT_MAX);
}

static void prepare(steep_step_args *args) {
  const steep_tables *t = &steep_host_tables;
  steep_call call = {args, NULL, 0, STEEP_PREPARE};
  const double *sums = args->workspace;
  double total = 0, grad_scale = steep_host_scalar(&args->grad_scale);
  unsigned saved = enter_default_mode();
  int64_t i;
  sum_squares(&call, 0);
  for (i = 0; i < t->parameter_count; ++i)
    total += sums[i];
  args->grad_norm = sqrt(total) * fabs(grad_scale);
  args->clip_factor = 1;
  /* torch.nn.utils.clip_grad_norm_'s factor. */
  if (t->clip_norm > 0 && args->grad_norm <= DBL_MAX)
    args->clip_factor = fmin(1, t->clip_norm / (args->grad_norm + 1e-6));
  args->nonfinite_parameter = -1;
  for (i = 0; i < t->parameter_count && args->nonfinite_parameter < 0; ++i)
    if (overflows(sums[i], grad_scale * args->clip_factor))
      args->nonfinite_parameter = i;
  __builtin_ia32_ldmxcsr(saved);
}

static int32_t report_nonfinite(const steep_step_args *args) {
  const steep_tables *t = &steep_host_tables;
  char name[STEEP_QUOTED_BYTES];
  return steep_host_fail(
      args, t->nonfinite_error ? STEEP_INVALID_ARGUMENT : STEEP_SKIPPED,
      "gradient of \"%s\" is not finite: weights and states are unchanged",
      steep_host_quote(name, t->parameters[args->nonfinite_parameter].name));
}

int32_t steep_host_export_prepare(steep_step_args *args) {
  int32_t code = steep_host_check(args, STEEP_PREPARE);
  if (code)
    return code;
  if (steep_host_device(args))
    return steep_host_tables.gpu->step(args, STEEP_PREPARE);
  prepare(args);
  return args->nonfinite_parameter < 0 ? STEEP_OK : report_nonfinite(args);
}

/*===----------------------------------------------------------------------===*\
|* apply: the updates                                                         *|
\*===----------------------------------------------------------------------===*/

/* What computes the update, and the measures if the caller wants them. */
static const steep_function_entry *
select_function(const steep_step_args *args, const steep_batch_entry *batch,
                int update) {
  if (!steep_host_measures(args))
    return update ? batch->with_update : batch->plain;
  return update ? batch->measured_with_update : batch->measured;
}

/* What is not measured, for want of a gradient, is NaN. */
static void clear_measures(const steep_step_args *args) {
  double *measures = steep_host_measures(args);
  int64_t i;
  for (i = 0; measures && i < steep_host_tables.measure_count; ++i)
    measures[i] = NAN;
}

/* Is a matrix's row of this state all zeros? So it is before the first step,
 * and where a checkpoint had none. */
static int is_unknown(const launch *l, int64_t member, int64_t state) {
  const steep_batch_entry *batch = l->wave.batch;
  const DLTensor *tensor = steep_host_tensor(l->wave.call, STEEP_STATE, state);
  int64_t columns = steep_host_tables.states[state].columns;
  int64_t first = batch->row_blocks[member] * columns + batch->columns[member];
  float part[64];
  int64_t at, i, count;
  for (at = 0; at < batch->matrix_columns; at += count) {
    int64_t left = batch->matrix_columns - at;
    count = left < 64 ? left : 64;
    steep_host_load(tensor, first + at, count, part);
    for (i = 0; i < count; ++i)
      if (part[i] != 0)
        return 0;
  }
  return 1;
}

/* Computes the mean rows among the states of a wave's matrices that are not
 * known, in the same order of sums wherever that happens. */
static void refresh_means(launch *l, int64_t count) {
  const steep_tables *t = &steep_host_tables;
  const steep_batch_entry *batch = l->wave.batch;
  int64_t first = l->wave.first, m, k;
  for (m = 0; m < count; ++m) {
    int64_t index = batch->parameters[first + m];
    const steep_parameter_entry *parameter = &t->parameters[index];
    int unknown = 0;
    for (k = parameter->state_begin;
         k < parameter->state_begin + parameter->state_count; ++k)
      unknown |= t->states[k].is_mean && is_unknown(l, first + m, k);
    l->wave.first = first + m;
    if (unknown)
      run_function(l, batch->refresh, 1);
  }
  l->wave.first = first;
}

static void apply(const steep_step_args *args) {
  const steep_tables *t = &steep_host_tables;
  steep_call call = {args, NULL, 0, STEEP_APPLY};
  launch l = start(&call);
  int64_t b, first, count;
  clear_measures(args);
  l.gradient_scale = steep_host_scalar(&args->grad_scale) * args->clip_factor;
  for (b = 0; b < t->batch_count; ++b) {
    const steep_batch_entry *batch = &t->batches[b];
    l.wave.batch = batch;
    l.wave.stage = steep_host_stage(&call, batch, STEEP_APPLY);
    for (first = 0; first < batch->count; first += count) {
      treatment what = classify(&l, first);
      count = count_alike(&l, first);
      l.wave.first = first;
      if (what == MISSING)
        continue;
      if (batch->refresh)
        refresh_means(&l, count);
      run_function(&l, select_function(args, batch, what == WITH_UPDATE),
                   count);
    }
  }
}

/* Where prepare was a call of its own, the workspace may have been used since:
 * mean rows are computed again. */
static void gather_means(const steep_step_args *args) {
  steep_call call = {args, NULL, 0, STEEP_PREPARE};
  unsigned saved = enter_default_mode();
  sum_squares(&call, 1);
  __builtin_ia32_ldmxcsr(saved);
}

int32_t steep_host_export_apply(steep_step_args *args) {
  int32_t code = steep_host_check(args, STEEP_APPLY);
  if (code)
    return code;
  if (steep_host_device(args))
    return steep_host_tables.gpu->step(args, STEEP_APPLY);
  if (args->nonfinite_parameter < -1 ||
      args->nonfinite_parameter >= args->parameter_count)
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "nonfinite_parameter: expected what prepare left "
                           "there, got %lld",
                           (long long)args->nonfinite_parameter);
  if (!(args->clip_factor > 0 && args->clip_factor <= FLT_MAX))
    return steep_host_fail(args, STEEP_INVALID_ARGUMENT,
                           "clip_factor: expected what prepare left there, a "
                           "positive number, got %g",
                           args->clip_factor);
  if (args->nonfinite_parameter >= 0)
    return report_nonfinite(args);
  gather_means(args);
  apply(args);
  return STEEP_OK;
}

int32_t steep_host_export_step(steep_step_args *args) {
  int32_t code = steep_host_check(args, STEEP_PREPARE | STEEP_APPLY);
  if (code)
    return code;
  if (steep_host_device(args))
    return steep_host_tables.gpu->step(args, STEEP_PREPARE | STEEP_APPLY);
  prepare(args);
  if (args->nonfinite_parameter >= 0)
    return report_nonfinite(args);
  apply(args);
  return STEEP_OK;
}
