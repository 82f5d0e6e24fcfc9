/* model.h - a small language model in the layout of llm.c: one flat buffer of
 * weights, one of gradients, and in each one tensor a kind, stacked over the
 * layers.
 *
 * It predicts the next byte from the last one: x = embed[byte], then for each
 * layer x += down relu(up x), then logits = head x. */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BYTES = 128, WIDTH = 32, HIDDEN = 64, LAYERS = 3, BATCH = 128 };

enum { EMBED, UP, DOWN, HEAD, TENSORS };

typedef struct {
  const char *name; /* as the optimizer was compiled for it */
  int32_t ndim;
  int64_t shape[3];
} tensor_info;

extern const tensor_info tensors[TENSORS];

size_t tensor_size(int tensor);   /* in elements */
size_t tensor_offset(int tensor); /* in a flat buffer */
size_t model_size(void);

void model_init(float *weights, uint32_t seed);

/* The mean loss of a batch; adds to `gradients` what belongs to it. */
float model_backward(const float *weights, float *gradients,
                     const unsigned char *inputs, const unsigned char *targets);

#ifdef __cplusplus
}
#endif
#endif /* MODEL_H */
