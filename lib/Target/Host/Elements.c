/*===-- Elements.c - elements of any tensor, in row-major order ---*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

#include <string.h>

/* From element `at` on: where it lies, and how many follow in one run, with
 * `stride` between them. */
static int64_t locate(const DLTensor *tensor, int64_t at, int64_t *offset,
                      int64_t *stride) {
  int64_t i, rest = at, inner = tensor->shape[tensor->ndim - 1];
  *offset = at;
  *stride = 1;
  if (!tensor->strides)
    return INT64_MAX;
  *offset = 0;
  *stride = tensor->strides[tensor->ndim - 1];
  for (i = tensor->ndim - 1; i >= 0; --i) {
    *offset += rest % tensor->shape[i] * tensor->strides[i];
    rest /= tensor->shape[i];
  }
  return inner - at % inner;
}

static float widen(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* To nearest, ties to even; a NaN stays one. */
static uint16_t narrow(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void load_run(const DLTensor *tensor, int64_t offset, int64_t stride,
                     int64_t count, float *out) {
  int64_t i;
  if (steep_host_is_bf16(tensor)) {
    const uint16_t *from = (const uint16_t *)steep_host_data(tensor) + offset;
    if (stride == 1)
      for (i = 0; i < count; ++i)
        out[i] = widen(from[i]);
    else
      for (i = 0; i < count; ++i)
        out[i] = widen(from[i * stride]);
    return;
  }
  {
    const float *from = (const float *)steep_host_data(tensor) + offset;
    if (stride == 1)
      memcpy(out, from, (size_t)count * sizeof *out);
    else
      for (i = 0; i < count; ++i)
        out[i] = from[i * stride];
  }
}

static void store_run(const DLTensor *tensor, int64_t offset, int64_t stride,
                      int64_t count, const float *in) {
  int64_t i;
  if (steep_host_is_bf16(tensor)) {
    uint16_t *to = (uint16_t *)steep_host_data(tensor) + offset;
    if (stride == 1)
      for (i = 0; i < count; ++i)
        to[i] = narrow(in[i]);
    else
      for (i = 0; i < count; ++i)
        to[i * stride] = narrow(in[i]);
    return;
  }
  {
    float *to = (float *)steep_host_data(tensor) + offset;
    if (stride == 1)
      memcpy(to, in, (size_t)count * sizeof *in);
    else
      for (i = 0; i < count; ++i)
        to[i * stride] = in[i];
  }
}

void steep_host_load(const DLTensor *tensor, int64_t at, int64_t count,
                     float *out) {
  while (count > 0) {
    int64_t offset, stride, run = locate(tensor, at, &offset, &stride);
    run = run < count ? run : count;
    load_run(tensor, offset, stride, run, out);
    at += run;
    out += run;
    count -= run;
  }
}

void steep_host_store(const DLTensor *tensor, int64_t at, int64_t count,
                      const float *in) {
  while (count > 0) {
    int64_t offset, stride, run = locate(tensor, at, &offset, &stride);
    run = run < count ? run : count;
    store_run(tensor, offset, stride, run, in);
    at += run;
    in += run;
    count -= run;
  }
}
