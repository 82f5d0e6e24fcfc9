/* A plain C program takes optimizer steps with a compiled spec.
 *
 *   steepc specs/paper.mlir --params tiny.json -o out
 *   cc -std=c99 c-program.c -I out -L out -lpaper -Wl,-rpath,$PWD/out -lm
 *
 * RUN: rm -rf %t && mkdir %t
 * RUN: %limit steepc %specs/paper.mlir --params %S/../../Tools/Inputs/tiny.json --target native -o %t/out
 * RUN: %cc -std=c99 -pedantic -Wall -Wextra -Werror %s -I %t/out -L %t/out -lpaper -Wl,-rpath,%t/out -lm -o %t/shared
 * RUN: %t/shared | FileCheck %s
 * RUN: %cc -std=c99 -Wall -Wextra -Werror %s -I %t/out %t/out/paper.o -lm -lpthread -o %t/static
 * RUN: %t/static > %t/static.txt && %t/shared > %t/shared.txt && cmp %t/static.txt %t/shared.txt
 * RUN: ldd %t/out/libpaper.so | FileCheck %s --check-prefix=NEEDS --implicit-check-not=".so"
 * NEEDS-DAG: linux-vdso.so
 * NEEDS-DAG: libm.so.6
 * NEEDS-DAG: libc.so.6
 * NEEDS-DAG: ld-linux-x86-64.so
 *
 * CHECK: paper: 6 parameters, 7 states
 * CHECK: step 1: gradient norm {{[0-9.]+}}, clipped by 0.
 * CHECK: step 5: gradient norm
 * CHECK: skipped: gradient of "blocks.0.attn.q.weight" is not finite: weights and states are unchanged
 * CHECK: agrees with plain loops
 */
#include "paper.h"

#include "Inputs/rules.h"
#include <stdio.h>

static float noise(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(*seed >> 8) / 8388608.0f - 1.0f;
}

/* A dense FP32 matrix on the heap, filled with noise or zero. */
static DLTensor *matrix(const int64_t *shape, unsigned *seed) {
  DLTensor *tensor = calloc(1, sizeof *tensor);
  int64_t i, count = shape[0] * shape[1];
  float *data = calloc((size_t)count, sizeof *data);
  for (i = 0; seed && i < count; ++i)
    data[i] = noise(seed);
  tensor->data = data;
  tensor->device.device_type = kDLCPU;
  tensor->ndim = 2;
  tensor->dtype.code = kDLFloat;
  tensor->dtype.bits = 32;
  tensor->dtype.lanes = 1;
  tensor->shape = (int64_t *)shape;
  return tensor;
}

enum {
  PARAMETERS = STEEP_paper_parameter_count,
  STATES = STEEP_paper_state_count,
  GROUPS = STEEP_paper_group_count,
  STEPS = 5
};

static double *doubles(const DLTensor *tensor, double scale) {
  int64_t i, count = tensor->shape[0] * tensor->shape[1];
  double *copy = malloc(sizeof(double) * (size_t)count);
  for (i = 0; i < count; ++i)
    copy[i] = scale * ((float *)tensor->data)[i];
  return copy;
}

/* The same step in plain loops. */
static void plain_step(double *w, const double *g, double **states,
                       const steep_parameter *p, const steep_step_args *args) {
  long m = (long)p->shape[0], n = (long)p->shape[1], t = (long)args->step;
  double lr = args->lr[p->group].value, wd = args->wd[p->group].value;
  if (strcmp(p->rule_name, "rownorm") == 0)
    rownorm(w, g, states[0], m, n, lr, wd, t);
  else if (strcmp(p->rule_name, "adamw") == 0)
    adamw(w, g, states[0], states[1], m * n, lr, wd, t);
  else
    muon(w, g, states[0], m, n, lr, wd);
}

/* ||a - b|| / ||b|| */
static double difference(const DLTensor *a, const double *b) {
  int64_t i, count = a->shape[0] * a->shape[1];
  double error = 0, size = 0;
  for (i = 0; i < count; ++i) {
    error += pow(((float *)a->data)[i] - b[i], 2);
    size += b[i] * b[i];
  }
  return sqrt(error / size);
}

int main(void) {
  steep_plan plan = {.struct_size = sizeof plan};
  steep_parameter info[PARAMETERS];
  DLTensor *weights[PARAMETERS], *gradients[PARAMETERS], *states[STATES];
  double *plain_weights[PARAMETERS], *plain_states[STATES];
  steep_scalar lr[GROUPS] = {{0}}, wd[GROUPS] = {{0}};
  char message[256];
  void *memory;
  unsigned seed = 1;
  int64_t i, s, step;
  double worst = 0;

  /* What was compiled, and does this CPU run it? */
  if (steep_paper_plan(&plan) != STEEP_OK)
    return fprintf(stderr, "this CPU does not run the artefact\n"), 1;
  printf("%s: %d parameters, %d states\n", plan.name, (int)plan.parameter_count,
         (int)plan.state_count);

  /* Weights and gradients belong to the program; states begin with zeros. */
  for (i = 0; i < PARAMETERS; ++i) {
    info[i].struct_size = sizeof info[i];
    steep_paper_parameter(i, &info[i]);
    weights[i] = matrix(info[i].shape, &seed);
    gradients[i] = matrix(info[i].shape, NULL);
    for (s = 0; s < info[i].state_count; ++s)
      states[info[i].state_begin + s] = matrix(info[i].shape, NULL);
    lr[info[i].group].value = 1e-2;
    wd[info[i].group].value = 0.1;
    plain_weights[i] = doubles(weights[i], 1);
  }
  for (i = 0; i < STATES; ++i)
    plain_states[i] = doubles(states[i], 1);

  /* The library never allocates: it works in memory that it is given. */
  memory = malloc(plan.workspace_bytes + plan.workspace_alignment);
  {
    steep_pool *pool = steep_paper_pool_create(2);
    steep_step_args args = {
        .struct_size = sizeof args,
        .parameter_count = PARAMETERS,
        .parameters = weights,
        .gradients = gradients,
        .state_count = STATES,
        .states = states,
        .group_count = GROUPS,
        .lr = lr,
        .wd = wd,
        .grad_scale = {.value = 1},
        .workspace = (char *)memory + plan.workspace_alignment -
                     (uintptr_t)memory % plan.workspace_alignment,
        .workspace_bytes = plan.workspace_bytes,
        .pool = pool,
        .message = message,
        .message_bytes = sizeof message,
    };

    for (step = 1; step <= STEPS; ++step) {
      for (i = 0; i < PARAMETERS; ++i) {
        int64_t count = info[i].shape[0] * info[i].shape[1];
        while (count-- > 0)
          ((float *)gradients[i]->data)[count] = noise(&seed);
      }
      args.step = step;
      if (steep_paper_step(&args) != STEEP_OK)
        return fprintf(stderr, "%s\n", message), 1;
      printf("step %d: gradient norm %.4f, clipped by %.4f\n", (int)step,
             args.grad_norm, args.clip_factor);
      for (i = 0; i < PARAMETERS; ++i) {
        double *g = doubles(gradients[i], args.clip_factor);
        plain_step(plain_weights[i], g, &plain_states[info[i].state_begin],
                   &info[i], &args);
        free(g);
      }
    }

    /* A gradient that is not finite changes nothing, and is told. */
    for (i = 0; strcmp(info[i].name, "blocks.0.attn.q.weight") != 0;)
      ++i;
    ((float *)gradients[i]->data)[3] = INFINITY;
    if (steep_paper_step(&args) != STEEP_SKIPPED ||
        args.nonfinite_parameter != i)
      return 1;
    printf("skipped: %s\n", message);
    steep_paper_pool_destroy(pool);
  }

  for (i = 0; i < PARAMETERS; ++i) {
    worst = fmax(worst, difference(weights[i], plain_weights[i]));
    free(plain_weights[i]);
    free(weights[i]->data);
    free(weights[i]);
    free(gradients[i]->data);
    free(gradients[i]);
  }
  for (i = 0; i < STATES; ++i) {
    worst = fmax(worst, difference(states[i], plain_states[i]));
    free(plain_states[i]);
    free(states[i]->data);
    free(states[i]);
  }
  free(memory);
  if (!(worst < 1e-6))
    return fprintf(stderr, "differs from plain loops by %g\n", worst), 1;
  printf("agrees with plain loops\n");
  return 0;
}
