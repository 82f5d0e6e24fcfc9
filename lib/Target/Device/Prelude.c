/*===-- Prelude.c - kernels around a step's kernels ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* What Step.c's prepare does on the host, for a GPU: norm, finite check,     *|
|* clip factor, step number, each matrix's scalars. Compiled for NVPTX when   *|
|* Steep is built and linked into every module of GPU kernels. Sums are taken *|
|* in an order that only the sizes decide: a step gives the same bits again.  *|
|* All four are launched with blocks of THREADS; see Host/CudaStep.c.         *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

typedef unsigned long long u64;
typedef long long i64;
typedef int i32;

#ifdef __NVPTX__
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))
#define KERNEL __attribute__((nvptx_kernel))
enum { THREADS = 256, STORE_WORDS = 64 };
#else
/* On the host, for tests: blocks of one thread, who is whoever includes this.
 */
#define GLOBAL
#define SHARED static
#define KERNEL
enum { THREADS = 1, STORE_WORDS = 64 };
#endif

/* steep.h's, by their published numbers and layout. */
enum { OK = 0, INVALID_ARGUMENT = -1 };
typedef struct {
  double grad_norm, clip_factor;
  i64 nonfinite_parameter, step, code;
} step_report;

/* grad_scale, or one of the two rates of a group. */
typedef struct {
  double value;
  u64 pointer; /* to a float; 0: the value */
} scalar;

static double read_scalar(const GLOBAL scalar *s) {
  u64 pointer = s->pointer;
  return pointer ? (double)*(const GLOBAL float *)pointer : s->value;
}

/* Not -inf, inf or NaN once it is an FP32. */
static i32 is_finite(double x) {
  return __builtin_fabs(x) <= (double)__FLT_MAX__;
}

/*===----------------------------------------------------------------------===*\
|* Words                                                                      *|
\*===----------------------------------------------------------------------===*/

#define EIGHT(X, n)                                                            \
  X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define WORDS(X)                                                               \
  EIGHT(X, 0)                                                                  \
  EIGHT(X, 1)                                                                  \
  EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)

/* Writes the first `count` of 64 words, whose names count in octal. They come
 * by value: a graph that captures the launch keeps them. */
#define PARAMETER(n) , u64 w##n
KERNEL void steep_prelude_store(GLOBAL u64 *to, i64 count WORDS(PARAMETER)) {
  if (__nvvm_read_ptx_sreg_tid_x() != 0)
    return;
#define STORE(n)                                                               \
  if (0##n < count)                                                            \
    to[0##n] = w##n;
  WORDS(STORE)
}

/*===----------------------------------------------------------------------===*\
|* Sums                                                                       *|
\*===----------------------------------------------------------------------===*/

SHARED double partial[THREADS];
SHARED i64 lowest[THREADS];

/* The sum over the block's threads, by halves. All must call it. */
static double sum_block(double mine) {
  i32 thread = __nvvm_read_ptx_sreg_tid_x(), half;
  double sum;
  partial[thread] = mine;
  for (half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half)
      partial[thread] += partial[thread + half];
  }
  __syncthreads();
  sum = partial[0];
  __syncthreads();
  return sum;
}

static i64 min_block(i64 mine) {
  i32 thread = __nvvm_read_ptx_sreg_tid_x(), half;
  i64 least;
  lowest[thread] = mine;
  for (half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half && lowest[thread + half] < lowest[thread])
      lowest[thread] = lowest[thread + half];
  }
  __syncthreads();
  least = lowest[0];
  __syncthreads();
  return least;
}

/* Block m: the sum of the `count` row sums of matrix m, into sums[m]. */
KERNEL void steep_prelude_sums(const GLOBAL char *rows, i64 stride, i64 count,
                               GLOBAL double *sums) {
  i64 matrix = __nvvm_read_ptx_sreg_ctaid_x(), i;
  const GLOBAL double *mine = (const GLOBAL double *)(rows + matrix * stride);
  double sum = 0;
  for (i = __nvvm_read_ptx_sreg_tid_x(); i < count; i += THREADS)
    sum += mine[i];
  sum = sum_block(sum);
  if (__nvvm_read_ptx_sreg_tid_x() == 0)
    sums[matrix] = sum;
}

/*===----------------------------------------------------------------------===*\
|* The report                                                                 *|
\*===----------------------------------------------------------------------===*/

/* Is some scaled gradient of a matrix with this sum beyond FP32? */
static i32 overflows(double sum, double scale) {
  return !(__builtin_sqrt(sum) * __builtin_fabs(scale) <= (double)__FLT_MAX__);
}

/* Norm over all gradients, clip factor and first non-finite parameter, from the
 * sums by position; `order` holds each position's parameter. */
KERNEL void steep_prelude_finish(const GLOBAL double *sums,
                                 const GLOBAL i64 *order, i64 count,
                                 const GLOBAL scalar *grad_scale,
                                 double clip_norm, i64 nonfinite_code,
                                 GLOBAL step_report *report) {
  i64 thread = __nvvm_read_ptx_sreg_tid_x(), i, first = count;
  double scale = read_scalar(grad_scale), sum = 0, norm, clip = 1;
  for (i = thread; i < count; i += THREADS)
    sum += sums[i];
  norm = __builtin_sqrt(sum_block(sum)) * __builtin_fabs(scale);
  /* torch.nn.utils.clip_grad_norm_'s factor. */
  if (clip_norm > 0 && norm <= __DBL_MAX__ && clip_norm / (norm + 1e-6) < 1)
    clip = clip_norm / (norm + 1e-6);
  for (i = thread; i < count; i += THREADS)
    if (overflows(sums[i], scale * clip) && order[i] < first)
      first = order[i];
  first = min_block(first);
  if (thread != 0)
    return;
  report->grad_norm = norm;
  report->clip_factor = clip;
  report->nonfinite_parameter = first == count ? -1 : first;
  report->step = 0;
  report->code = !is_finite(scale) ? INVALID_ARGUMENT
                 : first == count  ? OK
                                   : nonfinite_code;
}

/* One value a position of the rates, of the clip factor with grad_scale, and of
 * the step's number; the skip flag; a counter of updates, where there is one,
 * counts. `scalars` are grad_scale, then lr and wd of each group. */
KERNEL void steep_prelude_scalars(const GLOBAL i64 *group_of, i64 count,
                                  i64 groups, const GLOBAL scalar *scalars,
                                  GLOBAL step_report *report, i64 step,
                                  GLOBAL i64 *counter, GLOBAL float *lr,
                                  GLOBAL float *wd, GLOBAL float *clip,
                                  GLOBAL i64 *steps, GLOBAL i32 *skip) {
  i64 thread = __nvvm_read_ptx_sreg_tid_x(), i, bad = 1, code = report->code;
  i64 number = counter ? *counter + 1 : step;
  double factor = report->clip_factor;
  double scale = read_scalar(scalars) * factor;
  for (i = thread; i < 2 * groups; i += THREADS)
    if (!is_finite(read_scalar(&scalars[1 + i])))
      bad = 0;
  if (!is_finite(scale) || !(factor > 0) || number < 1)
    bad = 0;
  bad = !min_block(bad); /* and nobody reads the counter from here on */
  for (i = thread; i < count; i += THREADS) {
    const GLOBAL scalar *rates = &scalars[1 + 2 * group_of[i]];
    lr[i] = (float)read_scalar(&rates[0]);
    wd[i] = (float)read_scalar(&rates[1]);
    clip[i] = (float)scale;
    steps[i] = number;
  }
  if (thread != 0)
    return;
  if (code == OK && bad)
    code = INVALID_ARGUMENT;
  report->code = code;
  report->step = number;
  *skip = code != OK;
  if (counter && code == OK)
    *counter = number;
}
