/*===-- Host.h - what the host code's files share -----------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Functions called steep_host_export_X become the artefact's steep_NAME_X,   *|
|* and TvmFfi.c's what it says; all others become internal.                   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_HOST_HOST_H
#define STEEP_HOST_HOST_H

#include "Tables.h"
#include "steep/steep.h"

/* The entries that others call. */
int32_t steep_host_export_plan(steep_plan *plan);
int32_t steep_host_export_step(steep_step_args *args);
steep_pool *steep_host_export_pool_create(int32_t threads);
void steep_host_export_pool_destroy(steep_pool *pool);
const char *steep_host_export_last_error(void);

/* pool_create, for a number of any kind: NULL, and last_error says why, unless
 * it is a whole one from 1 to 1024. */
steep_pool *steep_host_pool(double number);

/* What a call is about to do; decides which tensors must be there. */
enum { STEEP_PREPARE = 1, STEEP_APPLY = 2 };

/* The roles of a tensor. */
enum {
  STEEP_PARAMETER,
  STEEP_GRADIENT,
  STEEP_STATE, /* by the index of the state, the others by the parameter's */
  STEEP_UPDATE,
  STEEP_MASTER,
  STEEP_WORKSPACE,
};

/* The tensors of a step, or those that plan is asked about. */
typedef struct {
  const steep_step_args *args;   /* of plan: flags and message, nothing else */
  const steep_binding *bindings; /* of plan; NULL for a step */
  int64_t binding_count;
  int32_t actions;
} steep_call;

/* Writes one line to `message`, where there is one, and keeps it for
 * last_error; returns `code`. */
int32_t steep_host_say(char *message, uint64_t bytes, int32_t code,
                       const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same to args->message. */
int32_t steep_host_fail(const steep_step_args *args, int32_t code,
                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses a structure of `got` bytes, where version 1.0 has `least`. */
int32_t steep_host_short(const char *what, uint32_t got, size_t least);

/* `name` as it stands between quotes in a message: control characters are
 * escaped, so that a message is one line, and a long name is cut. */
enum { STEEP_QUOTED_BYTES = 200 };
const char *steep_host_quote(char out[STEEP_QUOTED_BYTES], const char *name);

/* The GPU that the step runs on; NULL for the CPU. */
steep_device *steep_host_device(const steep_step_args *args);

/* Where the caller wants the rules' measures; NULL where it does not. */
double *steep_host_measures(const steep_step_args *args);

/* The scalar's value, now. */
double steep_host_scalar(const steep_scalar *scalar);

/* Plan.c: asks the operating system for AMX's registers where kernels use
 * them: it saves them only for processes that did. All threads have them then,
 * and asking again costs nothing. Refusals are STEEP_CPU_MISMATCH. */
int32_t steep_host_ask_amx(char *message, uint64_t bytes);

/* Check.c: everything that can be wrong with the arguments, before anything is
 * written. */
int32_t steep_host_check(const steep_step_args *args, int32_t actions);
int32_t steep_host_check_flags(const steep_step_args *args);

/*===----------------------------------------------------------------------===*\
|* Tensors.c                                                                  *|
\*===----------------------------------------------------------------------===*/

/* NULL: there is none, or (of plan's) one that is dense and FP32. */
const DLTensor *steep_host_tensor(const steep_call *call, int role,
                                  int64_t index);
/* A parameter without a gradient stays as it is, and nothing of it is looked
 * at; on a GPU, whose tables are compiled for all of them, it is refused. */
int steep_host_is_missing(const steep_call *call, int64_t parameter);
/* Are weights only read? */
int steep_host_is_delta(const steep_call *call);

/* The first element. */
void *steep_host_data(const DLTensor *tensor);
int steep_host_is_bf16(const DLTensor *tensor);
/* Does a kernel take it as it is: dense, FP32 (or NULL)? */
int steep_host_is_plain(const DLTensor *tensor);
/* From the first element to the end of the last one. */
uint64_t steep_host_span(const DLTensor *tensor);

/* Elements.c: elements at .. at + count - 1, counted in row-major order, of a
 * tensor with any strides, FP32 or BF16. */
void steep_host_load(const DLTensor *tensor, int64_t at, int64_t count,
                     float *out);
void steep_host_store(const DLTensor *tensor, int64_t at, int64_t count,
                      const float *in);

/* E.g. `state momentum_buffer of "lm_head.weight"`. */
enum { STEEP_TITLE_BYTES = 2 * STEEP_QUOTED_BYTES + 64 };
const char *steep_host_title(char out[STEEP_TITLE_BYTES], int role,
                             int64_t index);
/* "64x32x3x3", cut where it is long. */
enum { STEEP_SHAPE_BYTES = 96 };
const char *steep_host_shape(char out[STEEP_SHAPE_BYTES], int64_t ndim,
                             const int64_t *shape);

/* All tensors of the call, or those of one parameter of plan's. */
int32_t steep_host_check_tensors(const steep_call *call);
int32_t steep_host_check_parameter(const steep_call *call, int64_t index);

/*===----------------------------------------------------------------------===*\
|* Overlap.c                                                                  *|
\*===----------------------------------------------------------------------===*/

/* Refuses two tensors in the same memory, one of which is written. Sorts in the
 * workspace on the CPU, in the device object's memory on a GPU; a workspace has
 * `bytes` bytes. */
int32_t steep_host_check_overlap(const steep_call *call, uint64_t bytes);
/* How much memory that takes. */
uint64_t steep_host_scratch_bytes(void);

/*===----------------------------------------------------------------------===*\
|* Stage.c: tensors that kernels do not take as they are                      *|
\*===----------------------------------------------------------------------===*/

/* The dense FP32 copies that a batch works on. */
typedef struct {
  uint64_t roles; /* bit 0 weights, 1 gradients, 2 updates, 3 + k state k */
  int64_t bytes;  /* of one matrix; a multiple of 64 */
  int64_t wave;   /* matrices that are copied, and worked on, together */
  int32_t copies_in, copies_out;
} steep_stage;

/* A wave of a batch. */
typedef struct {
  const steep_call *call;
  const steep_batch_entry *batch;
  steep_stage stage;
  char *memory; /* of the copies */
  int64_t first;
} steep_staged_wave;

/* What one phase (STEEP_PREPARE or STEEP_APPLY) of a step copies of a batch. */
steep_stage steep_host_stage(const steep_call *call,
                             const steep_batch_entry *batch, int32_t phase);
/* What all phases and batches of the call need, beyond the tables'
 * workspace_bytes. */
uint64_t steep_host_stage_bytes(const steep_call *call);

/* The memory that a kernel gets for a slot that is a tensor. */
void *steep_host_work(const steep_staged_wave *wave, int64_t matrix,
                      const steep_slot_entry *slot);

/* Copies are cut into this many items a matrix. */
int64_t steep_host_copy_items(const steep_staged_wave *wave);
/* One item: into the copies, or from them to the caller's tensors. */
void steep_host_copy_in(const steep_staged_wave *wave, int64_t matrix,
                        int64_t item);
void steep_host_copy_out(const steep_staged_wave *wave, int64_t matrix,
                         int64_t item);

/*===----------------------------------------------------------------------===*\
|* Bind.c, Table.c: plan                                                      *|
\*===----------------------------------------------------------------------===*/

/* Compares plan's bindings with what was compiled; sets each one's index. */
int32_t steep_host_bind(steep_plan *plan, steep_call *call);

/* Writes the routing table; returns the bytes of all of it. */
uint64_t steep_host_print(const steep_call *call, uint64_t workspace, char *out,
                          uint64_t bytes);

#endif /* STEEP_HOST_HOST_H */
