/* A stand-in for a compiled artefact: parameters "a" [2, 3] with a state and
 * "b" [1, 4] without, whose step is w = (1 - lr wd) w - lr g. The tests compile
 * it with macros that make one thing wrong. */
#include "steep/steep.h"
#include <math.h>
#include <string.h>

#ifndef ABI
#define ABI (1u << 16)
#endif
#ifndef NAME_A
#define NAME_A "a"
#endif
#ifndef COLUMNS
#define COLUMNS 3
#endif
#ifndef RULE
#define RULE "plain"
#endif
#ifndef STATE
#define STATE "momentum_buffer"
#endif
#ifndef WORKSPACE
#define WORKSPACE 100
#endif
#ifndef PLAN_CODE
#define PLAN_CODE 0
#endif

uint32_t steep_fake_abi_version(void) { return ABI; }

const char *steep_fake_build_info(void) {
  return
#include "manifest.inc"
      ;
}

int32_t steep_fake_plan(steep_plan *plan) {
  if (plan->struct_size < sizeof *plan)
    return STEEP_VERSION_MISMATCH;
  plan->abi_version = ABI;
  plan->name = "fake";
  plan->parameter_count = 2;
  plan->state_count = 1;
  plan->group_count = 2;
  plan->workspace_bytes = WORKSPACE;
  plan->workspace_alignment = 64;
  return PLAN_CODE;
}

static const int64_t shapes[2][2] = {{2, COLUMNS}, {1, 4}};
static const char *const states[] = {STATE};

int32_t steep_fake_parameter(int64_t index, steep_parameter *parameter) {
  if (index < 0 || index > 1)
    return STEEP_INVALID_ARGUMENT;
  parameter->ndim = 2;
  parameter->name = index ? "b" : NAME_A;
  parameter->group_name = index ? "second" : "first";
  parameter->rule_name = RULE;
  parameter->shape = shapes[index];
  parameter->group = index;
  parameter->state_begin = index;
  parameter->state_count = 1 - index;
  parameter->state_names = states;
  return STEEP_OK;
}

#ifndef NO_STEP
struct work {
  steep_step_args *args;
  int64_t parameter;
};

static void update(void *data, int64_t begin, int64_t end) {
  struct work *work = data;
  steep_step_args *args = work->args;
  int64_t p = work->parameter;
  float lr = (float)args->lr[p].value, wd = (float)args->wd[p].value;
  float *w = args->parameters[p]->data;
  const float *g = args->gradients[p]->data;
  for (int64_t i = begin; i < end; ++i) {
    float s = -lr * (float)args->grad_scale.value * g[i];
    w[i] = w[i] * (1 - lr * wd) + s;
    if (p == 0)
      ((float *)args->states[0]->data)[i] = (float)args->step;
    if (args->updates && args->updates[p])
      ((float *)args->updates[p]->data)[i] = s;
  }
}

int32_t steep_fake_step(steep_step_args *args) {
  args->clip_factor = 0.5;
  args->nonfinite_parameter = -1;
  if (args->step == 99) {
    strncpy(args->message, "step 99 is refused", args->message_bytes);
    return STEEP_INVALID_ARGUMENT;
  }
  if ((uintptr_t)args->workspace % 64 || args->workspace_bytes < WORKSPACE)
    return STEEP_WORKSPACE_TOO_SMALL;
  if (!isfinite(*(float *)args->gradients[1]->data)) {
    args->nonfinite_parameter = 1;
    return STEEP_SKIPPED;
  }
  for (int64_t p = 0; p < 2; ++p) {
    struct work work = {args, p};
    int64_t count = p ? 4 : 6;
    if (args->pool)
      args->pool->run(args->pool->context, count, update, &work);
    else
      update(&work, 0, count);
  }
  return STEEP_OK;
}
#endif
