/* The README's example: one optimizer step from C, on tensors of your own.
 *
 * RUN: rm -rf %t && mkdir %t
 * RUN: %limit steepc %specs/paper.mlir --params %S/../../Tools/Inputs/small.json -o %t/paper
 * RUN: %cc -std=c99 -pedantic -Wall -Wextra -Werror %s -I %t/paper -L %t/paper -lpaper -Wl,-rpath,%t/paper -o %t/program
 * RUN: %t/program | FileCheck %s
 * CHECK: embed.weight 20x16: adamw
 * CHECK: lm_head.weight 20x16: rownorm
 * CHECK: gradient norm 2.9933, clipped by 0.3341
 */
#include "paper.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = STEEP_paper_parameter_count, S = STEEP_paper_state_count, G = STEEP_paper_group_count };

static DLTensor *tensor(const int64_t *shape, float value) {
  DLTensor *t = calloc(1, sizeof *t);
  float *data = malloc(sizeof(float) * (size_t)(shape[0] * shape[1]));
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i)
    data[i] = value;
  t->data = data;
  t->device.device_type = kDLCPU;
  t->ndim = 2;
  t->dtype = (DLDataType){kDLFloat, 32, 1};
  t->shape = (int64_t *)shape;
  return t;
}

int main(void) {
  DLTensor *weights[N], *gradients[N], *states[S];
  steep_scalar lr[G] = {{0}}, wd[G] = {{0}};
  steep_plan plan = {.struct_size = sizeof plan};
  if (steep_paper_plan(&plan) != STEEP_OK) /* also: can this CPU run it? */
    return 1;
  for (int64_t i = 0; i < N; ++i) {
    steep_parameter p = {.struct_size = sizeof p};
    steep_paper_parameter(i, &p);
    printf("%s %dx%d: %s\n", p.name, (int)p.shape[0], (int)p.shape[1], p.rule_name);
    weights[i] = tensor(p.shape, 1.0f);
    gradients[i] = tensor(p.shape, 0.1f); /* yours come from backward */
    for (int64_t s = 0; s < p.state_count; ++s)
      states[p.state_begin + s] = tensor(p.shape, 0.0f);
    lr[p.group].value = 4e-3; /* times your schedule's factor */
    wd[p.group].value = 0.1;
  }
  char message[256], *memory = malloc(plan.workspace_bytes + 64);
  steep_step_args args = {
      .struct_size = sizeof args,
      .parameter_count = N, .parameters = weights, .gradients = gradients,
      .state_count = S, .states = states,
      .group_count = G, .lr = lr, .wd = wd,
      .grad_scale = {.value = 1},
      .step = 1, /* one more for every step that was not skipped */
      .workspace = memory + (64 - (uintptr_t)memory % 64),
      .workspace_bytes = plan.workspace_bytes,
      .pool = steep_paper_pool_create(2), /* or NULL, or your own threads */
      .message = message, .message_bytes = sizeof message,
  };
  int32_t code = steep_paper_step(&args);
  if (code != STEEP_OK) /* STEEP_SKIPPED: a gradient was not finite, nothing was written */
    return fprintf(stderr, "%s\n", message), 1;
  printf("gradient norm %.4f, clipped by %.4f\n", args.grad_norm, args.clip_factor);
  return 0;
}
