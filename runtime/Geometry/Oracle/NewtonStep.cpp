//===- NewtonStep.cpp - one primal-dual step ------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With target complementarity s = sigma mu, the step solves
//
//   (H + diag(z/w)) dw = s/w - (1 - |x_e|^2)/2,    dz = (s - z dw)/w - z.
//
// Few pairs: H is written out, factored, and Mehrotra's predictor chooses
// sigma and corrects. Many: conjugate gradients, whose products are one
// scatter over pairs, one Laplacian solution and one gather,
//
//   H v = x_e . (b_e^T L_w^-1 L_v X),
//
// in FP32 as long as that is accurate enough for a direction; bounds never
// depend on it.
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Newton.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

/// A direction that is not exact still leads somewhere; steps are cheap beside
/// many more products.
static constexpr int64_t mostProducts = 250;

/// The longest step that keeps v positive, a little short of the boundary.
static double stepLength(const double *v, const double *dv, int64_t count) {
  double length = 1;
  for (int64_t e = 0; e < count; ++e)
    if (0.99 * v[e] < -dv[e] * length)
      length = 0.99 * v[e] / -dv[e];
  return length;
}

//===----------------------------------------------------------------------===//
// The dense system
//===----------------------------------------------------------------------===//

/// H + diag(z/w), factored.
bool Newton::buildHessian() {
  constexpr int64_t width = panelWidth<double>;
  const int64_t m = edges.count, side = roundUp(m, blockSize);
  // L_w^-1, by rows.
  memset(inversePanels, 0, padded * padded * sizeof(double));
  for (int64_t c = 0; c < padded; ++c)
    inversePanels[(c / width * padded + c) * width + c % width] = 1;
  solvePanels(laplacian, inversePanels, padded / width);
  fromPanels(inversePanels, padded, inverse, padded, padded);
  memset(edgeRows, 0, side * stride * sizeof(double));
  for (int64_t e = 0; e < m; ++e) {
    memcpy(edgeRows + e * stride, x + edges.i[e] * stride,
           stride * sizeof(double));
    addRow(edgeRows + e * stride, -1, x + edges.j[e] * stride, stride);
  }
  transposeToPanels(edgeRows, side, stride, stride, edgeColumns);
  hessian.side = side;
  memset(hessian.matrix, 0, side * side * sizeof(double));
  for (int64_t a = 0; a < side; a += blockSize)
    for (int64_t b = 0; b < a + blockSize; b += width)
      multiply(edgeRows + a * stride, stride, edgeColumns + b * stride, stride,
               hessian.matrix + a * side + b, side, blockSize, 1.0);
  for (int64_t e = 0; e < side; ++e) {
    double *row = hessian.matrix + e * side;
    if (e >= m) {
      row[e] = 1;
      continue;
    }
    const double *top = inverse + edges.i[e] * padded;
    const double *bottom = inverse + edges.j[e] * padded;
    for (int64_t f = 0; f <= e; ++f) {
      const int64_t i = edges.i[f], j = edges.j[f];
      row[f] *= (top[i] - bottom[i]) - (top[j] - bottom[j]);
    }
    row[e] = row[e] * (1 + 1e-13) + edges.z[e] / edges.w[e];
  }
  return factorize(hessian);
}

/// dw <- H^-1 rhs
void Newton::solveDense() {
  constexpr int64_t width = panelWidth<double>;
  const int64_t side = hessian.side;
  double *panel = hessian.scratch;
  memset(panel, 0, side * width * sizeof(double));
  for (int64_t e = 0; e < edges.count; ++e)
    panel[e * width] = rhs[e];
  solvePanels(hessian, panel, 1);
  for (int64_t e = 0; e < edges.count; ++e)
    dw[e] = panel[e * width];
}

/// dz from dw; `corrected`: r holds Mehrotra's second-order term.
void Newton::setSlackDirection(double target, bool corrected) {
  for (int64_t e = 0; e < edges.count; ++e)
    dz[e] =
        (target - (corrected ? r[e] : 0) - edges.z[e] * dw[e]) / edges.w[e] -
        edges.z[e];
}

bool Newton::denseDirection() {
  const int64_t m = edges.count;
  if (!buildHessian())
    return false;
  double infeasible = 0;
  for (int64_t e = 0; e < m; ++e) {
    const double gradient = 0.5 * (1 - edges.q[e]);
    const double defect = gradient - edges.z[e];
    infeasible = defect > infeasible    ? defect
                 : -defect > infeasible ? -defect
                                        : infeasible;
    rhs[e] = -gradient;
  }
  solveDense();
  setSlackDirection(0, false);
  const double a = stepLength(edges.w, dw, m), b = stepLength(edges.z, dz, m);
  double affine = 0;
  for (int64_t e = 0; e < m; ++e)
    affine += (edges.w[e] + a * dw[e]) * (edges.z[e] + b * dz[e]);
  affine /= static_cast<double>(m) * mu;
  double sigma = affine * affine;
  sigma = sigma > 0.8 ? 0.8 : sigma < 1e-3 ? 1e-3 : sigma;
  if (infeasible > 1e-2 && sigma < 0.2)
    sigma = 0.2;
  const bool corrected = a > 0.1 && b > 0.1;
  for (int64_t e = 0; e < m; ++e) {
    r[e] = corrected ? dw[e] * dz[e] : 0;
    rhs[e] = (sigma * mu - r[e]) / edges.w[e] - 0.5 * (1 - edges.q[e]);
  }
  solveDense();
  setSlackDirection(sigma * mu, true);
  return true;
}

//===----------------------------------------------------------------------===//
// Conjugate gradients
//===----------------------------------------------------------------------===//

/// a += v (xa - xb), b -= v (xa - xb)
template <typename T>
static inline void scatter(T *a, T *b, T v, const T *xa, const T *xb,
                           int64_t stride) {
  for (int64_t k = 0; k < stride; k += lanes<T>) {
    const typename VectorOf<T>::type d =
        v * (vectorAt(xa + k) - vectorAt(xb + k));
    vectorAt(a + k) += d;
    vectorAt(b + k) -= d;
  }
}

/// <a - b, xa - xb>
template <typename T>
static inline double gather(const T *a, const T *b, const T *xa, const T *xb,
                            int64_t stride) {
  typename VectorOf<T>::type sum = {};
  for (int64_t k = 0; k < stride; k += lanes<T>)
    sum += (vectorAt(a + k) - vectorAt(b + k)) *
           (vectorAt(xa + k) - vectorAt(xb + k));
  return static_cast<double>(sumLanes<T>(sum));
}

template <typename T>
void Newton::applyHessianIn(const Factor<T> &f, const T *points, T *work,
                            T *rows, const double *v, double *out) {
  memset(rows, 0, count * stride * sizeof(T));
  for (int64_t e = 0; e < edges.count; ++e) {
    const int64_t i = edges.i[e] * stride, j = edges.j[e] * stride;
    scatter(rows + i, rows + j, static_cast<T>(v[e]), points + i, points + j,
            stride);
  }
  toPanels(rows, count, stride, work, padded);
  solvePanels(f, work, stride / panelWidth<T>);
  fromPanels(work, padded, rows, count, stride);
  for (int64_t e = 0; e < edges.count; ++e) {
    const int64_t i = edges.i[e] * stride, j = edges.j[e] * stride;
    out[e] = gather(rows + i, rows + j, points + i, points + j, stride) +
             edges.z[e] / edges.w[e] * v[e];
  }
}

void Newton::applyHessian(const double *v, double *out) {
  ++products;
  if (wide)
    applyHessianIn(laplacian, x, panels, flow, v, out);
  else
    applyHessianIn(rounded, x32, panels32, flow32, v, out);
}

/// Solves for `rhs`, as far as the limit allows; false where the products lost
/// positivity.
bool Newton::conjugateGradients(double *solution) {
  const int64_t m = edges.count;
  stars.factorize({m, edges.i, edges.j, edges.w, edges.z, edges.q, degrees, x,
                   count, stride});
  memset(solution, 0, m * sizeof(double));
  memcpy(r, rhs, m * sizeof(double));
  stars.solve(r, p);
  double rho = 0;
  for (int64_t e = 0; e < m; ++e)
    rho += r[e] * p[e];
  double accuracy = __builtin_sqrt(mu * static_cast<double>(m));
  accuracy = accuracy > 1e-2 ? 1e-2 : accuracy < 1e-5 ? 1e-5 : accuracy;
  const double goal = accuracy * accuracy * rho;
  for (int64_t k = 0; k < mostProducts && rho > goal; ++k) {
    applyHessian(p, ap);
    double curvature = 0;
    for (int64_t e = 0; e < m; ++e)
      curvature += p[e] * ap[e];
    if (!(curvature > 0))
      return false;
    const double length = rho / curvature;
    for (int64_t e = 0; e < m; ++e) {
      solution[e] += length * p[e];
      r[e] -= length * ap[e];
    }
    stars.solve(r, scaled);
    double next = 0;
    for (int64_t e = 0; e < m; ++e)
      next += r[e] * scaled[e];
    const double ratio = next / rho;
    for (int64_t e = 0; e < m; ++e)
      p[e] = scaled[e] + ratio * p[e];
    rho = next;
  }
  return true;
}

void Newton::sparseDirection() {
  double infeasible = 0;
  for (int64_t e = 0; e < edges.count; ++e) {
    const double defect = 0.5 * (1 - edges.q[e]) - edges.z[e];
    infeasible = defect > infeasible    ? defect
                 : -defect > infeasible ? -defect
                                        : infeasible;
  }
  double sigma = stepW > 0.8 && stepZ > 0.8 ? 0.15 : 0.5;
  if (infeasible > 1e-2 && sigma < 0.2)
    sigma = 0.2;
  for (int64_t e = 0; e < edges.count; ++e)
    rhs[e] = sigma * mu / edges.w[e] - 0.5 * (1 - edges.q[e]);
  if (!wide) {
    roundFactor(laplacian, rounded);
    for (int64_t k = 0; k < count * stride; ++k)
      x32[k] = static_cast<float>(x[k]);
  }
  if (!conjugateGradients(dw) && !wide) {
    wide = true;
    conjugateGradients(dw);
  }
  setSlackDirection(sigma * mu, false);
}

bool Newton::step() {
  const int64_t m = edges.count;
  if (m <= denseEdges && padded <= denseSide) {
    if (!denseDirection())
      return false;
  } else {
    sparseDirection();
  }
  stepW = stepLength(edges.w, dw, m);
  stepZ = stepLength(edges.z, dz, m);
  double sum = 0;
  for (int64_t e = 0; e < m; ++e) {
    edges.w[e] += stepW * dw[e];
    edges.z[e] += stepZ * dz[e];
    edges.w[e] = edges.w[e] > 1e-30 ? edges.w[e] : 1e-30;
    sum += edges.w[e] * edges.z[e];
  }
  mu = sum / static_cast<double>(m);
  return mu > 0;
}

} // namespace steep::oracle::STEEP_ORACLE_ISA
