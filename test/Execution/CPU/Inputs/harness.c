// Runs the kernels of kernels.py against plain loops.
//
// Buffers are aligned to one element only and lie between guards; results start
// as garbage. Every grid is run whole, and again cut at every block, back part
// first: the bits must be the same, arguments that are only read must stay, and
// the guards too.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef AMX
long syscall(long number, ...);
#endif

// The width of panels, and the depth of kernels.py's products of n x n.
#ifndef LANES
#define LANES 16
#endif
enum { PANEL = 2 * LANES };
static const int depths[] = {1, 4, 7, 32, 33, 64};
#define SQUARE_DEPTH(N) (depths[32 * (N) % 6])

enum { MAX_ARGS = 8, GUARD = 256, MISALIGN = 8 };

struct Case;
typedef void Check(const struct Case *);
struct Case {
  const char *name;
  Check *check;
  void (*run)(void **, int64_t, int64_t);
  int64_t m, n, k;
};
struct Grid {
  const char *name;
  int64_t blocks;
};

static const struct Grid grids[] = {
#include GRIDS
};

static const char *current = "";
static int failures = 0, checks = 0;

#define EXPECT(condition, ...)                                                 \
  do {                                                                         \
    ++checks;                                                                  \
    if (!(condition)) {                                                        \
      if (++failures <= 20) {                                                  \
        printf("%s: ", current);                                               \
        printf(__VA_ARGS__);                                                   \
        printf("\n");                                                          \
      }                                                                        \
    }                                                                          \
  } while (0)

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

struct Arg {
  size_t bytes;
  unsigned char *block; // guard, elements, guard
  void *data;           // the elements
  void *initial, *result;
  int written;
};

static struct Arg args[MAX_ARGS];
static int argCount;

static void *addArg(size_t bytes, int written) {
  struct Arg *arg = &args[argCount++];
  arg->bytes = bytes;
  arg->block = malloc(bytes + 2 * GUARD + MISALIGN);
  // malloc aligns to 16: f64 lands on 8, f32 on 4.
  size_t shift = bytes % 8 == 0 ? 8 : 4;
  arg->data = arg->block + GUARD + shift;
  arg->initial = malloc(bytes);
  arg->result = malloc(bytes);
  arg->written = written;
  memset(arg->initial, 0xA7, bytes); // garbage
  return arg->initial;
}

static void reset(void) {
  for (int i = 0; i < argCount; ++i) {
    memset(args[i].block, 0x5C, args[i].bytes + 2 * GUARD + MISALIGN);
    memcpy(args[i].data, args[i].initial, args[i].bytes);
  }
}

static void checkGuards(void) {
  for (int i = 0; i < argCount; ++i) {
    unsigned char *end = (unsigned char *)args[i].data + args[i].bytes;
    int intact = 1;
    for (unsigned char *p = args[i].block; p < (unsigned char *)args[i].data;
         ++p)
      intact &= *p == 0x5C;
    for (unsigned char *p = end; p < end + GUARD - 8; ++p)
      intact &= *p == 0x5C;
    EXPECT(intact, "wrote outside of argument %d", i);
    if (!args[i].written)
      EXPECT(!memcmp(args[i].data, args[i].initial, args[i].bytes),
             "changed argument %d", i);
  }
}

/// Runs the kernel in all cuts; results are in args[i].result.
static void runCase(const struct Case *c) {
  int64_t blocks = -1;
  for (size_t i = 0; i < sizeof grids / sizeof *grids; ++i)
    if (!strcmp(grids[i].name, c->name))
      blocks = grids[i].blocks;
  EXPECT(blocks > 0, "has no grid");
  void *slots[MAX_ARGS];
  for (int i = 0; i < argCount; ++i)
    slots[i] = args[i].data;
  reset();
  c->run(slots, 0, blocks);
  checkGuards();
  for (int i = 0; i < argCount; ++i)
    memcpy(args[i].result, args[i].data, args[i].bytes);
  for (int64_t cut = 1; cut < blocks; ++cut) {
    reset();
    c->run(slots, cut, blocks);
    c->run(slots, cut, cut);
    c->run(slots, 0, cut);
    checkGuards();
    for (int i = 0; i < argCount; ++i)
      EXPECT(!memcmp(args[i].result, args[i].data, args[i].bytes),
             "argument %d depends on the cut at block %d of %d", i, (int)cut,
             (int)blocks);
  }
}

static void freeArgs(void) {
  for (int i = 0; i < argCount; ++i) {
    free(args[i].block);
    free(args[i].initial);
    free(args[i].result);
  }
  argCount = 0;
}

static uint32_t state = 1;
static float noise(void) { // in [-1, 1)
  state = state * 1664525u + 1013904223u;
  return (float)(int32_t)(state >> 8) / 8388608.0f - 1.0f;
}
static float *randomArg(int64_t count, int written) {
  float *data = addArg(count * sizeof(float), written);
  for (int64_t i = 0; i < count; ++i)
    data[i] = noise();
  return data;
}
static float *integerArg(int64_t count, int written) {
  float *data = randomArg(count, written);
  for (int64_t i = 0; i < count; ++i)
    data[i] = rintf(4 * data[i]);
  return data;
}
static void scalarArg(float value) {
  *(float *)addArg(sizeof(float), 0) = value;
}
#define RESULT(type, number) ((const type *)args[number].result)

static void close(double got, double want, double tolerance, const char *what,
                  int64_t i) {
  EXPECT(fabs(got - want) <= tolerance * fabs(want),
         "%s[%d] is %.12g, not %.12g", what, (int)i, got, want);
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

static void check_rownorm(const struct Case *c) {
  int64_t m = c->m, n = c->n, count = m * n;
  float lr = 0.02f, wd = 0.1f, beta = 0.95f, rest = 0.05f;
  float *g = randomArg(count, 0), *b = randomArg(count, 1);
  float *w = randomArg(count, 1);
  addArg(count * 4, 1);
  scalarArg(lr);
  scalarArg(wd);
  for (int64_t i = 0; i < m; ++i) // rows of very different sizes, one of zeros
    for (int64_t j = 0; j < n; ++j) {
      float size = i % 5 == 1   ? 1e-20f
                   : i % 5 == 2 ? 1e20f
                   : i % 5 == 3 ? 0
                                : 1;
      g[i * n + j] *= size;
      b[i * n + j] *= size;
    }
  runCase(c);
  float decay = 1 - lr * wd;
  for (int64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      float b1 = fmaf(beta, b[i * n + j], rest * g[i * n + j]);
      EXPECT(RESULT(float, 1)[i * n + j] == b1, "state %d %d", (int)i, (int)j);
      sum += (double)b1 * b1;
    }
    for (int64_t j = 0; j < n; ++j) {
      double s = -(double)lr * RESULT(float, 1)[i * n + j] / (sqrt(sum) + 1e-8);
      float got = RESULT(float, 3)[i * n + j];
      close(got, s, 3e-7, "increment", i * n + j);
      EXPECT(RESULT(float, 2)[i * n + j] == fmaf(w[i * n + j], decay, got),
             "weight %d %d", (int)i, (int)j);
    }
  }
}
static void check_rownorm4(const struct Case *c) { check_rownorm(c); }

static void check_momentum(const struct Case *c) {
  int64_t m = c->m, n = c->n, count = m * n;
  float *g = randomArg(count, 0), *b = randomArg(count, 1);
  addArg(count * 4, 1);
  addArg(m * 8, 1);
  runCase(c);
  for (int64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) {
      float b1 = fmaf(0.95f, b[i * n + j], g[i * n + j]);
      float ahead = fmaf(0.95f, b1, g[i * n + j]);
      EXPECT(RESULT(float, 1)[i * n + j] == b1, "state %d %d", (int)i, (int)j);
      EXPECT(RESULT(float, 2)[i * n + j] == ahead, "ahead %d %d", (int)i,
             (int)j);
      sum += (double)ahead * ahead;
    }
    close(RESULT(double, 3)[i], sum, 1e-14, "squares", i);
  }
}

static void check_norm(const struct Case *c) {
  double *q = addArg(c->m * 8, 0), sum = 0;
  addArg(4, 1);
  for (int64_t i = 0; i < c->m; ++i)
    sum += q[i] = fabs(noise());
  runCase(c);
  close(RESULT(float, 1)[0], 1 / (sqrt(sum) + 1e-5), 1e-7, "inverse", 0);
}

static int64_t up(int64_t x) { return (x + 31) / 32 * 32; }

static void check_pack(const struct Case *c) {
  int64_t m = c->m, n = c->n, big = m < n ? n : m, small = m < n ? m : n;
  float *x = randomArg(m * n, 0), inv = 0.7f;
  scalarArg(inv);
  addArg(up(big) * up(small) * 4, 1);
  runCase(c);
  for (int64_t i = 0; i < up(big); ++i)
    for (int64_t j = 0; j < up(small); ++j) {
      float want = i >= big || j >= small ? 0
                   : m < n                ? x[j * n + i] * inv
                                          : x[i * n + j] * inv;
      EXPECT(RESULT(float, 2)[i * up(small) + j] == want, "X %d %d", (int)i,
             (int)j);
    }
}

static void check_unpack(const struct Case *c) {
  int64_t m = c->m, n = c->n, big = m < n ? n : m, small = m < n ? m : n;
  float *x = randomArg(up(big) * up(small), 0), *w = randomArg(m * n, 1);
  addArg(m * n * 4, 1);
  float lr = 0.3f, wd = 0.1f, decay = 1 - lr * wd;
  scalarArg(lr);
  scalarArg(wd);
  runCase(c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float s = -lr * (m < n ? x[j * up(small) + i] : x[i * up(small) + j]);
      EXPECT(RESULT(float, 2)[i * n + j] == s, "S %d %d", (int)i, (int)j);
      EXPECT(RESULT(float, 1)[i * n + j] == fmaf(w[i * n + j], decay, s),
             "W %d %d", (int)i, (int)j);
    }
}

/// Operands are small integers, so every order of sums gives one result.
static void checkProduct(const struct Case *c, int transposed) {
  int64_t m = c->m, n = c->n, k = c->k;
  float *a = integerArg(m * k, 0), *b = integerArg(k * n, 0);
  float *old = integerArg(m * n, 1);
  if (!transposed)
    addArg(m * n * 4, 1);
  runCase(c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += (transposed ? a[l * m + i] : a[i * k + l]) * b[l * n + j];
      if (!transposed)
        EXPECT(RESULT(float, 3)[i * n + j] == sum, "P %d %d", (int)i, (int)j);
      float want = 2 * old[i * n + j] + 3 * sum;
      EXPECT(RESULT(float, 2)[i * n + j] == want, "C %d %d is %g, not %g",
             (int)i, (int)j, RESULT(float, 2)[i * n + j], want);
    }
}
static void check_matmul_nn(const struct Case *c) { checkProduct(c, 0); }
static void check_matmul_tn(const struct Case *c) { checkProduct(c, 1); }

static void check_product_deep(const struct Case *c) {
  int64_t m = c->m, n = c->n, k = c->k;
  float *a = integerArg(m * k, 0), *b = integerArg(k * n, 0);
  addArg(m * n * 4, 1);
  runCase(c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += a[l * m + i] * b[l * n + j];
      EXPECT(RESULT(float, 2)[i * n + j] == sum, "P %d %d", (int)i, (int)j);
    }
}

/// Where an element of a matrix of `rows` rows lies in its panels.
static int64_t inPanels(int64_t rows, int64_t row, int64_t column) {
  return (column / PANEL * rows + row) * PANEL + column % PANEL;
}

/// Small integers in panels; what fills the last panel is garbage.
static float *panelArg(int64_t rows, int64_t columns, float *matrix) {
  int64_t count = (columns + PANEL - 1) / PANEL * PANEL * rows;
  float *memory = addArg(count * 4, matrix == NULL);
  for (int64_t i = 0; matrix && i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      memory[inPanels(rows, i, j)] = matrix[i * columns + j] =
          rintf(4 * (float)noise());
  return memory;
}

static void checkPanels(const struct Case *c, int transposed, int symmetric) {
  int64_t n = c->n, m = symmetric ? n : c->m, k = c->k;
  if (symmetric) // the depth is that of the square shape
    k = SQUARE_DEPTH(n);
  float *a = malloc(m * k * 4), *b = malloc(k * n * 4);
  panelArg(transposed ? k : m, transposed ? m : k, a);
  if (symmetric)
    memcpy(b, a, k * n * 4);
  else
    panelArg(k, n, b);
  int at = argCount;
  panelArg(m, n, NULL);
  addArg(m * n * 4, 1);
  runCase(c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += (transposed ? a[l * m + i] : a[i * k + l]) * b[l * n + j];
      EXPECT(RESULT(float, at)[inPanels(m, i, j)] == sum,
             "P %d %d is %g, not %g", (int)i, (int)j,
             RESULT(float, at)[inPanels(m, i, j)], sum);
      EXPECT(RESULT(float, at + 1)[i * n + j] == 3 * sum, "Z %d %d", (int)i,
             (int)j);
    }
  free(a);
  free(b);
}
static void check_panel_nn(const struct Case *c) { checkPanels(c, 0, 0); }
static void check_panel_tn(const struct Case *c) { checkPanels(c, 1, 0); }
static void check_panel_symmetric(const struct Case *c) {
  checkPanels(c, 1, 1);
}

static uint16_t toBF16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Where an element of a matrix of BF16 lies in its panels.
static int64_t inPanelsBF16(int64_t rows, int64_t row, int64_t column,
                            int pairs) {
  if (!pairs)
    return inPanels(rows, row, column);
  return ((column / PANEL * ((rows + 1) / 2) + row / 2) * PANEL +
          column % PANEL) *
             2 +
         row % 2;
}

/// Small integers, or the transpose of `other`.
static void bf16Arg(int64_t rows, int64_t columns, int pairs, float *matrix,
                    const float *other) {
  int64_t count = (columns + PANEL - 1) / PANEL * PANEL *
                  (pairs ? (rows + 1) / 2 * 2 : rows);
  uint16_t *memory = addArg(count * 2, 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      matrix[i * columns + j] =
          other ? other[j * rows + i] : rintf(4 * noise());
      memory[inPanelsBF16(rows, i, j, pairs)] = toBF16(matrix[i * columns + j]);
    }
}

static void checkBF16(const struct Case *c, int transposed, int symmetric,
                      int inRows) {
  int64_t m = 2 * c->m, n = symmetric ? m : c->n,
          k = 2 * depths[(m * 31 + n) % 6];
  float *a = malloc(m * k * 4), *b = malloc(k * n * 4);
  bf16Arg(transposed ? k : m, transposed ? m : k, transposed, a, NULL);
  if (symmetric && !inRows)
    memcpy(b, a, k * n * 4);
  else
    bf16Arg(k, n, 1, b, symmetric ? a : NULL);
  int at = argCount;
  addArg(m * n * 4, 1);
  addArg((n + PANEL - 1) / PANEL * PANEL * m * 2, 1);
  runCase(c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += (transposed ? a[l * m + i] : a[i * k + l]) * b[l * n + j];
      EXPECT(RESULT(float, at)[i * n + j] == sum, "P %d %d is %g, not %g",
             (int)i, (int)j, RESULT(float, at)[i * n + j], sum);
      EXPECT(RESULT(uint16_t, at + 1)[inPanelsBF16(m, i, j, 1)] == toBF16(sum),
             "Q %d %d", (int)i, (int)j);
    }
  free(a);
  free(b);
}
static void check_bf16_nn(const struct Case *c) { checkBF16(c, 0, 0, 0); }
static void check_bf16_tn(const struct Case *c) { checkBF16(c, 1, 0, 0); }
static void check_bf16_symmetric(const struct Case *c) {
  checkBF16(c, 1, 1, 0);
}
static void check_amx_nn(const struct Case *c) { checkBF16(c, 0, 0, 1); }
static void check_amx_deep(const struct Case *c) { checkBF16(c, 0, 0, 1); }
static void check_amx_symmetric(const struct Case *c) { checkBF16(c, 0, 1, 1); }

static void check_panel_transpose(const struct Case *c) {
  int64_t m = c->m, n = c->n;
  float *x = malloc(m * n * 4);
  panelArg(n, m, x);
  float *w = randomArg(m * n, 0);
  addArg(m * n * 4, 1);
  panelArg(m, n, NULL);
  scalarArg(0.3f);
  runCase(c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      EXPECT(RESULT(float, 2)[i * n + j] == 0.3f * x[j * m + i], "Y %d %d",
             (int)i, (int)j);
      EXPECT(RESULT(float, 3)[inPanels(m, i, j)] == 0.3f * w[j * m + i],
             "Z %d %d", (int)i, (int)j);
    }
  free(x);
}

static void check_scale_transposed(const struct Case *c) {
  float *x = randomArg(c->m * c->n, 0);
  addArg(c->m * c->n * 4, 1);
  scalarArg(0.3f);
  runCase(c);
  for (int64_t i = 0; i < c->m; ++i)
    for (int64_t j = 0; j < c->n; ++j)
      EXPECT(RESULT(float, 1)[i * c->n + j] == 0.3f * x[j * c->m + i],
             "Y %d %d", (int)i, (int)j);
}

static void check_swap(const struct Case *c) {
  int64_t count = c->m * c->n;
  float *x = randomArg(count, 1), *y = randomArg(count, 1);
  runCase(c);
  for (int64_t i = 0; i < count; ++i) {
    EXPECT(RESULT(float, 0)[i] == y[i], "X %d", (int)i);
    EXPECT(RESULT(float, 1)[i] == x[i], "Y %d", (int)i);
  }
}

static void check_partial_sums(const struct Case *c) {
  int64_t m = c->m, n = c->n, sizes[] = {8, 4, 3, 2, 1}, r = 1;
  for (int i = 4; i >= 0; --i)
    if (m % sizes[i] == 0)
      r = sizes[i];
  float *g = randomArg(m * n, 0);
  addArg(m / r * n * 8, 1);
  runCase(c);
  for (int64_t b = 0; b < m / r; ++b)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < r; ++i)
        sum += g[(b * r + i) * n + j];
      EXPECT(RESULT(double, 1)[b * n + j] == sum, "sum %d %d", (int)b, (int)j);
    }
}

static void check_mean(const struct Case *c) {
  int64_t m = c->m, n = c->n;
  double *p = addArg(m * n * 8, 0);
  for (int64_t i = 0; i < m * n; ++i)
    p[i] = noise();
  addArg(n * 4, 1);
  runCase(c);
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < m; ++i)
      sum += p[i * n + j];
    EXPECT(RESULT(float, 1)[j] == (float)(sum / m), "mean %d", (int)j);
  }
}

static void check_subtract(const struct Case *c) {
  int64_t m = c->m, n = c->n;
  float *x = randomArg(m * n, 1), *r = randomArg(n, 0);
  runCase(c);
  for (int64_t i = 0; i < m * n; ++i)
    EXPECT(RESULT(float, 0)[i] == x[i] - r[i % n], "X %d", (int)i);
}

#include TABLE

int main(void) {
#ifdef AMX
  // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
  if (syscall(158, 0x1023, 18) != 0)
    return printf("the system does not give AMX to this process\n"), 1;
#endif
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    current = cases[i].name;
    state = (uint32_t)i + 1;
    cases[i].check(&cases[i]);
    freeArgs();
  }
  printf("%d kernels, %d checks, %d failures\n",
         (int)(sizeof cases / sizeof *cases), checks, failures);
  return failures != 0;
}
