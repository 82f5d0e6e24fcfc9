//===- Newton.cpp - cutting planes and certified bounds -------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Geometry/Oracle/Newton.h"

namespace steep::oracle::STEEP_ORACLE_ISA {

static double larger(double a, double b) { return a > b ? a : b; }

/// Rows of the largest Newton system that is solved densely: one more than its
/// pairs, which connect them.
static int64_t denseRows(int64_t padded) {
  const int64_t most = roundUp(denseEdges + 1, blockSize);
  return padded < most ? padded : most;
}

void Newton::lay(Arena &arena, int64_t rows, int64_t mostStride) {
  const int64_t most = roundUp(rows, blockSize), m = mostEdges(rows);
  edges.most = m;
  edges.i = arena.take<int32_t>(m);
  edges.j = arena.take<int32_t>(m);
  edges.w = arena.take<double>(m);
  edges.z = arena.take<double>(m);
  edges.q = arena.take<double>(m);
  edges.bitmap = arena.take<uint8_t>((rows * rows + 7) / 8);
  found.scores = arena.take<double>(rows * BestPairs::kept);
  found.partners = arena.take<int32_t>(rows * BestPairs::kept);
  cloud.lay(arena, rows, mostStride);
  laplacian.lay(arena, most);
  x = arena.take<double>(most * mostStride);
  panels = arena.take<double>(most * mostStride);
  flow = arena.take<double>(most * mostStride);
  degrees = arena.take<double>(most + mostStride);
  double **vectors[] = {&dw, &dz, &rhs, &r, &p, &ap, &scaled};
  for (double **vector : vectors)
    *vector = arena.take<double>(roundUp(m, blockSize));
  // One of the two is used, as the number of pairs says.
  const int64_t dense = m < denseEdges ? m : denseEdges;
  hessian.lay(arena, roundUp(dense, blockSize));
  denseSide = denseRows(most);
  inverse = arena.take<double>(denseSide * denseSide);
  inversePanels = arena.take<double>(denseSide * denseSide);
  edgeRows = arena.take<double>(roundUp(dense, blockSize) * mostStride);
  edgeColumns = arena.take<double>(roundUp(dense, blockSize) * mostStride);
  if (m > denseEdges) {
    stars.lay(arena, rows, m, mostStride);
    rounded.lay(arena, most);
    x32 = arena.take<float>(most * mostStride);
    panels32 = arena.take<float>(most * mostStride);
    flow32 = arena.take<float>(most * mostStride);
  }
}

//===----------------------------------------------------------------------===//
// The start
//===----------------------------------------------------------------------===//

/// All pairs of few rows; else, for every row, the rows that pull hardest
/// against it, and the heaviest row, which keeps the graph connected.
void Newton::startPairs() {
  const double *mass = problem->masses;
  if (count <= allPairsRows) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = i + 1; j < count; ++j)
        edges.add(i, j, 4 * mass[i] * mass[j], 0);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    double *row = x + i * stride;
    memcpy(row, problem->gradient + i * stride, stride * sizeof(double));
    for (int64_t k = 0; k < stride; ++k)
      row[k] /= mass[i];
  }
  cloud.load(x, count, stride, 1);
  found.clear(count);
  sweepPairs(cloud, [&](int64_t i, int64_t j0, const double *d) {
    for (int64_t c = 0; c < panelWidth<double>; ++c) {
      const int64_t j = j0 + c;
      if (j <= i || j >= count)
        continue;
      const double apart = d[c] * d[c];
      found.offer(i, j, apart * mass[j], BestPairs::kept);
      found.offer(j, i, apart * mass[i], BestPairs::kept);
    }
  });
  int64_t hub = 0;
  for (int64_t i = 1; i < count; ++i)
    hub = mass[i] > mass[hub] ? i : hub;
  for (int64_t i = 0; i < count; ++i) {
    if (i != hub)
      edges.add(i, hub, 4 * mass[i] * mass[hub], 0);
    for (int64_t k = 0; k < BestPairs::kept; ++k) {
      const int64_t j = found.partners[i * BestPairs::kept + k];
      if (j >= 0)
        edges.add(i, j, 4 * mass[i] * mass[j], 0);
    }
  }
}

bool Newton::start() {
  const int64_t n = count;
  background = 1e-10 / static_cast<double>(n * n);
  edges.count = 0;
  edges.side = n;
  memset(edges.bitmap, 0, (n * n + 7) / 8);
  startPairs();
  for (int64_t e = 0; e < edges.count; ++e)
    edges.w[e] += 1e-3 / static_cast<double>(edges.count);
  if (!factorizeAndSolve())
    return false;
  const double longest = measurePairs();
  // X is inverse to the tensions: the longest pair gets |x_e|^2 = 0.8.
  const double factor = __builtin_sqrt(longest / 0.8);
  if (!(factor > 0))
    return false;
  for (int64_t e = 0; e < edges.count; ++e)
    edges.w[e] *= factor;
  if (!factorizeAndSolve())
    return false;
  measurePairs();
  double sum = 0;
  for (int64_t e = 0; e < edges.count; ++e) {
    edges.z[e] = larger(0.5 * (1 - edges.q[e]), 1e-3);
    sum += edges.w[e] * edges.z[e];
  }
  mu = sum / static_cast<double>(edges.count);
  return true;
}

//===----------------------------------------------------------------------===//
// X = L_w^-1 G
//===----------------------------------------------------------------------===//

/// The lower triangle of L_w plus a multiple of 1 1^T, which X, being centred,
/// does not see, and which makes the matrix definite.
void Newton::assemble() {
  const int64_t lda = laplacian.side = padded;
  double *a = laplacian.matrix;
  for (int64_t i = 0; i < count; ++i)
    degrees[i] = background * static_cast<double>(count - 1);
  for (int64_t e = 0; e < edges.count; ++e) {
    degrees[edges.i[e]] += edges.w[e];
    degrees[edges.j[e]] += edges.w[e];
  }
  double mean = 0;
  for (int64_t i = 0; i < count; ++i)
    mean += degrees[i];
  const double shift = mean / static_cast<double>(count * count);
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t length = roundUp(i + 1, blockSize);
    const double filling = i < count ? shift - background : 0;
    for (int64_t k = 0; k < length; ++k)
      a[i * lda + k] = k < count ? filling : 0;
    a[i * lda + i] = i < count ? degrees[i] + shift : 1;
  }
  for (int64_t e = 0; e < edges.count; ++e) {
    const int64_t i = edges.i[e], j = edges.j[e];
    a[i > j ? i * lda + j : j * lda + i] -= edges.w[e];
  }
}

bool Newton::factorizeAndSolve() {
  assemble();
  if (!factorize(laplacian))
    return false;
  toPanels(problem->gradient, count, stride, panels, padded);
  solvePanels(laplacian, panels, stride / panelWidth<double>);
  fromPanels(panels, padded, x, count, stride);
  center(x, count, stride, degrees + padded);
  return true;
}

/// |x_e|^2 of all pairs; returns the largest.
double Newton::measurePairs() {
  double longest = 0;
  for (int64_t e = 0; e < edges.count; ++e) {
    edges.q[e] =
        distanceRows(x + edges.i[e] * stride, x + edges.j[e] * stride, stride);
    longest = larger(longest, edges.q[e]);
  }
  return longest;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// D(X), an upper bound within rounding, and for every row the longest pairs
/// that have no tension yet.
void Newton::sweep() {
  cloud.load(x, count, stride, 1);
  found.clear(count);
  const double least = larger(1, edgeDiameter * edgeDiameter);
  double longest = 0;
  sweepPairs(cloud, [&](int64_t i, int64_t j0, const double *d) {
    const double most = largestOf(d);
    longest = larger(longest, most);
    if (!(most > least))
      return;
    for (int64_t c = 0; c < panelWidth<double>; ++c) {
      const int64_t j = j0 + c;
      if (j <= i || !(d[c] > least) || edges.has(i, j))
        continue;
      found.offer(i, j, d[c], BestPairs::kept);
      found.offer(j, i, d[c], BestPairs::kept);
    }
  });
  diameter = __builtin_sqrt(longest + cloud.margin());
}

/// sum_i ||r_i|| for what the flow leaves of the gradient, r = G - L_w X.
double Newton::residualNorm() {
  for (int64_t i = 0; i < count; ++i) {
    double *row = flow + i * stride;
    memcpy(row, problem->gradient + i * stride, stride * sizeof(double));
    // X is centred.
    addRow(row, -background * static_cast<double>(count), x + i * stride,
           stride);
  }
  for (int64_t e = 0; e < edges.count; ++e) {
    const double *a = x + edges.i[e] * stride, *b = x + edges.j[e] * stride;
    double *to = flow + edges.i[e] * stride, *from = flow + edges.j[e] * stride;
    const double w = edges.w[e];
    addRow(to, -w, a, stride);
    addRow(to, w, b, stride);
    addRow(from, w, a, stride);
    addRow(from, -w, b, stride);
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double *row = flow + i * stride;
    sum += __builtin_sqrt(dotRows(row, row, stride));
  }
  return sum;
}

/// Bounds of this iterate; keeps the best of each.
void Newton::evaluate(double *best, Report &report) {
  const double n = static_cast<double>(count);
  edgeDiameter = __builtin_sqrt(measurePairs());
  sweep();
  double inner = 0, sizes = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double *row = x + i * stride;
    inner += dotRows(problem->gradient + i * stride, row, stride);
    sizes += problem->masses[i] * __builtin_sqrt(dotRows(row, row, stride));
  }
  // Rounding of the sums is on the safe side of both bounds.
  const double terms = static_cast<double>(stride + count + 8) * 0x1p-53;
  value = inner;
  const double lower = (inner - terms * sizes) / diameter;
  double tension = 0, products = 0;
  for (int64_t e = 0; e < edges.count; ++e) {
    tension += edges.w[e] * __builtin_sqrt(edges.q[e]);
    products += edges.w[e] * edges.z[e];
  }
  mu = products / static_cast<double>(edges.count);
  upper = (tension + background * n * n / 2 * diameter +
           2 * jungRadius(problem->rank) * residualNorm()) *
          (1 + static_cast<double>(edges.count + stride + 8) * 0x1p-53);
  if (lower > report.lower) {
    report.lower = lower;
    for (int64_t k = 0; k < count * stride; ++k)
      best[k] = x[k] / diameter;
  }
  if (upper < report.upper)
    report.upper = upper;
}

//===----------------------------------------------------------------------===//
// Cutting planes
//===----------------------------------------------------------------------===//

/// Pairs without tension decide once they are longer than the restricted gap
/// explains.
bool Newton::wantsCuts(double tolerance) const {
  const double gap = upper - value / edgeDiameter;
  return violation > 0.02 * tolerance &&
         (gap < violation * upper || gap < 0.3 * tolerance * upper);
}

/// Forgets pairs that carry nothing and are short.
void Newton::dropIdle() {
  const double m = static_cast<double>(edges.count);
  int64_t kept = 0;
  for (int64_t e = 0; e < edges.count; ++e) {
    const double w = edges.w[e], z = edges.z[e];
    if (z > 0.01 && w < 20 * mu / z && w * m < 1e-2) {
      edges.mark(edges.i[e], edges.j[e], false);
      continue;
    }
    edges.i[kept] = edges.i[e];
    edges.j[kept] = edges.j[e];
    edges.w[kept] = w;
    edges.z[kept] = z;
    edges.q[kept++] = edges.q[e];
  }
  edges.count = kept;
}

void Newton::addCuts() {
  const double m = static_cast<double>(edges.count);
  const double least =
      larger(1, edgeDiameter * edgeDiameter) * (1 + 0.05 * violation);
  const double centre = larger(mu, 1e-2 * violation / m);
  dropIdle();
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < BestPairs::kept; ++k) {
      const double length = found.scores[i * BestPairs::kept + k];
      const int64_t j = found.partners[i * BestPairs::kept + k];
      if (j < 0 || !(length > least))
        continue;
      const double slack =
          larger(0.5 * (1 - length), 0) + 0.3 * larger(violation, 1e-9) + 1e-12;
      edges.add(i, j, centre / slack, slack);
    }
  // The old pairs follow to the new complementarity.
  for (int64_t e = 0; e < edges.count; ++e)
    edges.z[e] = larger(edges.z[e], 0.3 * centre / edges.w[e]);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

Status Newton::run(const Reduced &reduced, const Options &options, double *best,
                   Report &report, Observer observer, void *context) {
  problem = &reduced;
  count = reduced.count;
  stride = reduced.reducedStride;
  padded = roundUp(count, blockSize);
  stepW = stepZ = 0;
  wide = false;
  products = 0;
  if (!start())
    return Status::Stalled;
  Status status = Status::StepLimit;
  while (report.steps < options.maxSteps) {
    if (!step() || !factorizeAndSolve()) {
      status = Status::Stalled;
      break;
    }
    ++report.steps;
    evaluate(best, report);
    report.products = products;
    report.edges = edges.count;
    report.gap = (report.upper - report.lower) / report.upper;
    if (observer)
      observer(report, context);
    if (report.gap <= options.tolerance) {
      status = Status::Converged;
      break;
    }
    violation = diameter / larger(edgeDiameter, 1) - 1;
    if (!wantsCuts(options.tolerance))
      continue;
    addCuts();
    if (!factorizeAndSolve()) {
      status = Status::Stalled;
      break;
    }
    measurePairs();
  }
  return status;
}

} // namespace steep::oracle::STEEP_ORACLE_ISA
