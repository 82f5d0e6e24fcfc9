/*===-- Table.c - who is updated by what, for people --------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
|* Everything goes through put(): into the caller's buffer while it lasts,    *|
|* and counted beyond.                                                        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME, SHAPE, WEIGHT, GRADIENT, GROUP, RULE, COLUMNS };

static const char *const titles[COLUMNS] = {"parameter", "shape", "weight",
                                            "gradient",  "group", "rule"};

typedef struct {
  char *out;
  uint64_t bytes, used;
} sink;

static void put(sink *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(sink *s, const char *format, ...) {
  int open = s->out && s->used < s->bytes, length;
  va_list list;
  va_start(list, format);
  length = vsnprintf(open ? s->out + s->used : NULL,
                     open ? (size_t)(s->bytes - s->used) : 0, format, list);
  va_end(list);
  if (length > 0)
    s->used += (uint64_t)length;
}

/* A cell's text; names are cut as they are in messages. */
static const char *cell(char out[STEEP_QUOTED_BYTES], const steep_call *call,
                        int64_t p, int column) {
  const steep_parameter_entry *entry = &steep_host_tables.parameters[p];
  int bf16 = 0, master = 0;
  if (call->bindings) {
    int role = column == WEIGHT ? STEEP_PARAMETER : STEEP_GRADIENT;
    bf16 = steep_host_is_bf16(steep_host_tensor(call, role, p));
    master = column == WEIGHT && steep_host_tensor(call, STEEP_MASTER, p);
  }
  switch (column) {
  case NAME:
    return steep_host_quote(out, entry->name);
  case SHAPE:
    return steep_host_shape(out, entry->ndim, entry->shape);
  case GROUP:
    return steep_host_quote(out, entry->group_name);
  case RULE:
    return steep_host_quote(out, entry->rule_name);
  default:
    return strcpy(out, !bf16 ? "F32" : master ? "BF16+F32" : "BF16");
  }
}

static int measure(const steep_call *call, int column) {
  char text[STEEP_QUOTED_BYTES];
  size_t width = strlen(titles[column]);
  int64_t p;
  for (p = 0; p < steep_host_tables.parameter_count; ++p) {
    size_t length = strlen(cell(text, call, p, column));
    width = length > width ? length : width;
  }
  return (int)width;
}

static void put_states(sink *s, const steep_parameter_entry *entry) {
  char text[STEEP_QUOTED_BYTES];
  int64_t k;
  for (k = 0; k < entry->state_count; ++k)
    put(s, "%s%s", k ? ", " : "",
        steep_host_quote(text, entry->state_names[k]));
  put(s, "%s\n", k ? "" : "-");
}

static double count_state_bytes(void) {
  const steep_tables *t = &steep_host_tables;
  double bytes = 0;
  int64_t i, dim;
  for (i = 0; i < t->state_count; ++i) {
    double elements = 1;
    for (dim = 0; dim < t->states[i].ndim; ++dim)
      elements *= (double)t->states[i].shape[dim];
    bytes += 4 * elements;
  }
  return bytes;
}

uint64_t steep_host_print(const steep_call *call, uint64_t workspace, char *out,
                          uint64_t bytes) {
  const steep_tables *t = &steep_host_tables;
  sink s = {out, bytes, 0};
  char text[STEEP_QUOTED_BYTES];
  int widths[COLUMNS], column;
  int64_t p;
  for (column = 0; column < COLUMNS; ++column)
    widths[column] = measure(call, column);
  for (column = 0; column < COLUMNS; ++column)
    put(&s, "%-*s  ", widths[column], titles[column]);
  put(&s, "states\n");
  for (p = 0; p < t->parameter_count; ++p) {
    for (column = 0; column < COLUMNS; ++column)
      put(&s, "%-*s  ", widths[column], cell(text, call, p, column));
    put_states(&s, &t->parameters[p]);
  }
  put(&s,
      "%lld parameters, %lld states of %.0f bytes, workspace of %llu bytes\n",
      (long long)t->parameter_count, (long long)t->state_count,
      count_state_bytes(), (unsigned long long)workspace);
  return s.used + 1;
}
