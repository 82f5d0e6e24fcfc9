//===- Forms.cpp - standard or Gram form, and what each costs -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Gram form (J. Zhang, N. Amsel, B. Chen, T. Dao 2026) iterates on the
// Gram matrix R = X X^T of the smaller side and on the factor Q that X is to be
// multiplied by; X itself enters when R is formed and when Q is applied.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedules/Schedules.h"

#include <algorithm>
#include <cmath>

using namespace steep;
using namespace steep::schedules;

/// Products that a segment of `steps` steps between restarts takes: R^2 in
/// each; Q Z in all but the first, where Q is the identity; and R Z, Z T in all
/// but the last, after which no R is needed.
static double countGramProducts(int64_t steps) {
  return static_cast<double>(steps + (steps - 1) + 2 * (steps - 1));
}

double schedules::countFlops(Form form, int64_t m, int64_t n, int64_t steps,
                             const Restarts &restarts) {
  double small = static_cast<double>(std::min(m, n));
  double big = static_cast<double>(std::max(m, n));
  double wide = 2 * small * small * big, square = 2 * small * small * small;
  bool halves = form == Form::symmetric || form == Form::gramSymmetric;
  double symmetric = halves ? 0.5 : 1.0;
  if (form == Form::standard || form == Form::symmetric)
    return static_cast<double>(steps) *
           (wide + symmetric * wide + symmetric * square);
  double flops = 0;
  int64_t begin = 0;
  for (size_t i = 0; i <= restarts.size(); ++i) {
    int64_t end = i < restarts.size() ? restarts[i] : steps;
    flops += countGramProducts(end - begin) * symmetric * square +
             symmetric * wide + wide;
    begin = end;
  }
  return flops;
}

Form schedules::chooseForm(int64_t m, int64_t n, int64_t steps,
                           const Restarts &restarts) {
  return countFlops(Form::gram, m, n, steps, restarts) <
                 countFlops(Form::standard, m, n, steps)
             ? Form::gram
             : Form::standard;
}

Restarts schedules::getDefaultRestarts(std::string_view name,
                                       const Schedule &schedule) {
  constexpr double most = 500;
  constexpr int64_t steepSteps = 3;
  bool isSteep = name != "jordan" && name != "cubic";
  Restarts restarts;
  double growth = 1;
  int64_t steps = static_cast<int64_t>(schedule.size());
  for (int64_t step = 0; step < steps; ++step) {
    double next = std::fabs(schedule[step].a);
    bool isFirst = isSteep && restarts.empty() && step == steepSteps;
    if (step > 0 && (isFirst || growth * next > most)) {
      restarts.push_back(step);
      growth = 1;
    }
    growth *= next;
  }
  return restarts;
}

double schedules::getGrowth(const Schedule &schedule,
                            const Restarts &restarts) {
  double growth = 1, largest = 1;
  for (size_t step = 0; step < schedule.size(); ++step) {
    if (std::find(restarts.begin(), restarts.end(),
                  static_cast<int64_t>(step)) != restarts.end())
      growth = 1;
    growth *= std::fabs(schedule[step].a);
    largest = std::max(largest, growth);
  }
  return largest;
}
