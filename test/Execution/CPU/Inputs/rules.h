/* The rules of specs/paper.mlir in plain loops, in double: what the C program
 * compares the compiled step with. Row-major m x n. */
#ifndef RULES_H
#define RULES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* B = 0.95 B + 0.05 G; C = B / (1 - 0.95^t); row i moves by -lr C_i / ||C_i||. */
static void rownorm(double *w, const double *g, double *b, long m, long n,
                    double lr, double wd, long t) {
  long i, j;
  for (i = 0; i < m; ++i) {
    double squares = 0;
    for (j = i * n; j < (i + 1) * n; ++j) {
      b[j] = 0.95 * b[j] + 0.05 * g[j];
      squares += pow(b[j] / (1 - pow(0.95, (double)t)), 2);
    }
    for (j = i * n; j < (i + 1) * n; ++j)
      w[j] = (1 - lr * wd) * w[j] -
             lr * b[j] / (1 - pow(0.95, (double)t)) / (sqrt(squares) + 1e-8);
  }
}

static void adamw(double *w, const double *g, double *a, double *v, long count,
                  double lr, double wd, long t) {
  long i;
  for (i = 0; i < count; ++i) {
    a[i] = 0.9 * a[i] + 0.1 * g[i];
    v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
    w[i] = (1 - lr * wd) * w[i] -
           lr * (a[i] / (1 - pow(0.9, (double)t))) /
               (sqrt(v[i] / (1 - pow(0.999, (double)t))) + 1e-10);
  }
}

/* c (m x n) = a (m x k) b, or a b^T where `transposed`. */
static void product(double *c, const double *a, const double *b, long m, long k,
                    long n, int transposed) {
  long i, j, l;
  for (i = 0; i < m; ++i)
    for (j = 0; j < n; ++j) {
      double sum = 0;
      for (l = 0; l < k; ++l)
        sum += a[i * k + l] * (transposed ? b[j * k + l] : b[l * n + j]);
      c[i * n + j] = sum;
    }
}

/* Nesterov momentum, then five steps X <- aX + (bA + cA^2)X with A = X X^T. */
static void muon(double *w, const double *g, double *b, long m, long n,
                 double lr, double wd) {
  double *x = malloc(sizeof(double) * m * n), *y = malloc(sizeof(double) * m * n);
  double *a = malloc(sizeof(double) * m * m), *p = malloc(sizeof(double) * m * m);
  double norm = 0, ratio = (double)m / (double)n;
  long i, step;
  for (i = 0; i < m * n; ++i) {
    b[i] = 0.95 * b[i] + g[i];
    x[i] = g[i] + 0.95 * b[i];
    norm += x[i] * x[i];
  }
  for (i = 0; i < m * n; ++i)
    x[i] /= sqrt(norm) + 1e-5;
  for (step = 0; step < 5; ++step) {
    product(a, x, x, m, n, m, 1);
    product(p, a, a, m, m, m, 0);
    for (i = 0; i < m * m; ++i)
      p[i] = -4.7750 * a[i] + 2.0315 * p[i];
    product(y, p, x, m, m, n, 0);
    for (i = 0; i < m * n; ++i)
      x[i] = 3.4445 * x[i] + y[i];
  }
  for (i = 0; i < m * n; ++i)
    w[i] = (1 - lr * wd) * w[i] - lr * sqrt(ratio > 1 ? ratio : 1) * x[i];
  free(x);
  free(y);
  free(a);
  free(p);
}

#endif
