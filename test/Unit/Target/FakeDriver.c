/*===-- FakeDriver.c - a driver whose device is the host ----------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* The entries that the launcher binds, the kernels of HostTables.c, and the  *|
|* real prelude compiled for the host. A launch runs at once, or is recorded, *|
|* as a CUDA graph records it: with the values of its arguments.              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "FakeDriver.h"

#include <stdint.h>
#include <string.h>

static unsigned block_x;
static int __nvvm_read_ptx_sreg_tid_x(void) { return 0; }
static int __nvvm_read_ptx_sreg_ctaid_x(void) { return (int)block_x; }
static void __syncthreads(void) {}
#include "lib/Target/Device/Prelude.c"

enum { ROWS = 4, COLUMNS = 8, MOST_ARGUMENTS = 66, MOST_LAUNCHES = 64 };

static int capability = 80, fails, loads, context, current;
static const char *loaded;
static unsigned widest_shared;
static int others, declared, standing;

void fake_set_capability(int value) { capability = value; }
void fake_fail_launch(int number) { fails = number; }
const char *fake_loaded(void) { return loaded; }
int fake_loads(void) { return loads; }
int fake_current(void) { return current; }
unsigned fake_shared(void) { return widest_shared; }
int fake_other_calls(void) { return others; }
int fake_declared(void) { return declared; }
int fake_standing(void) { return standing; }

/*===----------------------------------------------------------------------===*\
|* Kernels                                                                    *|
\*===----------------------------------------------------------------------===*/

#define VALUE(type, i) (*(type *)a[i])
#define TABLE(i, y) (VALUE(float **, i)[y])

static void store(void **a) {
#define ARGUMENT(n) , VALUE(u64, 2 + 0##n)
  steep_prelude_store(VALUE(u64 *, 0), VALUE(i64, 1) WORDS(ARGUMENT));
}
static void sums(void **a) {
  steep_prelude_sums(VALUE(char *, 0), VALUE(i64, 1), VALUE(i64, 2),
                     VALUE(double *, 3));
}
static void finish(void **a) {
  steep_prelude_finish(VALUE(double *, 0), VALUE(i64 *, 1), VALUE(i64, 2),
                       VALUE(scalar *, 3), VALUE(double, 4), VALUE(i64, 5),
                       VALUE(step_report *, 6));
}
static void scalars(void **a) {
  steep_prelude_scalars(VALUE(i64 *, 0), VALUE(i64, 1), VALUE(i64, 2),
                        VALUE(scalar *, 3), VALUE(step_report *, 4),
                        VALUE(i64, 5), VALUE(i64 *, 6), VALUE(float *, 7),
                        VALUE(float *, 8), VALUE(float *, 9), VALUE(i64 *, 10),
                        VALUE(i32 *, 11));
}

/* Kernels of the step: row x of matrix y. */
static void squares(void **a, unsigned x, unsigned y) {
  const float *g = TABLE(0, y) + x * COLUMNS;
  double sum = 0;
  int i;
  for (i = 0; i < COLUMNS; ++i)
    sum += (double)g[i] * g[i];
  ((double *)(void *)(VALUE(char *, 1) + (int64_t)y * VALUE(int64_t, 2)))[x] =
      sum;
}
static void average_to(void **a, unsigned x, unsigned y, float *s) {
  const float *g = TABLE(0, y);
  float *m = TABLE(1, y), clip = VALUE(float *, 3)[y];
  unsigned i;
  for (i = x * COLUMNS; i < (x + 1) * COLUMNS; ++i) {
    m[i] = 0.5f * m[i] + clip * g[i];
    s[i] = -VALUE(float *, 4)[y] * m[i];
  }
}
static void average(void **a, unsigned x, unsigned y) {
  average_to(
      a, x, y,
      (float *)(void *)(VALUE(char *, 2) + (int64_t)y * VALUE(int64_t, 5)));
}
static void average_update(void **a, unsigned x, unsigned y) {
  average_to(a, x, y, TABLE(2, y));
}
static void apply_from(void **a, unsigned x, unsigned y, const float *s) {
  float *w = TABLE(0, y);
  unsigned i;
  for (i = x * COLUMNS; i < (x + 1) * COLUMNS; ++i)
    w[i] = w[i] * (1 - VALUE(float *, 2)[y]) + s[i] +
           VALUE(float, 4) * (float)VALUE(int64_t *, 3)[y];
}
static void apply(void **a, unsigned x, unsigned y) {
  apply_from(a, x, y,
             (const float *)(void *)(VALUE(char *, 1) +
                                     (int64_t)y * VALUE(int64_t, 5)));
}
static void apply_update(void **a, unsigned x, unsigned y) {
  apply_from(a, x, y, TABLE(1, y));
}

typedef struct {
  const char *name;
  int arguments;
  void (*prelude)(void **);
  void (*kernel)(void **, unsigned, unsigned);
} function;

static const function functions[] = {
    {"steep_prelude_store", 66, store, 0},
    {"steep_prelude_sums", 4, sums, 0},
    {"steep_prelude_finish", 7, finish, 0},
    {"steep_prelude_scalars", 12, scalars, 0},
    {"squares", 4, 0, squares},
    {"average", 7, 0, average},
    {"average_update", 7, 0, average_update},
    {"apply", 7, 0, apply},
    {"apply_update", 7, 0, apply_update},
};

/*===----------------------------------------------------------------------===*\
|* Launches                                                                   *|
\*===----------------------------------------------------------------------===*/

typedef struct {
  const function *f;
  unsigned x, y;
  uint64_t values[MOST_ARGUMENTS];
} launch;

static launch recorded[MOST_LAUNCHES];
static int count, recording;

static void run(const launch *l) {
  uint64_t values[MOST_ARGUMENTS];
  void *a[MOST_ARGUMENTS];
  unsigned y;
  int i;
  memcpy(values, l->values, sizeof values);
  for (i = 0; i < l->f->arguments; ++i)
    a[i] = &values[i];
  for (block_x = 0; block_x < l->x; ++block_x)
    for (y = 0; y < l->y; ++y) {
      if (l->f->prelude)
        l->f->prelude(a);
      else if (*VALUE(int32_t *, l->f->arguments - 1) == 0)
        l->f->kernel(a, block_x, y);
    }
}

void fake_record(int on) {
  recording = on;
  if (on)
    count = 0;
}
void fake_replay(void) {
  int i;
  for (i = 0; i < count; ++i)
    run(&recorded[i]);
}
int fake_recorded(void) { return count; }

int cuLaunchKernel(void *f, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x_size, unsigned block_y, unsigned block_z,
                   unsigned shared, void *stream, void **arguments,
                   void **extra) {
  launch l;
  int i;
  (void)grid_z, (void)block_x_size, (void)block_y, (void)block_z;
  (void)stream, (void)extra;
  if (!current)
    return 201;
  if (fails > 0 && --fails == 0)
    return 719;
  if (shared > widest_shared)
    widest_shared = shared;
  memset(&l, 0, sizeof l);
  l.f = f;
  l.x = grid_x;
  l.y = grid_y;
  for (i = 0; i < l.f->arguments; ++i)
    memcpy(&l.values[i], arguments[i], 8);
  if (!recording)
    run(&l);
  else if (count == MOST_LAUNCHES)
    return 2;
  else
    recorded[count++] = l;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* The rest                                                                   *|
\*===----------------------------------------------------------------------===*/

int cuInit(unsigned flags) { return ++others, (int)flags; }
int cuDeviceGetCount(int *number) { return ++others, *number = 2, 0; }
int cuDeviceGet(int *device, int ordinal) {
  return ++others, *device = ordinal, 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  ++others;
  *value = attribute == 75 ? capability / 10 : capability % 10;
  return attribute == 75 || attribute == 76 ? 0 : 1;
}
int cuDevicePrimaryCtxRetain(void **c, int device) {
  (void)device;
  ++others;
  ++context;
  return *c = &context, 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  return ++others, --context, 0;
}
int cuCtxGetCurrent(void **c) {
  return *c = current ? (void *)&context : (void *)0, 0;
}
int cuCtxSetCurrent(void *c) { return current = c != 0, 0; }
int cuModuleLoadData(void **module, const void *image) {
  ++others;
  ++loads;
  loaded = image;
  return *module = &loads, current ? 0 : 201;
}
int cuModuleUnload(void *module) {
  ++others;
  return module == &loads ? --loads, 0 : 1;
}
int cuModuleGetFunction(void **f, void *module, const char *name) {
  size_t i;
  (void)module;
  ++others;
  for (i = 0; i < sizeof functions / sizeof functions[0]; ++i)
    if (strcmp(name, functions[i].name) == 0)
      return *f = (void *)&functions[i], 0;
  return 500;
}
int cuFuncSetAttribute(void *f, int attribute, int value) {
  const function *entry = f;
  ++others;
  return attribute == 8 && value == 65536 && !strcmp(entry->name, "average")
             ? 0
             : 1;
}
int cuGetErrorString(int error, const char **text) {
  return *text = error == 719 ? "launch failed" : "some error", 0;
}

/* The emulated GPU's: matrices of the workspace may not reach each other. */
int steepSimtDeclare(const char *name, unsigned long long pointer, size_t bytes,
                     size_t stride, size_t parts) {
  ++declared;
  standing += bytes != 0;
  standing -= bytes == 0;
  return !name || !pointer || (bytes && parts > 1 && stride < bytes);
}
