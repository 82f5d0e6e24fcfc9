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

/* One kernel, or all of a function, over the matrices first .. first + count -
 * 1 of a batch. */
typedef struct {
  const steep_step_args *args;
  const steep_batch_entry *batch;
  const steep_function_entry *function;
  const steep_kernel_entry *kernel;
  int64_t first;
  char *workspace; /* of the wave's first matrix */
  int64_t workspace_bytes;
  int64_t squares_bytes; /* at the start of a matrix's part */
  double gradient_scale;
} launch;

/* What the caller has set in the floating-point control register (flush to
 * zero, rounding) must not change the result: threads may differ in it. */
static unsigned enter_default_mode(void) {
  unsigned saved = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0x1f80);
  return saved;
}

/* The element where a matrix begins that starts at `row`. */
static void *find_row(const DLTensor *tensor, int64_t row, int64_t columns) {
  return (float *)steep_host_data(tensor) + row * columns;
}

/* Runs blocks begin .. end - 1 on one matrix of the wave. */
static void run_matrix(const launch *l, int64_t matrix, int64_t begin,
                       int64_t end) {
  const steep_step_args *args = l->args;
  const steep_kernel_entry *kernel = l->kernel;
  int64_t index = l->batch->parameters[l->first + matrix];
  const steep_parameter_entry *parameter = &steep_host_tables.parameters[index];
  int64_t row = l->batch->rows[l->first + matrix];
  char *workspace = l->workspace + matrix * l->workspace_bytes;
  void *slots[STEEP_MAX_SLOTS];
  float lr, wd, clip = (float)l->gradient_scale;
  int64_t step = args->step, i, state;
  for (i = 0; i < kernel->slot_count; ++i) {
    const steep_slot_entry *slot = &kernel->slots[i];
    switch (slot->kind) {
    case STEEP_SLOT_WEIGHT:
      slots[i] = find_row(args->parameters[index], row, parameter->columns);
      break;
    case STEEP_SLOT_GRADIENT:
      slots[i] = find_row(args->gradients[index], row, parameter->columns);
      break;
    case STEEP_SLOT_STATE:
      state = parameter->state_begin + slot->value;
      slots[i] = find_row(args->states[state], row,
                          steep_host_tables.states[state].columns);
      break;
    case STEEP_SLOT_UPDATE:
      slots[i] = find_row(args->updates[index], row, parameter->columns);
      break;
    case STEEP_SLOT_SQUARES:
      slots[i] = workspace;
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
      slots[i] =
          args->measures + l->batch->measures[l->first + matrix] + slot->value;
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

/* All kernels of `function`, on one wave. Where there are enough matrices for
 * all threads, a matrix stays with one; few matrices are split between them. */
static void run_function(launch *l, const steep_function_entry *function,
                         int64_t count) {
  const steep_pool *pool = l->args->pool;
  int64_t k;
  l->function = function;
  l->squares_bytes = (function->squares_count * 8 + 63) / 64 * 64;
  l->workspace_bytes = l->squares_bytes + function->workspace_bytes;
  if (!pool) {
    run_matrices(l, 0, count);
    return;
  }
  if (count >= 2 * (int64_t)pool->threads) {
    pool->run(pool->context, count, run_matrices, l);
    return;
  }
  for (k = 0; k < function->kernel_count; ++k) {
    int64_t items;
    l->kernel = &function->kernels[k];
    items = count * l->kernel->grid;
    pool->run(pool->context, items, run_items, l);
  }
}

static launch start(const steep_step_args *args) {
  launch l = {0};
  l.args = args;
  l.workspace = (char *)args->workspace + steep_host_tables.workspace_offset;
  return l;
}

/* What a step does to a matrix of a batch. */
typedef enum { MISSING, PLAIN, WITH_UPDATE } treatment;

static treatment classify(const steep_step_args *args,
                          const steep_batch_entry *batch, int64_t member) {
  int64_t index = batch->parameters[member];
  if (!args->gradients[index])
    return MISSING;
  return args->updates && args->updates[index] ? WITH_UPDATE : PLAIN;
}

/* A wave is a run of neighbours that are treated alike: how many of them, from
 * `first` on and at most `most`. */
static int64_t count_alike(const steep_step_args *args,
                           const steep_batch_entry *batch, int64_t first,
                           int64_t most) {
  treatment wanted = classify(args, batch, first);
  int64_t count = 1;
  while (count < most && first + count < batch->count &&
         classify(args, batch, first + count) == wanted)
    ++count;
  return count;
}

/*===----------------------------------------------------------------------===*\
|* prepare: the gradients' norm, the clip factor, is everything finite?       *|
\*===----------------------------------------------------------------------===*/

/* Leaves each parameter's sum of squares in the first part of the workspace,
 * those of its matrices in the order of the batches.
 * Row sums are FP64 and added in order: FP32 squares neither overflow nor
 * vanish in it, so a sum is finite exactly where the gradient is. */
static void sum_squares(const steep_step_args *args) {
  const steep_tables *t = &steep_host_tables;
  double *sums = args->workspace;
  launch l = start(args);
  int64_t b, first, count, m, i;
  for (i = 0; i < t->parameter_count; ++i)
    sums[i] = 0;
  for (b = 0; b < t->batch_count; ++b) {
    const steep_batch_entry *batch = &t->batches[b];
    const steep_function_entry *function = batch->squares;
    l.batch = batch;
    for (first = 0; first < batch->count; first += count) {
      count = count_alike(args, batch, first, batch->squares_wave);
      if (classify(args, batch, first) == MISSING)
        continue;
      l.first = first;
      run_function(&l, function, count);
      for (m = 0; m < count; ++m) {
        const double *rows =
            (const double *)(const void *)(l.workspace + m * l.workspace_bytes);
        double sum = 0;
        for (i = 0; i < function->squares_count; ++i)
          sum += rows[i];
        sums[batch->parameters[first + m]] += sum;
      }
    }
  }
}

/* Is some scaled gradient of a parameter with this sum beyond FP32? */
static int overflows(double sum, double scale) {
  return !(sqrt(sum) * fabs(scale) <= FLT_MAX);
}

static void prepare(steep_step_args *args) {
  const steep_tables *t = &steep_host_tables;
  const double *sums = args->workspace;
  double total = 0, grad_scale = steep_host_scalar(&args->grad_scale);
  unsigned saved = enter_default_mode();
  int64_t i;
  sum_squares(args);
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

static void apply(const steep_step_args *args) {
  const steep_tables *t = &steep_host_tables;
  launch l = start(args);
  int64_t b, first, count;
  clear_measures(args);
  l.gradient_scale = steep_host_scalar(&args->grad_scale) * args->clip_factor;
  for (b = 0; b < t->batch_count; ++b) {
    const steep_batch_entry *batch = &t->batches[b];
    l.batch = batch;
    for (first = 0; first < batch->count; first += count) {
      treatment what = classify(args, batch, first);
      count = count_alike(args, batch, first, batch->wave);
      l.first = first;
      if (what != MISSING)
        run_function(&l, select_function(args, batch, what == WITH_UPDATE),
                     count);
    }
  }
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
