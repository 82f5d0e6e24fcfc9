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

int32_t steep_host_export_plan(steep_plan *plan) {
  const steep_tables *t = &steep_host_tables;
  uint32_t states = enabled_states();
  int64_t i;
  if (!plan)
    return STEEP_INVALID_ARGUMENT;
  if (plan->struct_size < offsetof(steep_plan, device_target_count))
    return STEEP_VERSION_MISMATCH;
  for (i = 0; i < t->feature_count; ++i)
    if (!has_feature(&t->features[i], states))
      return STEEP_CPU_MISMATCH;
  plan->abi_version = steep_host_export_abi_version();
  plan->name = t->name;
  plan->parameter_count = t->parameter_count;
  plan->state_count = t->state_count;
  plan->group_count = t->group_count;
  plan->workspace_bytes = (uint64_t)t->workspace_bytes;
  plan->workspace_alignment = 64;
  if (plan->struct_size < sizeof(steep_plan))
    return STEEP_OK;
  plan->device_target_count = t->gpu_target_count;
  plan->device_bytes = t->gpu ? t->gpu->device_bytes() : 0;
  return STEEP_OK;
}

int32_t steep_host_export_parameter(int64_t index, steep_parameter *out) {
  const steep_tables *t = &steep_host_tables;
  const steep_parameter_entry *entry;
  if (!out || index < 0 || index >= t->parameter_count)
    return STEEP_INVALID_ARGUMENT;
  if (out->struct_size < sizeof(steep_parameter))
    return STEEP_VERSION_MISMATCH;
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
