/*===-- Bind.c - is the caller's model what was compiled? ---------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Host.h"

#include <string.h>

/* The entries are as large as the caller's version says. */
static steep_binding *at(const steep_plan *plan, int64_t i) {
  char *first = (char *)plan->bindings;
  return (steep_binding *)(void *)(first +
                                   i * (int64_t)plan->bindings->struct_size);
}

static int32_t refuse(const steep_plan *plan, const char *format,
                      const char *name, int64_t one, int64_t two) {
  char quoted[STEEP_QUOTED_BYTES];
  return steep_host_say(plan->message, plan->message_bytes,
                        STEEP_INVALID_ARGUMENT, format,
                        name ? steep_host_quote(quoted, name) : "",
                        (long long)one, (long long)two);
}

/* The parameter of that name, or -1. A model's order is mostly the one that was
 * compiled, so the search begins at `likely`. */
static int64_t find_parameter(const char *name, int64_t likely) {
  const steep_tables *t = &steep_host_tables;
  int64_t i;
  for (i = 0; i < t->parameter_count; ++i) {
    int64_t index = (likely + i) % t->parameter_count;
    if (strcmp(name, t->parameters[index].name) == 0)
      return index;
  }
  return -1;
}

static int32_t find_names(const steep_plan *plan) {
  int64_t i, j;
  for (i = 0; i < plan->binding_count; ++i) {
    steep_binding *binding = at(plan, i);
    if (binding->struct_size != plan->bindings->struct_size)
      return refuse(plan,
                    "bindings%s[%lld]: expected the struct_size of the first "
                    "one, got %lld",
                    NULL, i, binding->struct_size);
    if (!binding->name)
      return refuse(plan, "bindings%s[%lld]: expected a name, got NULL", NULL,
                    i, 0);
    binding->index =
        find_parameter(binding->name, i ? at(plan, i - 1)->index + 1 : 0);
    if (binding->index < 0)
      return refuse(plan,
                    "parameter \"%s\": bindings[%lld] names it, but it was not "
                    "compiled",
                    binding->name, i, 0);
    for (j = 0; j < i; ++j)
      if (at(plan, j)->index == binding->index)
        return refuse(plan,
                      "parameter \"%s\": expected it once, but bindings[%lld] "
                      "and [%lld] name it",
                      binding->name, j, i);
  }
  return STEEP_OK;
}

/* All names are different ones of the artefact. */
static int32_t find_missing(const steep_plan *plan) {
  const steep_tables *t = &steep_host_tables;
  int64_t p, i;
  for (p = 0; p < t->parameter_count; ++p) {
    for (i = 0; i < plan->binding_count && at(plan, i)->index != p; ++i)
      ;
    if (i == plan->binding_count)
      return refuse(plan,
                    "parameter \"%s\": it was compiled, but none of the %lld "
                    "bindings names it",
                    t->parameters[p].name, plan->binding_count, 0);
  }
  return STEEP_OK;
}

int32_t steep_host_bind(steep_plan *plan, steep_call *call) {
  int32_t code;
  int64_t i;
  if (!plan->bindings && plan->binding_count == 0)
    return STEEP_OK;
  if (!plan->bindings || plan->binding_count < 0)
    return refuse(plan,
                  "bindings%s: expected an array of binding_count (%lld), got "
                  "NULL or a negative number",
                  NULL, plan->binding_count, 0);
  if (plan->binding_count > 0 &&
      plan->bindings->struct_size < sizeof(steep_binding))
    return steep_host_say(
        plan->message, plan->message_bytes, STEEP_VERSION_MISMATCH,
        "bindings[0]: expected a struct_size of at least %u, got %u",
        (unsigned)sizeof(steep_binding), (unsigned)plan->bindings->struct_size);
  code = find_names(plan);
  if (!code && plan->binding_count != steep_host_tables.parameter_count)
    code = find_missing(plan);
  if (code)
    return code;
  call->bindings = plan->bindings;
  call->binding_count = plan->binding_count;
  for (i = 0; !code && i < plan->binding_count; ++i)
    code = steep_host_check_parameter(call, at(plan, i)->index);
  return code;
}
