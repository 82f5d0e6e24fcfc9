/* train.c - a trainer in C whose optimizer is a compiled spec.
 *
 *   train FILE [UPDATES]
 *
 * Trains model.c on the bytes of a file. The optimizer works on the model's own
 * buffers; gradients are clipped by their global norm, and an update whose norm
 * is an outlier (a z-score beyond 6 in the last 32 steps) is skipped. */
#include "llm.h"
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  STATES = STEEP_llm_state_count,
  GROUPS = STEEP_llm_group_count,
  WINDOW = 32,
  OUTLIER = 100 /* the step whose batch is spoilt, to show what happens */
};

/* A piece of memory as a tensor; nothing is copied. */
static DLTensor view(float *data, int32_t ndim, const int64_t *shape) {
  DLTensor tensor = {0};
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = ndim;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = (int64_t *)shape;
  return tensor;
}

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (!memory) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return memory;
}

/* The optimizer, bound to the model's flat buffers. */
typedef struct {
  DLTensor views[2 * TENSORS + STATES];
  DLTensor *parameters[TENSORS], *gradients[TENSORS], *states[STATES];
  float *state_memory;
  char *memory; /* of the workspace */
  steep_scalar lr[GROUPS], wd[GROUPS];
  double base_lr[GROUPS];
  char message[512];
  steep_step_args args;
} optimizer;

/* Tells the artefact what the model calls its tensors, and learns in which
 * order it wants them. A name or shape that was not compiled is refused. */
static int bind(optimizer *o, float *weights, float *gradients) {
  steep_binding bindings[TENSORS] = {{0}};
  steep_plan plan = {0};
  char table[2048];
  int i;
  for (i = 0; i < TENSORS; ++i) {
    const tensor_info *info = &tensors[i];
    size_t at = tensor_offset(i);
    o->views[2 * i] = view(weights + at, info->ndim, info->shape);
    o->views[2 * i + 1] = view(gradients + at, info->ndim, info->shape);
    bindings[i].struct_size = sizeof bindings[i];
    bindings[i].name = info->name;
    bindings[i].parameter = &o->views[2 * i];
    bindings[i].gradient = &o->views[2 * i + 1];
  }
  plan.struct_size = sizeof plan;
  plan.bindings = bindings;
  plan.binding_count = TENSORS;
  plan.table = table;
  plan.table_bytes = sizeof table;
  if (steep_llm_plan(&plan) != STEEP_OK)
    return 0;
  fputs(table, stdout);
  for (i = 0; i < TENSORS; ++i) {
    o->parameters[bindings[i].index] = &o->views[2 * i];
    o->gradients[bindings[i].index] = &o->views[2 * i + 1];
  }
  /* The library allocates nothing: it works in memory that it is given. */
  o->memory = allocate(plan.workspace_bytes + plan.workspace_alignment, 1);
  o->args.workspace = o->memory + plan.workspace_alignment -
                      (uintptr_t)o->memory % plan.workspace_alignment;
  o->args.workspace_bytes = plan.workspace_bytes;
  return 1;
}

/* All states lie in one buffer too. They begin with zeros. */
static void make_states(optimizer *o) {
  size_t sizes[STATES], all = 0;
  int64_t i, dim;
  float *at;
  for (i = 0; i < STATES; ++i) {
    steep_state state = {0};
    state.struct_size = sizeof state;
    steep_llm_state(i, &state);
    o->views[2 * TENSORS + i] = view(NULL, state.ndim, state.shape);
    o->states[i] = &o->views[2 * TENSORS + i];
    sizes[i] = 1;
    for (dim = 0; dim < state.ndim; ++dim)
      sizes[i] *= (size_t)state.shape[dim];
    all += sizes[i];
  }
  at = o->state_memory = allocate(all, sizeof *at);
  for (i = 0; i < STATES; ++i) {
    o->states[i]->data = at;
    at += sizes[i];
  }
}

static int start(optimizer *o, float *weights, float *gradients) {
  int64_t i;
  memset(o, 0, sizeof *o);
  if (!bind(o, weights, gradients))
    return 0;
  make_states(o);
  for (i = 0; i < GROUPS; ++i) {
    steep_group group = {0};
    group.struct_size = sizeof group;
    steep_llm_group(i, &group);
    o->base_lr[i] = group.lr;
    o->wd[i].value = group.wd;
  }
  o->args.struct_size = sizeof o->args;
  o->args.parameter_count = TENSORS;
  o->args.parameters = o->parameters;
  o->args.gradients = o->gradients;
  o->args.state_count = STATES;
  o->args.states = o->states;
  o->args.group_count = GROUPS;
  o->args.lr = o->lr;
  o->args.wd = o->wd;
  o->args.grad_scale.value = 1;
  o->args.step = 1;
  o->args.pool = steep_llm_pool_create(2); /* or your own threads */
  o->args.message = o->message;
  o->args.message_bytes = sizeof o->message;
  return 1;
}

static void finish(optimizer *o) {
  steep_llm_pool_destroy((steep_pool *)o->args.pool);
  free(o->memory);
  free(o->state_memory);
}

/* How many standard deviations `value` is above the mean of the last WINDOW
 * values; it becomes one of them unless it is an outlier. */
static double z_score(double *window, int *count, double value, double most) {
  double mean = 0, variance = 0, z = 0;
  int i, n = *count < WINDOW ? *count : WINDOW;
  for (i = 0; i < n; ++i)
    mean += window[i] / n;
  for (i = 0; i < n; ++i)
    variance += (window[i] - mean) * (window[i] - mean) / n;
  if (n == WINDOW)
    z = (value - mean) / (sqrt(variance) + 1e-12);
  if (z <= most)
    window[(*count)++ % WINDOW] = value;
  return z;
}

/* One update: norms, a decision that is the trainer's own, then the weights. */
static int update(optimizer *o, int step, double factor, double *window,
                  int *seen) {
  const double most = 6;
  double z;
  int64_t i;
  for (i = 0; i < GROUPS; ++i)
    o->lr[i].value = factor * o->base_lr[i];
  /* Reads the gradients: their global norm, the factor that clips them, and
   * the first tensor, if any, that is not finite. */
  if (steep_llm_prepare(&o->args) != STEEP_OK)
    return printf("step %d: %s\n", step, o->message), 0;
  z = z_score(window, seen, o->args.grad_norm, most);
  if (z > most)
    return printf("step %d: skipped, gradient norm %.3f (z-score %.0f)\n", step,
                  o->args.grad_norm, z),
           0;
  if (steep_llm_apply(&o->args) != STEEP_OK)
    return printf("step %d: %s\n", step, o->message), 0;
  o->args.step += 1; /* counts applied updates */
  return 1;
}

/* Warm-up over a tenth of the run, then half a cosine to a tenth. */
static double schedule(int step, int steps) {
  double warmup = steps / 10, progress = (step - warmup) / (steps - warmup);
  return step < warmup ? step / warmup
                       : 0.1 + 0.45 * (1 + cos(3.14159265358979 * progress));
}

static size_t read_file(const char *path, unsigned char **bytes) {
  FILE *file = fopen(path, "rb");
  size_t size = 0, i;
  *bytes = allocate(1 << 20, 1);
  if (file) {
    size = fread(*bytes, 1, 1 << 20, file);
    fclose(file);
  }
  for (i = 0; i < size; ++i)
    (*bytes)[i] %= BYTES;
  return size;
}

int main(int argc, char **argv) {
  int steps = argc > 2 ? atoi(argv[2]) : 200, step, seen = 0;
  float *weights = allocate(model_size(), sizeof *weights);
  float *gradients = allocate(model_size(), sizeof *gradients);
  double window[WINDOW], average = 0;
  unsigned char *text;
  size_t size = argc > 1 ? read_file(argv[1], &text) : 0, i;
  uint32_t seed = 1;
  optimizer o;
  if (size <= BATCH + 1 || steps < 10)
    return fprintf(stderr, "usage: train FILE [UPDATES]\n"), 2;
  model_init(weights, 7);
  if (!start(&o, weights, gradients))
    return fprintf(stderr, "train: %s\n", steep_llm_last_error()), 1;
  for (step = 1; step <= steps; ++step) {
    float loss;
    seed = seed * 1664525u + 1013904223u;
    i = (seed >> 8) % (size - BATCH - 1);
    memset(gradients, 0, model_size() * sizeof *gradients);
    loss = model_backward(weights, gradients, text + i, text + i + 1);
    for (i = 0; step == OUTLIER && i < model_size(); ++i)
      gradients[i] *= 100;
    update(&o, step, schedule(step, steps), window, &seen);
    average = step == 1 ? loss : 0.95 * average + 0.05 * loss;
    if (step % 50 == 0 || step == 1)
      printf("step %d: loss %.3f, gradient norm %.3f, clipped by %.3f\n", step,
             average, o.args.grad_norm, o.args.clip_factor);
  }
  finish(&o);
  free(weights);
  free(gradients);
  free(text);
  return average < 3.3 ? 0 : 1;
}
