/*===-- Tables.h - what steepc tells the host code ----------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* The host code is the same for every optimizer; these constant tables say   *|
|* which one it is. lib/Target/Tables.cpp builds them as LLVM constants, so   *|
|* every field is eight bytes wide (int64_t, double or a pointer): there is   *|
|* no padding to agree on. A change here is a change there.                   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_HOST_TABLES_H
#define STEEP_HOST_TABLES_H

#include "steep/steep.h"

#include <stdint.h>

/* Runs blocks begin .. end - 1 of a kernel's grid on one matrix. slots[i] is
 * the data of the kernel's memref argument i, or points to its scalar. */
typedef void (*steep_kernel_function)(void *const *slots, int64_t begin,
                                      int64_t end);

/* Where a slot's pointer comes from; the meaning of `value` in brackets. */
enum {
  STEEP_SLOT_WEIGHT = 0,
  STEEP_SLOT_GRADIENT = 1,
  STEEP_SLOT_STATE = 2, /* [which of the parameter's states] */
  STEEP_SLOT_UPDATE = 3,
  STEEP_SLOT_SQUARES = 4,
  STEEP_SLOT_WORKSPACE = 5, /* [byte offset in the matrix's part] */
  STEEP_SLOT_LR = 6,
  STEEP_SLOT_WD = 7,
  STEEP_SLOT_CLIP = 8,
  STEEP_SLOT_STEP = 9,
  STEEP_SLOT_CONSTANT = 10, /* [the bits of the scalar] */
  STEEP_SLOT_MEASURE = 11,  /* [which of the matrix's measures] */
  STEEP_SLOT_GRADIENT_MEAN = 12
};

/* More kernel arguments than this are refused by steepc. */
enum { STEEP_MAX_SLOTS = 64 };

typedef struct {
  int64_t kind;
  int64_t value;
  int64_t bytes; /* of the memory there, for one matrix; 0 for a scalar */
} steep_slot_entry;

typedef struct {
  steep_kernel_function run;
  int64_t grid; /* blocks for one matrix */
  int64_t slot_count;
  const steep_slot_entry *slots;
} steep_kernel_entry;

/* A step function: its kernels run one after another. */
typedef struct {
  int64_t kernel_count;
  const steep_kernel_entry *kernels;
  int64_t workspace_bytes; /* for one matrix; a multiple of 64 */
  int64_t squares_count;   /* doubles in the matrix's part, at its start */
} steep_function_entry;

/* Matrices of one shape and rule; matrix i begins at row rows[i] and column
 * columns[i] of parameter parameters[i], seen as one matrix, behind
 * column_blocks[i] others and under row_blocks[i]; its measures stand from
 * measures[i] on. `wave` matrices go through the kernels together; it bounds
 * the workspace. The measured functions are the plain ones where the rule
 * measures nothing. */
typedef struct {
  const steep_function_entry *plain;
  const steep_function_entry *with_update;
  const steep_function_entry *measured;
  const steep_function_entry *measured_with_update;
  const steep_function_entry *squares;
  int64_t count;
  const int64_t *parameters;
  const int64_t *rows;
  const int64_t *columns;
  const int64_t *column_blocks;
  const int64_t *measures;
  int64_t wave;
  int64_t squares_wave;
  int64_t matrix_rows; /* of each */
  int64_t matrix_columns;
  /* Where the mean rows of the gradients lie in the workspace, from prepare to
   * apply, each rounded up to 64 bytes; 0: no update needs them. */
  int64_t means_offset;
  /* Computes the states that are mean rows from those that they are of; NULL
   * where there are none. */
  const steep_function_entry *refresh;
  const int64_t *row_blocks;
} steep_batch_entry;

typedef struct {
  const char *name;
  int64_t ndim;
  const int64_t *shape; /* ndim extents */
  int64_t columns;      /* elements of a row, seen as one matrix */
  const char *convention;
  int64_t parameter; /* whose state it is */
  int64_t is_mean;   /* a row a matrix, the mean of another state's rows */
} steep_state_entry;

typedef struct {
  const char *name;
  const char *rule_name;
  double lr, wd;  /* the spec's defaults */
  int64_t decays; /* 0: the rule ignores wd */
} steep_group_entry;

typedef struct {
  const char *name;
  const char *group_name;
  const char *rule_name;
  int64_t group;
  int64_t ndim;
  const int64_t *shape; /* ndim extents */
  int64_t columns;      /* elements of a row, seen as one matrix */
  int64_t state_begin;
  int64_t state_count;
  const char *const *state_names;
} steep_parameter_entry;

/* One CPU feature that the kernels use, as cpuid and xgetbv report it. */
typedef struct {
  int64_t leaf, subleaf;
  int64_t reg; /* 0 eax, 1 ebx, 2 ecx, 3 edx */
  int64_t bit;
  int64_t xcr0; /* bits the operating system must have enabled */
  const char *name;
} steep_feature_entry;

/*===----------------------------------------------------------------------===*\
|* GPUs                                                                       *|
\*===----------------------------------------------------------------------===*/

/* A compiled kernel: what a launch needs to know of it. */
typedef struct {
  const char *name;
  int64_t block[3]; /* threads of a block */
  int64_t shared;   /* bytes of dynamic shared memory */
  /* 1: weights, gradients, states and updates are tables of pointers, one a
   * matrix of the wave; 0: they are the pointers of the only matrix. */
  int64_t tables;
} steep_gpu_function_entry;

/* One launch. Its arguments are the slots, then the bytes from one matrix's
 * workspace to the next, then the address of the step's skip flag. */
typedef struct {
  int64_t function; /* which of the target's */
  int64_t grid;     /* blocks for one matrix */
  int64_t slot_count;
  const steep_slot_entry *slots;
} steep_gpu_kernel_entry;

/* A step function, as steep_function_entry. */
typedef struct {
  int64_t kernel_count;
  const steep_gpu_kernel_entry *kernels;
  int64_t workspace_bytes;
  int64_t squares_count;
} steep_gpu_step_entry;

/* The GPU's side of the batch of the same index. */
typedef struct {
  const steep_gpu_step_entry *plain;
  const steep_gpu_step_entry *with_update;
  const steep_gpu_step_entry *measured;
  const steep_gpu_step_entry *measured_with_update;
  const steep_gpu_step_entry *squares;
  int64_t wave;
  int64_t squares_wave;
} steep_gpu_batch_entry;

typedef struct {
  const char *data; /* NULL: there is none */
  int64_t bytes;
} steep_gpu_image;

/* One GPU architecture. */
typedef struct {
  const char *name;
  int64_t capability; /* 90 for 9.0 */
  int64_t exact;      /* 1: it runs on this capability alone, as sm_90a does */
  steep_gpu_image cubin, ptx, bitcode;
  int64_t function_count;
  const steep_gpu_function_entry *functions;
  const steep_gpu_batch_entry *batches;
  int64_t wave_bytes; /* of workspace that the waves need */
} steep_gpu_target;

/* The functions of Cuda*.c that others call. */
typedef struct {
  /* Puts what `actions` (Host.h) says on the device's stream. */
  int32_t (*step)(const steep_step_args *args, int32_t actions);
  /* Device memory that a step on this target works in. */
  uint64_t (*workspace_bytes)(const steep_gpu_target *target);
  /* Host memory of an opened device, whichever target it takes. */
  uint64_t (*device_bytes)(void);
} steep_gpu_entries;

typedef struct {
  const char *name;
  const char *build_info;
  int64_t parameter_count;
  const steep_parameter_entry *parameters;
  int64_t state_count;
  const steep_state_entry *states;
  int64_t measure_count;
  const char *const *measure_names;
  int64_t group_count;
  const steep_group_entry *groups;
  int64_t batch_count;
  const steep_batch_entry *batches;
  int64_t feature_count;
  const steep_feature_entry *features;
  double clip_norm;         /* 0: the spec does not clip */
  int64_t nonfinite_error;  /* 1: a non-finite gradient is an error */
  int64_t sums_bytes;       /* one double a parameter, rounded up to 64 */
  int64_t workspace_bytes;  /* all of it */
  int64_t workspace_offset; /* where the waves' part begins */
  int64_t copies_offset;    /* where that of Stage.c's copies begins */
  int64_t gpu_target_count;
  const steep_gpu_target *gpu_targets;
  /* Cuda.h; NULL, and not linked in, where there is no GPU. */
  const steep_gpu_entries *gpu;
  int64_t cpu_kernels; /* 0: compiled for GPUs alone */
} steep_tables;

extern const steep_tables steep_host_tables;

#endif /* STEEP_HOST_TABLES_H */
