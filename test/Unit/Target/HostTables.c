/*===-- HostTables.c - an optimizer by hand for tests -------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Three 4x8 matrices with momentum, two in a wave, as steepc would write the *|
|* tables; one block is one row. The update goes through the workspace.       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "lib/Target/Host/Cuda.h"

enum { ROWS = 4, COLUMNS = 8 };

static void sum_squares(void *const *slots, int64_t begin, int64_t end) {
  const float *g = slots[0];
  double *sums = slots[1];
  int64_t row, i;
  for (row = begin; row < end; ++row) {
    sums[row] = 0;
    for (i = row * COLUMNS; i < (row + 1) * COLUMNS; ++i)
      sums[row] += (double)g[i] * g[i];
  }
}

/* m = 0.5 m + clip g; s = -lr m, into the slot. */
static void average(void *const *slots, int64_t begin, int64_t end) {
  const float *g = slots[0], *clip = slots[3], *lr = slots[4];
  float *m = slots[1], *s = slots[2];
  int64_t i;
  for (i = begin * COLUMNS; i < end * COLUMNS; ++i) {
    m[i] = 0.5f * m[i] + *clip * g[i];
    s[i] = -*lr * m[i];
  }
}

/* w = w (1 - wd) + s + constant * step */
static void apply(void *const *slots, int64_t begin, int64_t end) {
  const float *s = slots[1], *wd = slots[2], *constant = slots[4];
  const int64_t *step = slots[3];
  float *w = slots[0];
  int64_t i;
  for (i = begin * COLUMNS; i < end * COLUMNS; ++i)
    w[i] = w[i] * (1 - *wd) + s[i] + *constant * (float)*step;
}

static const steep_slot_entry squares_slots[] = {{STEEP_SLOT_GRADIENT, 0, 128},
                                                 {STEEP_SLOT_SQUARES, 0, 32}};
static const steep_slot_entry average_slots[] = {
    {STEEP_SLOT_GRADIENT, 0, 128},
    {STEEP_SLOT_STATE, 0, 128},
    {STEEP_SLOT_WORKSPACE, 64, 128},
    {STEEP_SLOT_CLIP, 0, 0},
    {STEEP_SLOT_LR, 0, 0}};
static const steep_slot_entry average_update_slots[] = {
    {STEEP_SLOT_GRADIENT, 0, 128}, {STEEP_SLOT_STATE, 0, 128},
    {STEEP_SLOT_UPDATE, 0, 128},   {STEEP_SLOT_CLIP, 0, 0},
    {STEEP_SLOT_LR, 0, 0},
};
/* 0x3f000000 is 0.5f. */
static const steep_slot_entry apply_slots[] = {
    {STEEP_SLOT_WEIGHT, 0, 128},
    {STEEP_SLOT_WORKSPACE, 64, 128},
    {STEEP_SLOT_WD, 0, 0},
    {STEEP_SLOT_STEP, 0, 0},
    {STEEP_SLOT_CONSTANT, 0x3f000000, 0}};
static const steep_slot_entry apply_update_slots[] = {
    {STEEP_SLOT_WEIGHT, 0, 128},
    {STEEP_SLOT_UPDATE, 0, 128},
    {STEEP_SLOT_WD, 0, 0},
    {STEEP_SLOT_STEP, 0, 0},
    {STEEP_SLOT_CONSTANT, 0x3f000000, 0},
};

static const steep_kernel_entry squares_kernels[] = {
    {sum_squares, ROWS, 2, squares_slots}};
static const steep_kernel_entry plain_kernels[] = {
    {average, ROWS, 5, average_slots}, {apply, ROWS, 5, apply_slots}};
static const steep_kernel_entry update_kernels[] = {
    {average, ROWS, 5, average_update_slots},
    {apply, ROWS, 5, apply_update_slots}};

static const steep_function_entry squares = {1, squares_kernels, 0, ROWS};
static const steep_function_entry plain = {2, plain_kernels, 192, 0};
static const steep_function_entry with_update = {2, update_kernels, 0, 0};

/* The same for GPUs: FakeDriver.c has the kernels. */
static const steep_gpu_function_entry functions[] = {
    {"squares", {1, 1, 1}, 0, 1},
    {"average", {2, 3, 1}, 65536, 1},
    {"average_update", {1, 1, 1}, 0, 1},
    {"apply", {1, 1, 1}, 16, 1},
    {"apply_update", {1, 1, 1}, 0, 1}};
static const steep_gpu_kernel_entry gpu_squares_kernels[] = {
    {0, ROWS, 2, squares_slots}};
static const steep_gpu_kernel_entry gpu_plain_kernels[] = {
    {1, ROWS, 5, average_slots}, {3, ROWS, 5, apply_slots}};
static const steep_gpu_kernel_entry gpu_update_kernels[] = {
    {2, ROWS, 5, average_update_slots}, {4, ROWS, 5, apply_update_slots}};
static const steep_gpu_step_entry gpu_squares = {1, gpu_squares_kernels, 0,
                                                 ROWS};
static const steep_gpu_step_entry gpu_plain = {2, gpu_plain_kernels, 192, 0};
static const steep_gpu_step_entry gpu_update = {2, gpu_update_kernels, 0, 0};
static const steep_gpu_batch_entry gpu_batches[] = {
    {&gpu_plain, &gpu_update, &gpu_plain, &gpu_update, &gpu_squares, 2, 2}};
static const steep_gpu_target targets[] = {{"sm_80",
                                            80,
                                            0,
                                            {"cubin 80", 9},
                                            {"ptx 80", 7},
                                            {"bitcode 80", 11},
                                            5,
                                            functions,
                                            gpu_batches,
                                            384},
                                           {"sm_90a",
                                            90,
                                            1,
                                            {"cubin 90a", 10},
                                            {"ptx 90a", 8},
                                            {"bitcode 90a", 12},
                                            5,
                                            functions,
                                            gpu_batches,
                                            384},
                                           {"sm_90",
                                            90,
                                            0,
                                            {0, 0},
                                            {"ptx 90", 7},
                                            {"bitcode 90", 11},
                                            5,
                                            functions,
                                            gpu_batches,
                                            384}};

static const int64_t members[] = {0, 1, 2}, shape[] = {ROWS, COLUMNS};
static const int64_t zeros[] = {0, 0, 0}; /* rows, columns, measures */
static const steep_batch_entry batches[] = {
    {&plain, &with_update, &plain, &with_update, &squares, 3, members, zeros,
     zeros, zeros, zeros, 2, 2, ROWS, COLUMNS, 0, 0, zeros}};
static const char *const state_names[] = {"momentum_buffer"};
static const steep_group_entry groups[] = {{"first", "rule", 0.25, 0.5, 1},
                                           {"rest", "rule", 2, 0, 1}};
static const steep_parameter_entry parameters[] = {
    {"a", "first", "rule", 0, 2, shape, COLUMNS, 0, 1, state_names},
    {"line\n\"b\"", "rest", "rule", 1, 2, shape, COLUMNS, 1, 1, state_names},
    {"c", "rest", "rule", 1, 2, shape, COLUMNS, 2, 1, state_names}};
static const steep_state_entry states[] = {
    {"momentum_buffer", 2, shape, COLUMNS, "sum", 0, 0},
    {"momentum_buffer", 2, shape, COLUMNS, "sum", 1, 0},
    {"momentum_buffer", 2, shape, COLUMNS, "sum", 2, 0}};

const steep_tables steep_host_tables = {
    .name = "byhand",
    .build_info = "{}",
    .parameter_count = 3,
    .parameters = parameters,
    .state_count = 3,
    .states = states,
    .group_count = 2,
    .groups = groups,
    .batch_count = 1,
    .batches = batches,
    .feature_count = 0,
    .features = 0,
    .clip_norm = 0,
    .nonfinite_error = 0,
    .sums_bytes = 64,
    .workspace_bytes = 512, /* 64 and two matrices, or 16 ranges of 32 */
    .workspace_offset = 64,
    .copies_offset = 512,
    .gpu_target_count = 3,
    .gpu_targets = targets,
    .gpu = &steep_gpu_functions,
    .cpu_kernels = 1,
};
