/* model.c - forward and backward pass, in plain loops. */
#include "model.h"

#include <math.h>
#include <string.h>

const tensor_info tensors[TENSORS] = {
    {"embed", 2, {BYTES, WIDTH, 0}},
    {"layers.up", 3, {LAYERS, HIDDEN, WIDTH}},
    {"layers.down", 3, {LAYERS, WIDTH, HIDDEN}},
    {"head", 2, {BYTES, WIDTH, 0}},
};

size_t tensor_size(int tensor) {
  size_t size = 1;
  int32_t i;
  for (i = 0; i < tensors[tensor].ndim; ++i)
    size *= (size_t)tensors[tensor].shape[i];
  return size;
}

size_t tensor_offset(int tensor) {
  size_t offset = 0;
  while (tensor-- > 0)
    offset += tensor_size(tensor);
  return offset;
}

size_t model_size(void) { return tensor_offset(TENSORS); }

void model_init(float *weights, uint32_t seed) {
  size_t i;
  for (i = 0; i < model_size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    weights[i] = 0.2f * ((float)(seed >> 8) / 8388608.0f - 1.0f);
  }
}

/* y += A x, with A of rows x columns */
static void multiply(const float *a, const float *x, float *y, int rows,
                     int columns) {
  int i, j;
  for (i = 0; i < rows; ++i)
    for (j = 0; j < columns; ++j)
      y[i] += a[i * columns + j] * x[j];
}

/* dx += A^T dy and dA += dy x^T */
static void multiply_backward(const float *a, const float *x, const float *dy,
                              float *da, float *dx, int rows, int columns) {
  int i, j;
  for (i = 0; i < rows; ++i)
    for (j = 0; j < columns; ++j) {
      dx[j] += a[i * columns + j] * dy[i];
      da[i * columns + j] += dy[i] * x[j];
    }
}

/* From logits to their gradient, of a mean over the batch. */
static float softmax_backward(float *logits, int target) {
  float most = logits[0], sum = 0, loss;
  int i;
  for (i = 1; i < BYTES; ++i)
    most = fmaxf(most, logits[i]);
  for (i = 0; i < BYTES; ++i)
    sum += expf(logits[i] - most);
  loss = logf(sum) + most - logits[target];
  for (i = 0; i < BYTES; ++i)
    logits[i] = (expf(logits[i] - most) / sum - (float)(i == target)) / BATCH;
  return loss;
}

static float backward_one(const float *w, float *g, int input, int target) {
  const float *up = w + tensor_offset(UP), *down = w + tensor_offset(DOWN);
  const float *head = w + tensor_offset(HEAD);
  float x[LAYERS + 1][WIDTH], h[LAYERS][HIDDEN], logits[BYTES] = {0};
  float dx[WIDTH] = {0}, loss;
  int l, i;
  memcpy(x[0], w + tensor_offset(EMBED) + input * WIDTH, sizeof x[0]);
  for (l = 0; l < LAYERS; ++l) {
    memset(h[l], 0, sizeof h[l]);
    multiply(up + l * HIDDEN * WIDTH, x[l], h[l], HIDDEN, WIDTH);
    for (i = 0; i < HIDDEN; ++i)
      h[l][i] = fmaxf(h[l][i], 0);
    memcpy(x[l + 1], x[l], sizeof x[l]);
    multiply(down + l * WIDTH * HIDDEN, h[l], x[l + 1], WIDTH, HIDDEN);
  }
  multiply(head, x[LAYERS], logits, BYTES, WIDTH);
  loss = softmax_backward(logits, target);
  multiply_backward(head, x[LAYERS], logits, g + tensor_offset(HEAD), dx, BYTES,
                    WIDTH);
  for (l = LAYERS - 1; l >= 0; --l) {
    float dh[HIDDEN] = {0};
    multiply_backward(down + l * WIDTH * HIDDEN, h[l], dx,
                      g + tensor_offset(DOWN) + l * WIDTH * HIDDEN, dh, WIDTH,
                      HIDDEN);
    for (i = 0; i < HIDDEN; ++i)
      dh[i] = h[l][i] > 0 ? dh[i] : 0;
    multiply_backward(up + l * HIDDEN * WIDTH, x[l], dh,
                      g + tensor_offset(UP) + l * HIDDEN * WIDTH, dx, HIDDEN,
                      WIDTH);
  }
  for (i = 0; i < WIDTH; ++i)
    g[tensor_offset(EMBED) + (size_t)input * WIDTH + (size_t)i] += dx[i];
  return loss;
}

float model_backward(const float *weights, float *gradients,
                     const unsigned char *inputs,
                     const unsigned char *targets) {
  float loss = 0;
  int i;
  for (i = 0; i < BATCH; ++i)
    loss += backward_one(weights, gradients, inputs[i], targets[i]);
  return loss / BATCH;
}
