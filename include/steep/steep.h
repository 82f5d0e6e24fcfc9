/*===-- steep/steep.h - the C ABI of a compiled optimizer ---------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* The types that every artefact of steepc and every program that links one   *|
|* share. An artefact NAME exports                                            *|
|*                                                                            *|
|*   uint32_t    steep_NAME_abi_version(void);        major << 16 | minor      *|
|*   const char *steep_NAME_build_info(void);         the JSON manifest        *|
|*   int32_t     steep_NAME_plan(steep_plan *);       sizes, before a step     *|
|*   int32_t     steep_NAME_parameter(int64_t, steep_parameter *);             *|
|*   int32_t     steep_NAME_prepare(steep_step_args *); norms, clip factor     *|
|*   int32_t     steep_NAME_apply(steep_step_args *);   the updates            *|
|*   int32_t     steep_NAME_step(steep_step_args *);    prepare, then apply    *|
|*   steep_pool *steep_NAME_pool_create(int32_t threads);                      *|
|*   void        steep_NAME_pool_destroy(steep_pool *);                        *|
|*                                                                            *|
|* Apart from pool_create, no entry allocates, prints, exits or keeps global  *|
|* state; all may be called from several threads with different arguments.    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_STEEP_H
#define STEEP_STEEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STEEP_ABI_MAJOR 1
#define STEEP_ABI_MINOR 0

/* What an entry returns. Negative: nothing was written, and `message` of the
 * arguments (where given) says in one line what was expected. */
enum {
  STEEP_OK = 0,
  /* A gradient is not finite: weights and states are as before the call. */
  STEEP_SKIPPED = 1,
  STEEP_INVALID_ARGUMENT = -1,
  STEEP_VERSION_MISMATCH = -2,
  STEEP_CPU_MISMATCH = -3,
  STEEP_WORKSPACE_TOO_SMALL = -4
};

/* DLPack's tensor, by its published layout; skipped where the program includes
 * dlpack.h first. Only data, ndim, dtype, shape, strides and byte_offset of CPU
 * tensors are read. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;
typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4 } DLDataTypeCode;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL means dense and row-major */
  uint64_t byte_offset;
} DLTensor;
#endif

/* Threads, as the caller has them. `run` calls task(data, begin, end) on
 * ranges that cover 0 .. count - 1 once, from any threads, and returns when
 * all calls have returned. A result never depends on how `run` splits. */
typedef struct steep_pool {
  uint32_t struct_size;
  int32_t threads;
  void *context;
  void (*run)(void *context, int64_t count,
              void (*task)(void *data, int64_t begin, int64_t end),
              void *data);
} steep_pool;

/* A run-time scalar: by value, or, with STEEP_SCALAR_POINTER set in `flags`,
 * one float read from `pointer` when the step runs. */
enum { STEEP_SCALAR_POINTER = 1 };
typedef struct steep_scalar {
  double value;
  const float *pointer;
  uint32_t flags;
  uint32_t reserved;
} steep_scalar;

/* Sizes of the whole optimizer. The caller sets struct_size. */
typedef struct steep_plan {
  uint32_t struct_size;
  uint32_t abi_version;
  const char *name;
  int64_t parameter_count;
  int64_t state_count; /* over all parameters */
  int64_t group_count;
  uint64_t workspace_bytes;
  uint64_t workspace_alignment;
} steep_plan;

/* One parameter, as compiled. Strings live as long as the library. */
typedef struct steep_parameter {
  uint32_t struct_size;
  int32_t ndim;
  const char *name;
  const char *group_name;
  const char *rule_name;
  const int64_t *shape;
  int64_t group;       /* index into lr and wd */
  int64_t state_begin; /* its states are states[state_begin ...] */
  int64_t state_count;
  const char *const *state_names; /* state_count of them */
} steep_parameter;

/* One optimizer step. Tensors come in the order of `parameter` and
 * `state_begin`; all are dense FP32 matrices of the compiled shapes. */
typedef struct steep_step_args {
  uint32_t struct_size;
  uint32_t flags; /* must be 0 */
  int64_t parameter_count;
  DLTensor *const *parameters; /* read and written */
  DLTensor *const *gradients;  /* only read */
  int64_t state_count;
  DLTensor *const *states; /* read and written; zero before the first step */
  /* NULL, or one entry a parameter: NULL, or a tensor that receives the
   * signed increment (learning rate included, weight decay excluded). */
  DLTensor *const *updates;
  int64_t group_count;
  const steep_scalar *lr; /* one a group, already scaled by the schedule */
  const steep_scalar *wd; /* one a group */
  steep_scalar grad_scale; /* multiplies every gradient first, 1 for none */
  int64_t step; /* the number of this applied update, 1 for the first */
  void *workspace;
  uint64_t workspace_bytes;
  void *stream;           /* NULL on the CPU */
  const steep_pool *pool; /* NULL: the caller's thread */
  char *message;          /* NULL, or receives one line on failure */
  uint64_t message_bytes;
  /* Results of prepare (and of step), read by apply. */
  double grad_norm;   /* Euclidean, over all gradients, after grad_scale */
  double clip_factor; /* 1 where the spec does not clip */
  int64_t nonfinite_parameter; /* the first with a non-finite gradient, or -1 */
} steep_step_args;

#ifdef __cplusplus
}
#endif
#endif /* STEEP_STEEP_H */
