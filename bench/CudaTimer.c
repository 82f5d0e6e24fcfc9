/*===-- CudaTimer.c - a driver that takes the time of each kernel -*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* An artefact's launcher talks to a library with the driver's interface.     *|
|* This one hands every call on to the driver in $STEEP_TIMED_DRIVER (else    *|
|* libcuda.so.1), with an event before and after each launch, and keeps the   *|
|* shortest time of each kernel and grid.                                     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FUNCTIONS = 4096, MOST_ENTRIES = 4096 };

static struct {
  void *function;
  char name[128];
} functions[MOST_FUNCTIONS];

/* One kernel with one number of matrices. */
static struct {
  const char *name;
  unsigned matrices;
  long calls;
  float milliseconds;
} entries[MOST_ENTRIES];
static int function_count, entry_count;

static void *real(const char *name) {
  static void *library;
  void *entry;
  if (!library) {
    const char *path = getenv("STEEP_TIMED_DRIVER");
    library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  }
  entry = library ? dlsym(library, name) : NULL;
  if (!entry)
    fprintf(stderr, "CudaTimer: the driver has no %s\n", name);
  return entry;
}

/* A call without a driver is "not initialized". */
#define CALL(name, types, arguments)                                           \
  static int(*entry) types;                                                    \
  if (!entry)                                                                  \
    entry = (int(*) types)real(name);                                          \
  return entry ? entry arguments : 3

int cuInit(unsigned f) { CALL("cuInit", (unsigned), (f)); }
int cuDeviceGetCount(int *n) { CALL("cuDeviceGetCount", (int *), (n)); }
int cuDeviceGet(int *d, int n) { CALL("cuDeviceGet", (int *, int), (d, n)); }
int cuDeviceGetAttribute(int *v, int a, int d) {
  CALL("cuDeviceGetAttribute", (int *, int, int), (v, a, d));
}
int cuDevicePrimaryCtxRetain(void **c, int d) {
  CALL("cuDevicePrimaryCtxRetain", (void **, int), (c, d));
}
int cuDevicePrimaryCtxRelease_v2(int d) {
  CALL("cuDevicePrimaryCtxRelease_v2", (int), (d));
}
int cuCtxGetCurrent(void **c) { CALL("cuCtxGetCurrent", (void **), (c)); }
int cuCtxSetCurrent(void *c) { CALL("cuCtxSetCurrent", (void *), (c)); }
int cuModuleLoadData(void **m, const void *i) {
  CALL("cuModuleLoadData", (void **, const void *), (m, i));
}
int cuModuleUnload(void *m) { CALL("cuModuleUnload", (void *), (m)); }
int cuFuncSetAttribute(void *f, int a, int v) {
  CALL("cuFuncSetAttribute", (void *, int, int), (f, a, v));
}
int cuGetErrorString(int e, const char **s) {
  CALL("cuGetErrorString", (int, const char **), (e, s));
}

static int find_function(void **f, void *m, const char *n) {
  CALL("cuModuleGetFunction", (void **, void *, const char *), (f, m, n));
}

int cuModuleGetFunction(void **f, void *m, const char *name) {
  int error = find_function(f, m, name);
  if (!error && function_count < MOST_FUNCTIONS) {
    functions[function_count].function = *f;
    snprintf(functions[function_count].name, sizeof functions[0].name, "%s",
             name);
    ++function_count;
  }
  return error;
}

static int launch(void *f, const unsigned size[7], void *stream, void **a,
                  void **extra) {
  CALL("cuLaunchKernel",
       (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
        unsigned, void *, void **, void **),
       (f, size[0], size[1], size[2], size[3], size[4], size[5], size[6],
        stream, a, extra));
}
static int create_event(void **e) {
  CALL("cuEventCreate", (void **, unsigned), (e, 0));
}
static int record_event(void *e, void *s) {
  CALL("cuEventRecord", (void *, void *), (e, s));
}
static int wait_event(void *e) { CALL("cuEventSynchronize", (void *), (e)); }
static int elapsed(float *t, void *a, void *b) {
  CALL("cuEventElapsedTime", (float *, void *, void *), (t, a, b));
}

static void keep(void *function, unsigned matrices, float milliseconds) {
  const char *name = "unknown";
  int i;
  for (i = 0; i < function_count; ++i)
    if (functions[i].function == function)
      name = functions[i].name;
  for (i = 0; i < entry_count; ++i)
    if (strcmp(entries[i].name, name) == 0 && entries[i].matrices == matrices)
      break;
  if (i == MOST_ENTRIES)
    return;
  if (i == entry_count) {
    ++entry_count;
    entries[i].name = name;
    entries[i].matrices = matrices;
    entries[i].milliseconds = milliseconds;
  }
  ++entries[i].calls;
  if (milliseconds < entries[i].milliseconds)
    entries[i].milliseconds = milliseconds;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **arguments, void **extra) {
  static void *begin, *end;
  const unsigned size[7] = {gx, gy, gz, bx, by, bz, shared};
  float milliseconds = 0;
  int error = 0;
  if (!begin)
    error = create_event(&begin) || create_event(&end);
  error = error || record_event(begin, stream);
  if (!error)
    error = launch(f, size, stream, arguments, extra);
  if (!error)
    error = record_event(end, stream) || wait_event(end) ||
            elapsed(&milliseconds, begin, end);
  if (!error)
    keep(f, gy, milliseconds);
  return error;
}

int steep_timer_count(void) { return entry_count; }
const char *steep_timer_name(int i) { return entries[i].name; }
int steep_timer_matrices(int i) { return (int)entries[i].matrices; }
double steep_timer_microseconds(int i) {
  return 1000.0 * (double)entries[i].milliseconds;
}
void steep_timer_reset(void) { entry_count = 0; }
