/*===-- Plan.c - what the optimizer is and what runs it -----------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

#include <cpuid.h>

uint32_t steep_host_export_abi_version(void) {
  return (uint32_t)STEEP_ABI_MAJOR << 16 | STEEP_ABI_MINOR;
}

const char *steep_host_export_build_info(void) {
  return steep_host_tables.build_info;
}

/* The register states that the operating system saves. */
static uint32_t enabled_states(void) {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx >> 27 & 1))
    return 0;
  __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return eax;
}

static int has_feature(const steep_feature_entry *feature, uint32_t states) {
  uint32_t regs[4];
  if (!__get_cpuid_count((uint32_t)feature->leaf, (uint32_t)feature->subleaf,
                         &regs[0], &regs[1], &regs[2], &regs[3]))
    return 0;
  return (regs[feature->reg] >> feature->bit & 1) != 0 &&
         (states & (uint32_t)feature->xcr0) == (uint32_t)feature->xcr0;
}

/* The bit of AMX's registers in XCR0. */
enum { AMX_STATE = 18 };

/* arch_prctl(ARCH_REQ_XCOMP_PERM, AMX_STATE), for which old C libraries have
 * neither a function nor the number. */
static long ask_for_registers(void) {
  long code = 158;
  __asm__ volatile("syscall"
                   : "+a"(code)
                   : "D"(0x1023L), "S"((long)AMX_STATE)
                   : "rcx", "r11", "memory");
  return code;
}

int32_t steep_host_ask_amx(char *message, uint64_t bytes) {
  const steep_tables *t = &steep_host_tables;
  long code;
  int64_t i;
  for (i = 0; i < t->feature_count; ++i)
    if (t->features[i].xcr0 >> AMX_STATE & 1)
      break;
  code = i < t->feature_count ? ask_for_registers() : 0;
  return code == 0
             ? STEEP_OK
             : steep_host_say(message, bytes, STEEP_CPU_MISMATCH,
                              "%s: compiled for a CPU with %s, whose registers "
                              "the operating system does not give to this "
                              "process (error %ld of arch_prctl)",
                              t->name, t->features[i].name, -code);
}

static int32_t check_cpu(char *message, uint64_t bytes) {
  const steep_tables *t = &steep_host_tables;
  uint32_t states = enabled_states();
  int64_t i;
  for (i = 0; i < t->feature_count; ++i)
    if (!has_feature(&t->features[i], states))
      return steep_host_say(message, bytes, STEEP_CPU_MISMATCH,
                            "%s: compiled for a CPU with %s, which this one "
                            "lacks",
                            t->name, t->features[i].name);
  return steep_host_ask_amx(message, bytes);
}

/* What came with version 1.2: bindings, table, and the rest. */
static int32_t plan_latest(steep_plan *plan) {
  const steep_tables *t = &steep_host_tables;
  steep_step_args args = {0}; /* carries flags and message to the checks */
  steep_call call = {0};
  uint64_t workspace = (uint64_t)t->workspace_bytes;
  int32_t code;
  args.struct_size = sizeof args;
  args.flags = (uint32_t)plan->step_flags;
  args.message = plan->message;
  args.message_bytes = plan->message_bytes;
  call.args = &args;
  call.actions = STEEP_PREPARE | STEEP_APPLY;
  code = steep_host_check_flags(&args);
  if (!code)
    code = steep_host_bind(plan, &call);
  if (code)
    return code;
  if (call.bindings)
    workspace += steep_host_stage_bytes(&call);
  plan->workspace_bytes = workspace;
  plan->table_needed =
      steep_host_print(&call, workspace, plan->table, plan->table_bytes);
  plan->clip_norm = t->clip_norm;
  plan->measure_count = t->measure_count;
  plan->measure_names = t->measure_names;
  return STEEP_OK;
}

int32_t steep_host_export_plan(steep_plan *plan) {
  const steep_tables *t = &steep_host_tables;
  int latest;
  int32_t code;
  if (!plan)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "plan: expected a steep_plan, got NULL");
  if (plan->struct_size < offsetof(steep_plan, device_target_count))
    return steep_host_short("steep_plan", plan->struct_size,
                            offsetof(steep_plan, device_target_count));
  latest = plan->struct_size >= sizeof(steep_plan);
  code = check_cpu(latest ? plan->message : NULL,
                   latest ? plan->message_bytes : 0);
  if (code)
    return code;
  plan->workspace_bytes = (uint64_t)t->workspace_bytes;
  if (latest)
    code = plan_latest(plan);
  if (code)
    return code;
  plan->abi_version = steep_host_export_abi_version();
  plan->name = t->name;
  plan->parameter_count = t->parameter_count;
  plan->state_count = t->state_count;
  plan->group_count = t->group_count;
  plan->workspace_alignment = 64;
  if (plan->struct_size < offsetof(steep_plan, bindings))
    return STEEP_OK;
  plan->device_target_count = t->gpu_target_count;
  plan->device_bytes = t->gpu ? t->gpu->device_bytes() : 0;
  return STEEP_OK;
}

/* Is `index` one of `count`, and does the caller's structure hold the fields
 * of the first version, `least` bytes? */
static int32_t check_entry(const char *what, const char *type, int64_t index,
                           int64_t count, const uint32_t *size, size_t least) {
  if (!size)
    return steep_host_say(NULL, 0, STEEP_INVALID_ARGUMENT,
                          "%s: expected a %s, got NULL", what, type);
  if (index < 0 || index >= count)
    return steep_host_say(
        NULL, 0, STEEP_INVALID_ARGUMENT,
        "%s: expected a number from 0 on and below %lld, got %lld", what,
        (long long)count, (long long)index);
  if (*size < least)
    return steep_host_short(type, *size, least);
  return STEEP_OK;
}

int32_t steep_host_export_parameter(int64_t index, steep_parameter *out) {
  const steep_tables *t = &steep_host_tables;
  const steep_parameter_entry *entry;
  int32_t code =
      check_entry("parameter", "steep_parameter", index, t->parameter_count,
                  out ? &out->struct_size : NULL, sizeof *out);
  if (code)
    return code;
  entry = &t->parameters[index];
  out->ndim = (int32_t)entry->ndim;
  out->name = entry->name;
  out->group_name = entry->group_name;
  out->rule_name = entry->rule_name;
  out->shape = entry->shape;
  out->group = entry->group;
  out->state_begin = entry->state_begin;
  out->state_count = entry->state_count;
  out->state_names = entry->state_names;
  return STEEP_OK;
}

int32_t steep_host_export_state(int64_t index, steep_state *out) {
  const steep_tables *t = &steep_host_tables;
  const steep_state_entry *entry;
  int32_t code = check_entry("state", "steep_state", index, t->state_count,
                             out ? &out->struct_size : NULL, sizeof *out);
  if (code)
    return code;
  entry = &t->states[index];
  out->ndim = (int32_t)entry->ndim;
  out->name = entry->name;
  out->convention = entry->convention;
  out->shape = entry->shape;
  out->parameter = entry->parameter;
  return STEEP_OK;
}

int32_t steep_host_export_group(int64_t index, steep_group *out) {
  const steep_tables *t = &steep_host_tables;
  const steep_group_entry *entry;
  int32_t code = check_entry("group", "steep_group", index, t->group_count,
                             out ? &out->struct_size : NULL, sizeof *out);
  if (code)
    return code;
  entry = &t->groups[index];
  out->decays = (uint32_t)entry->decays;
  out->name = entry->name;
  out->rule_name = entry->rule_name;
  out->lr = entry->lr;
  out->wd = entry->wd;
  return STEEP_OK;
}
