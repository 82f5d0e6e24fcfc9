/*===-- steep/steep.h - the C ABI of a compiled optimizer ---------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* The types that every artefact of steepc and every program that links one   *|
|* share. An artefact NAME exports                                            *|
|*                                                                            *|
|*   uint32_t    steep_NAME_abi_version(void);        major << 16 | minor     *|
|*   const char *steep_NAME_build_info(void);         the JSON manifest       *|
|*   int32_t     steep_NAME_plan(steep_plan *);       sizes, before a step    *|
|*   int32_t     steep_NAME_parameter(int64_t, steep_parameter *);            *|
|*   int32_t     steep_NAME_state(int64_t, steep_state *);      since 1.2     *|
|*   int32_t     steep_NAME_group(int64_t, steep_group *);      since 1.2     *|
|*   int32_t     steep_NAME_prepare(steep_step_args *); norms, clip factor    *|
|*   int32_t     steep_NAME_apply(steep_step_args *);   the updates           *|
|*   int32_t     steep_NAME_step(steep_step_args *);    prepare, then apply   *|
|*   steep_pool *steep_NAME_pool_create(int32_t threads);                     *|
|*   void        steep_NAME_pool_destroy(steep_pool *);                       *|
|*   const char *steep_NAME_last_error(void);         since 1.2               *|
|*                                                                            *|
|* and, where steepc was given GPUs (--target sm_90a, ...),                   *|
|*                                                                            *|
|*   int32_t     steep_NAME_device_open(steep_device_args *);                 *|
|*   int32_t     steep_NAME_device_close(steep_device *);                     *|
|*                                                                            *|
|* Apart from pool_create, no entry allocates, prints, exits or keeps global  *|
|* state; all may be called from several threads with different arguments.    *|
|* What last_error returns is the line that the calling thread's last refusal *|
|* said: it belongs to the thread, and stands until the thread is refused     *|
|* again. It is there also where no structure could be trusted with a         *|
|* message.                                                                   *|
|*                                                                            *|
|* A structure begins with its size. Fields that a minor version adds come    *|
|* last, so that a caller of an earlier one goes on as before.                *|
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
#define STEEP_ABI_MINOR 2

/* What an entry returns. Negative: nothing was written, and `message` of the
 * arguments (where given) and last_error say in one line what was expected. */
enum {
  STEEP_OK = 0,
  /* A gradient is not finite: weights and states are as before the call. */
  STEEP_SKIPPED = 1,
  STEEP_INVALID_ARGUMENT = -1,
  STEEP_VERSION_MISMATCH = -2,
  STEEP_CPU_MISMATCH = -3,
  STEEP_WORKSPACE_TOO_SMALL = -4,
  /* A call of the GPU's driver failed; the message names it. Since 1.1. */
  STEEP_DEVICE_ERROR = -5
};

/* DLPack's tensor, by its published layout; skipped where the program includes
 * dlpack.h first. A tensor is of the CPU (kDLCPU), or of the GPU that the step
 * runs on (kDLCUDA), where `data` is a device pointer. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;
typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4
} DLDataTypeCode;
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
              void (*task)(void *data, int64_t begin, int64_t end), void *data);
} steep_pool;

/* A run-time scalar: by value, or, with STEEP_SCALAR_POINTER set in `flags`,
 * one float read from `pointer` when the step runs; device memory on a GPU, so
 * that a captured step sees what stands there when it is replayed. */
enum { STEEP_SCALAR_POINTER = 1 };
typedef struct steep_scalar {
  double value;
  const float *pointer;
  uint32_t flags;
  uint32_t reserved;
} steep_scalar;

/* A parameter as the caller has it, for `plan` to compare with what was
 * compiled. Of the tensors only type, shape and strides are looked at: `data`
 * may be NULL. NULL for a whole tensor: it is dense FP32 of the compiled shape,
 * except for `master`, where NULL says that there is none. Since 1.2. */
typedef struct steep_binding {
  uint32_t struct_size;
  uint32_t reserved;
  const char *name;
  const DLTensor *parameter;
  const DLTensor *gradient;
  const DLTensor *master;  /* FP32, where the weight is BF16 */
  const DLTensor *update;  /* where the caller asks for updates */
  DLTensor *const *states; /* NULL, or one entry a state of the parameter */
  int64_t index;           /* result: which parameter of the artefact it is */
} steep_binding;

/* Sizes of the whole optimizer. The caller sets struct_size; other fields up to
 * `device_bytes` are results.
 *
 * With bindings, one a parameter and in any order, plan refuses a name that was
 * not compiled, one that comes twice, one that is missing, and a tensor of
 * another shape or of a type that steps do not take, and says how much
 * workspace steps on such tensors need. Steps on dense FP32 tensors need the
 * least; whatever is BF16 or strided goes through the workspace. */
typedef struct steep_plan {
  uint32_t struct_size;
  uint32_t abi_version;
  const char *name;
  int64_t parameter_count;
  int64_t state_count; /* over all parameters */
  int64_t group_count;
  uint64_t workspace_bytes;
  uint64_t workspace_alignment;
  /* Since 1.1. */
  int64_t device_target_count; /* GPUs that the artefact was compiled for */
  uint64_t device_bytes;       /* host memory that device_open wants */
  /* Since 1.2: what the caller may set; 0 and NULL for what it does not ask. */
  steep_binding *bindings;
  int64_t binding_count;
  uint64_t step_flags; /* the `flags` that steps will have */
  char *table;         /* receives the routing table, lines of text */
  uint64_t table_bytes;
  char *message; /* receives one line on failure */
  uint64_t message_bytes;
  /* Since 1.2: results. */
  uint64_t table_needed; /* bytes of the whole table, its end included; more
                          * than table_bytes: what `table` holds was cut */
  double clip_norm;      /* of all gradients; 0: the spec does not clip */
  int64_t measure_count; /* numbers that a step leaves in `measures` */
  const char *const *measure_names; /* measure_count of them */
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

/* One state, as compiled: dense FP32 (or strided FP32), zero before the first
 * step. Its shape is its parameter's, or has a last dimension of 1 where the
 * rule keeps one number a row. A state of the convention "mean" is called
 * NAME_mean and has the mean row of the state NAME: 1 x n, or a row for each of
 * the matrices that the parameter is to its rule. A step on the CPU that finds
 * such a row all zeros computes it first, so whoever changes NAME, or loads it
 * from where there was no NAME_mean, leaves zeros there. Since 1.2. */
typedef struct steep_state {
  uint32_t struct_size;
  int32_t ndim;
  const char *name;       /* PyTorch's: momentum_buffer, exp_avg, ... */
  const char *convention; /* how it is averaged: sum, ema, adam, mean, other */
  const int64_t *shape;
  int64_t parameter; /* whose it is */
} steep_state;

/* One group of parameters. Since 1.2. */
typedef struct steep_group {
  uint32_t struct_size;
  uint32_t decays; /* 0: its rule has no weight decay and ignores wd */
  const char *name;
  const char *rule_name;
  double lr; /* the spec's defaults; a step takes what the caller gives */
  double wd;
} steep_group;

/* A GPU with the artefact's kernels on it. */
typedef struct steep_device steep_device;

/* Which image of the kernels device_open hands to the driver. */
enum {
  STEEP_IMAGE_BEST = 0, /* a cubin for this GPU, else PTX that it can take */
  STEEP_IMAGE_CUBIN = 1,
  STEEP_IMAGE_PTX = 2,
  STEEP_IMAGE_BITCODE = 3 /* LLVM's; only an emulated GPU takes it */
};

/* Opens a GPU: binds the driver, takes the device's primary context and loads
 * the kernels into it, once. Open it before a capture begins; steps do neither.
 * The device object lives in the caller's `memory`, which must stay where it is
 * until device_close. One thread at a time may use it. */
typedef struct steep_device_args {
  uint32_t struct_size;
  uint32_t image;     /* STEEP_IMAGE_* */
  const char *driver; /* a library with the driver's API; NULL: libcuda.so.1 */
  const char *target; /* "sm_90a"; NULL: the best for this GPU */
  int64_t ordinal;    /* of the GPU, from 0 */
  void *memory;       /* host memory, aligned to 64 bytes */
  uint64_t memory_bytes; /* at least steep_plan.device_bytes */
  char *message;         /* NULL, or receives one line on failure */
  uint64_t message_bytes;
  /* Results. */
  steep_device *device;
  const char *loaded_target;
  uint32_t loaded_image;
  uint32_t reserved;
  uint64_t workspace_bytes; /* device memory that a step works in */
  uint64_t workspace_alignment;
} steep_device_args;

/* What a step on a GPU leaves in device memory, in place of the results in
 * steep_step_args: the call itself only hands work over. */
typedef struct steep_step_report {
  double grad_norm;
  double clip_factor;
  int64_t nonfinite_parameter;
  int64_t step; /* number of the update */
  /* STEEP_OK; STEEP_SKIPPED (or STEEP_INVALID_ARGUMENT where the spec says that
   * a non-finite gradient is an error); STEEP_INVALID_ARGUMENT where a scalar
   * or a clip factor in device memory is not finite. Weights and states are as
   * before unless it is STEEP_OK. */
  int64_t code;
} steep_step_report;

/* steep_step_args.flags. Since 1.2. */
enum {
  /* Weights are only read. All that the step would add to a weight, decay
   * included, goes to `updates`, where every parameter has a tensor then:
   * update = (new weight - weight), rounded once. Not on GPUs. */
  STEEP_DELTA_ONLY = 1
};

/* One optimizer step. Tensors come in the order of `parameter` and
 * `state_begin`, in the compiled shapes.
 *
 * Dense FP32 tensors are worked on where they are. Since 1.2, and on the CPU, a
 * step also takes views with strides (not negative; none may reach an element
 * twice, but for a gradient), gradients and updates in BF16, and weights in
 * BF16 with an FP32 master. Such tensors go through the workspace, whose size
 * steep_plan's bindings tell, a few matrices at a time; the arithmetic is that
 * of FP32 tensors, and so are the bits. What comes out in BF16 is rounded to
 * nearest, ties to even.
 *
 * A parameter of more than two dimensions is a stack of matrices, dense or
 * strided, where its group in the spec says `stacked`. */
typedef struct steep_step_args {
  uint32_t struct_size;
  uint32_t flags; /* STEEP_DELTA_ONLY, or 0 */
  int64_t parameter_count;
  DLTensor *const *parameters; /* read and written */
  /* Only read. On the CPU an entry may be NULL: that parameter and its states
   * stay as they are, and are not looked at. */
  DLTensor *const *gradients;
  int64_t state_count;
  DLTensor *const *states; /* read and written; zero before the first step */
  /* NULL, or one entry a parameter: NULL, or a tensor that receives the
   * signed increment (learning rate included, weight decay excluded). */
  DLTensor *const *updates;
  int64_t group_count;
  const steep_scalar *lr;  /* one a group, already scaled by the schedule */
  const steep_scalar *wd;  /* one a group */
  steep_scalar grad_scale; /* multiplies every gradient first, 1 for none */
  int64_t step; /* the number of this applied update, 1 for the first */
  void *workspace;
  uint64_t workspace_bytes;
  void *stream;           /* NULL on the CPU; a CUstream on a GPU */
  const steep_pool *pool; /* NULL: the caller's thread */
  char *message;          /* NULL, or receives one line on failure */
  uint64_t message_bytes;
  /* Results of prepare (and of step), read by apply. */
  double grad_norm;   /* Euclidean, over all gradients, after grad_scale */
  double clip_factor; /* 1 where the spec does not clip */
  int64_t nonfinite_parameter; /* the first with a non-finite gradient, or -1 */
  /* Since 1.1, and on a GPU only. The step is then put on `stream`: STEEP_OK
   * means that it was; tensors (aligned to 16 bytes), the workspace (to 256)
   * and what scalars point to are device memory; `pool` must be NULL, and the
   * results above stay as they are. */
  steep_device *device; /* NULL: the step runs on the CPU */
  /* NULL, or the number of updates applied so far, in place of `step`: it is
   * read when the step runs, and counts an update that is applied. */
  int64_t *step_counter;
  /* NULL, or receives the report; between prepare and apply it may be changed,
   * as the results above may on the CPU. NULL: a part of the workspace, which
   * must then be left alone between the two. */
  steep_step_report *report;
  /* Since 1.2. */
  /* NULL, or one entry a parameter: NULL, or the FP32 master of a BF16 weight.
   * The step updates the master, and the weight becomes the master, rounded. A
   * BF16 weight has to have one, but with STEEP_DELTA_ONLY. */
  DLTensor *const *masters;
  /* NULL, or receives the measure_count numbers of steep_plan; on a GPU it is
   * device memory. */
  double *measures;
  int64_t measure_count;
} steep_step_args;

#ifdef __cplusplus
}
#endif
#endif /* STEEP_STEEP_H */
