/*===-- TvmFfi.c - the entries for tvm-ffi ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* tvm-ffi is one calling convention for many hosts: numbers, strings,        *|
|* tensors and arrays of them, each in 16 bytes with a tag. Its published C   *|
|* ABI (tvm/ffi/c_api.h of apache-tvm-ffi) is declared here, so that nothing  *|
|* of it is needed to build or to link: the two functions of its library are  *|
|* weak, and are there where the library is.                                  *|
|*                                                                            *|
|* Functions called steep_host_tvm_X become __tvm_ffi_steep_NAME_X, and       *|
|* steep_host_tvm__metadata_X __tvm_ffi__metadata_steep_NAME_X.               *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*===----------------------------------------------------------------------===*\
|* The part of tvm-ffi's C ABI that is used                                   *|
\*===----------------------------------------------------------------------===*/

enum {
  TVM_NONE = 0,
  TVM_INT = 1,
  TVM_BOOL = 2,
  TVM_FLOAT = 3,
  TVM_OPAQUE = 4,
  TVM_DLTENSOR = 7,
  TVM_TENSOR = 70, /* an object: a header, then a DLTensor */
  TVM_ARRAY = 71,  /* a header, then a sequence */
  TVM_LIST = 75,
  TVM_HEADER_BYTES = 24
};

typedef struct {
  int32_t type;
  uint32_t zero;
  union {
    int64_t integer;
    double real;
    void *pointer;
  } value;
} tvm_any;

typedef struct {
  const tvm_any *data;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void *);
} tvm_sequence;

typedef struct {
  const char *data;
  size_t size;
} tvm_bytes;

extern void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message)
    __attribute__((weak));
extern int TVMFFIStringFromByteArray(const tvm_bytes *input, tvm_any *out)
    __attribute__((weak));

/* Raises what steep_host_say has just said. */
static int raise(const char *kind) {
  if (TVMFFIErrorSetRaisedFromCStr)
    TVMFFIErrorSetRaisedFromCStr(kind, steep_host_export_last_error());
  return -1;
}

static int return_text(const char *text, tvm_any *result) {
  tvm_bytes bytes;
  bytes.data = text;
  bytes.size = strlen(text);
  if (TVMFFIStringFromByteArray)
    return TVMFFIStringFromByteArray(&bytes, result);
  steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                 "tvm-ffi: its library is not loaded");
  return -1;
}

static int return_number(int64_t value, tvm_any *result) {
  result->type = TVM_INT;
  result->zero = 0;
  result->value.integer = value;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Arguments                                                                  *|
\*===----------------------------------------------------------------------===*/

static int32_t mistyped(const char *what, const char *expected, int32_t type) {
  return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                        "%s: expected %s, got tvm-ffi's type %d", what,
                        expected, (int)type);
}

static const tvm_sequence *as_sequence(const tvm_any *any) {
  if (any->type != TVM_ARRAY && any->type != TVM_LIST)
    return NULL;
  return (const tvm_sequence *)(const void *)((char *)any->value.pointer +
                                              TVM_HEADER_BYTES);
}

static int32_t read_tensor(const tvm_any *any, const char *what,
                           DLTensor **out) {
  *out = NULL;
  if (any->type == TVM_DLTENSOR)
    *out = any->value.pointer;
  else if (any->type == TVM_TENSOR)
    *out = (DLTensor *)(void *)((char *)any->value.pointer + TVM_HEADER_BYTES);
  else if (any->type != TVM_NONE)
    return mistyped(what, "a tensor or None", any->type);
  return STEEP_OK;
}

/* `count` tensors, some of which may be None; all are, where `any` is. */
static int32_t read_tensors(const tvm_any *any, const char *what, int64_t count,
                            DLTensor **out) {
  const tvm_sequence *list = as_sequence(any);
  int32_t code = STEEP_OK;
  int64_t i;
  for (i = 0; i < count; ++i)
    out[i] = NULL;
  if (any->type == TVM_NONE)
    return STEEP_OK;
  if (!list)
    return mistyped(what, "an array of tensors", any->type);
  if (list->size != count)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "%s: expected %lld tensors, got %lld", what,
                          (long long)count, (long long)list->size);
  for (i = 0; !code && i < count; ++i)
    code = read_tensor(&list->data[i], what, &out[i]);
  return code;
}

static int32_t read_number(const tvm_any *any, const char *what, double *out) {
  if (any->type == TVM_FLOAT)
    *out = any->value.real;
  else if (any->type == TVM_INT || any->type == TVM_BOOL)
    *out = (double)any->value.integer;
  else
    return mistyped(what, "a number", any->type);
  return STEEP_OK;
}

/* One number a group, or one for all. */
static int32_t read_numbers(const tvm_any *any, const char *what, int64_t count,
                            steep_scalar *out) {
  const tvm_sequence *list = as_sequence(any);
  int32_t code = STEEP_OK;
  int64_t i;
  if (list && list->size != count)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "%s: expected %lld numbers, one a group, got %lld",
                          what, (long long)count, (long long)list->size);
  for (i = 0; !code && i < count; ++i) {
    memset(&out[i], 0, sizeof out[i]);
    code = read_number(list ? &list->data[i] : any, what, &out[i].value);
  }
  return code;
}

/* The memory of a dense tensor on the CPU. */
static int32_t read_memory(const tvm_any *any, const char *what, char **begin,
                           uint64_t *bytes) {
  DLTensor *tensor;
  int32_t code = read_tensor(any, what, &tensor);
  int64_t i;
  if (code)
    return code;
  if (!tensor || !tensor->data || tensor->device.device_type != kDLCPU ||
      tensor->ndim != 1 || (tensor->strides && tensor->strides[0] != 1))
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "%s: expected a dense CPU tensor of one dimension",
                          what);
  *begin = steep_host_data(tensor);
  *bytes = tensor->dtype.bits / 8u;
  for (i = 0; i < tensor->ndim; ++i)
    *bytes *= (uint64_t)tensor->shape[i];
  return STEEP_OK;
}

/*===----------------------------------------------------------------------===*\
|* plan and step                                                              *|
\*===----------------------------------------------------------------------===*/

static const tvm_any none;

/* Argument i, None where it was left out. */
static const tvm_any *at(const tvm_any *list, int32_t count, int32_t i) {
  return i < count ? &list[i] : &none;
}

static int check_count(const char *what, int32_t count, int32_t least,
                       int32_t most) {
  if (count >= least && count <= most)
    return 0;
  steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                 "%s: expected %d to %d arguments, got %d", what, (int)least,
                 (int)most, (int)count);
  return raise("TypeError");
}

/* Pointers to tensors, and scalars, of one call. They live on the stack, which
 * bounds their number; see check_tables(). */
typedef struct {
  DLTensor **parameters, **gradients, **states, **updates, **masters;
  steep_scalar *lr, *wd;
} tables;

enum { MOST_TABLE_BYTES = 1 << 20 };

static int64_t count_pointers(void) {
  return 4 * steep_host_tables.parameter_count + steep_host_tables.state_count +
         1;
}

/* Their number on the stack. */
static int64_t count_slots(void) {
  int64_t count = count_pointers();
  return count * (int64_t)sizeof(DLTensor *) > MOST_TABLE_BYTES ? 1 : count;
}

static int check_tables(void) {
  int64_t bytes =
      count_pointers() * (int64_t)sizeof(DLTensor *) +
      2 * steep_host_tables.group_count * (int64_t)sizeof(steep_scalar);
  if (bytes <= MOST_TABLE_BYTES)
    return 0;
  steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                 "tvm-ffi: %lld tensors are more than its entries take; use "
                 "those of the C ABI",
                 (long long)count_pointers());
  return raise("ValueError");
}

static void lay_out(tables *out, DLTensor **pointers) {
  int64_t n = steep_host_tables.parameter_count;
  out->parameters = pointers;
  out->gradients = pointers + n;
  out->updates = pointers + 2 * n;
  out->masters = pointers + 3 * n;
  out->states = pointers + 4 * n;
}

/* The tensors that plan and step have both. */
static int32_t read_call(const tvm_any *params, const tvm_any *grads,
                         const tvm_any *states, const tvm_any *updates,
                         const tvm_any *masters, const tvm_any *delta,
                         const tables *lists, steep_step_args *args) {
  int64_t n = steep_host_tables.parameter_count;
  int32_t code = read_tensors(params, "params", n, lists->parameters);
  double flag = 0;
  if (!code)
    code = read_tensors(grads, "grads", n, lists->gradients);
  if (!code)
    code = read_tensors(states, "states", steep_host_tables.state_count,
                        lists->states);
  if (!code)
    code = read_tensors(updates, "updates", n, lists->updates);
  if (!code)
    code = read_tensors(masters, "masters", n, lists->masters);
  if (!code && delta->type != TVM_NONE)
    code = read_number(delta, "delta_only", &flag);
  memset(args, 0, sizeof *args);
  args->struct_size = sizeof *args;
  args->flags = flag != 0 ? STEEP_DELTA_ONLY : 0;
  args->parameter_count = n;
  args->state_count = steep_host_tables.state_count;
  args->group_count = steep_host_tables.group_count;
  args->parameters = lists->parameters;
  args->gradients = lists->gradients;
  args->states = lists->states;
  args->updates = lists->updates;
  args->masters = lists->masters;
  return code;
}

/* plan(params, grads, states, updates=None, masters=None, delta_only=False)
 * -> bytes of workspace; 64 of them are for its alignment. */
int steep_host_tvm_plan(void *self, const tvm_any *list, int32_t count,
                        tvm_any *result) {
  DLTensor *pointers[count_slots()];
  steep_plan plan;
  steep_step_args args;
  tables lists;
  steep_call call;
  (void)self;
  memset(&plan, 0, sizeof plan);
  plan.struct_size = sizeof plan;
  if (steep_host_export_plan(&plan) != STEEP_OK)
    return raise("RuntimeError");
  if (check_count("plan", count, 3, 6) || check_tables())
    return -1;
  lay_out(&lists, pointers);
  if (read_call(at(list, count, 0), at(list, count, 1), at(list, count, 2),
                at(list, count, 3), at(list, count, 4), at(list, count, 5),
                &lists, &args))
    return raise("ValueError");
  memset(&call, 0, sizeof call);
  call.args = &args;
  call.actions = STEEP_PREPARE | STEEP_APPLY;
  if (steep_host_check_tensors(&call))
    return raise("ValueError");
  return return_number(
      (int64_t)(64 + plan.workspace_bytes + steep_host_stage_bytes(&call)),
      result);
}

/* Where the numbers of step()'s signature go. */
static int32_t read_numbers_of_step(const tvm_any *list, const tables *lists,
                                    steep_step_args *args) {
  int32_t code = read_numbers(&list[3], "lr", args->group_count, lists->lr);
  double step = 0;
  if (!code)
    code = read_numbers(&list[4], "wd", args->group_count, lists->wd);
  if (!code)
    code = read_number(&list[5], "grad_scale", &args->grad_scale.value);
  if (!code)
    code = read_number(&list[6], "step", &step);
  args->lr = lists->lr;
  args->wd = lists->wd;
  args->step = step >= 1 && step < 9e15 ? (int64_t)step : 0;
  return code;
}

static int32_t read_places(const tvm_any *list, int32_t count, double **report,
                           steep_step_args *args) {
  const tvm_any *pool = at(list, count, 8), *out = at(list, count, 12);
  char *begin = NULL;
  uint64_t bytes = 0, skip;
  int32_t code = read_memory(&list[7], "workspace", &begin, &bytes);
  skip = (64 - (uintptr_t)begin % 64) % 64;
  args->workspace = begin + skip;
  args->workspace_bytes = bytes > skip ? bytes - skip : 0;
  if (!code && pool->type == TVM_OPAQUE)
    args->pool = pool->value.pointer;
  else if (!code && pool->type != TVM_NONE)
    code = mistyped("pool", "what pool_create gave, or None", pool->type);
  if (code || out->type == TVM_NONE)
    return code;
  code = read_memory(out, "report", &begin, &bytes);
  if (!code && (bytes != 3 * sizeof(double) || (uintptr_t)begin % 8 != 0))
    code = steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "report: expected 3 numbers of FP64");
  *report = (double *)(void *)begin;
  return code;
}

/* step(params, grads, states, lr, wd, grad_scale, step, workspace, pool=None,
 *      updates=None, masters=None, delta_only=False, report=None)
 * -> 0, or 1 where a gradient was not finite and nothing was written. `report`
 * receives grad_norm, clip_factor and nonfinite_parameter. */
int steep_host_tvm_step(void *self, const tvm_any *list, int32_t count,
                        tvm_any *result) {
  DLTensor *pointers[count_slots()];
  steep_scalar scalars[2 * steep_host_tables.group_count + 1];
  double *report = NULL;
  steep_step_args args;
  tables lists;
  int32_t code;
  (void)self;
  if (check_count("step", count, 8, 13) || check_tables())
    return -1;
  lay_out(&lists, pointers);
  lists.lr = scalars;
  lists.wd = scalars + steep_host_tables.group_count;
  code = read_call(&list[0], &list[1], &list[2], at(list, count, 9),
                   at(list, count, 10), at(list, count, 11), &lists, &args);
  if (!code)
    code = read_numbers_of_step(list, &lists, &args);
  if (!code)
    code = read_places(list, count, &report, &args);
  if (!code)
    code = steep_host_export_step(&args);
  if (code < 0)
    return raise(code == STEEP_CPU_MISMATCH ? "RuntimeError" : "ValueError");
  if (report) {
    report[0] = args.grad_norm;
    report[1] = args.clip_factor;
    report[2] = (double)args.nonfinite_parameter;
  }
  return return_number(code == STEEP_SKIPPED, result);
}

/*===----------------------------------------------------------------------===*\
|* The rest                                                                   *|
\*===----------------------------------------------------------------------===*/

int steep_host_tvm_manifest(void *self, const tvm_any *list, int32_t count,
                            tvm_any *result) {
  (void)self;
  (void)list;
  if (check_count("manifest", count, 0, 0))
    return -1;
  return return_text(steep_host_tables.build_info, result);
}

int steep_host_tvm_pool_create(void *self, const tvm_any *list, int32_t count,
                               tvm_any *result) {
  double threads = 0;
  steep_pool *pool;
  (void)self;
  if (check_count("pool_create", count, 1, 1))
    return -1;
  if (read_number(list, "threads", &threads))
    return raise("TypeError");
  pool = steep_host_pool(threads);
  if (!pool)
    return raise("ValueError");
  result->type = TVM_OPAQUE;
  result->zero = 0;
  result->value.pointer = pool;
  return 0;
}

int steep_host_tvm_pool_destroy(void *self, const tvm_any *list, int32_t count,
                                tvm_any *result) {
  (void)self;
  if (check_count("pool_destroy", count, 1, 1))
    return -1;
  if (list->type != TVM_OPAQUE) {
    mistyped("pool", "what pool_create gave", list->type);
    return raise("TypeError");
  }
  steep_host_export_pool_destroy(list->value.pointer);
  *result = none;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* What tvm-ffi's get_function_metadata() tells                               *|
\*===----------------------------------------------------------------------===*/

#define TYPE(name) "{\\\"type\\\":\\\"" name "\\\"}"
#define OF(name, type) "{\\\"type\\\":\\\"" name "\\\",\\\"args\\\":[" type "]}"
#define TENSOR TYPE("ffi.Tensor")
#define TENSORS OF("ffi.Array", TENSOR)
#define OPTIONAL(type) OF("Optional", type)
#define NUMBERS OF("ffi.Array", TYPE("float"))
#define FUNCTION(types) "{\"type_schema\":\"" OF("ffi.Function", types) "\"}"
#define METADATA(name, types)                                                  \
  int steep_host_tvm__metadata_##name(void *self, const tvm_any *list,         \
                                      int32_t count, tvm_any *result) {        \
    (void)self;                                                                \
    (void)list;                                                                \
    (void)count;                                                               \
    return return_text(FUNCTION(types), result);                               \
  }

/* The first type is the result's. */
METADATA(plan, TYPE("int") "," TENSORS "," TENSORS "," TENSORS "," OPTIONAL(
                   TENSORS) "," OPTIONAL(TENSORS) "," TYPE("bool"))
METADATA(
    step,
    TYPE(
        "int") "," TENSORS "," TENSORS "," TENSORS "," NUMBERS "," NUMBERS
               "," TYPE("float") "," TYPE(
                   "int") "," TENSOR
                          "," OPTIONAL(TYPE("ctypes.c_void_p")) "," OPTIONAL(TENSORS) "," OPTIONAL(
                              TENSORS) "," TYPE("bool") "," OPTIONAL(TENSOR))
METADATA(manifest, TYPE("ffi.String"))
METADATA(pool_create, TYPE("ctypes.c_void_p") "," TYPE("int"))
METADATA(pool_destroy, TYPE("None") "," TYPE("ctypes.c_void_p"))
