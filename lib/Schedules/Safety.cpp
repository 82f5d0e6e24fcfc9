//===- Safety.cpp - where a schedule takes singular values ----------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps are taken one by one. A step maps an interval to an interval, whose
// ends are among the images of the interval's ends and of the zeros of p'; and
// p(s) = s (a + b y + c y^2) with y = s^2, so all zeros are those of quadratics
// in y. On (0, high] with f > 0 so far the image is (0, highest].
//
//===----------------------------------------------------------------------===//
#include "lib/Schedules/Schedules.h"

#include <algorithm>
#include <cmath>

using namespace steep;
using namespace steep::schedules;

static double evaluate(const Triple &t, double s) {
  double y = s * s;
  return s * (t.a + y * (t.b + y * t.c));
}

double schedules::evaluate(const Schedule &schedule, double s) {
  for (const Triple &t : schedule)
    s = ::evaluate(t, s);
  return s;
}

/// The s > 0 with c0 + c1 s^2 + c2 s^4 = 0, ascending.
static std::vector<double> getRoots(double c0, double c1, double c2) {
  std::vector<double> squares;
  if (c2 == 0) {
    if (c1 != 0)
      squares.push_back(-c0 / c1);
  } else {
    double discriminant = c1 * c1 - 4 * c2 * c0;
    if (discriminant < 0)
      return {};
    // The form without cancellation.
    double q = -0.5 * (c1 + std::copysign(std::sqrt(discriminant), c1));
    squares.push_back(q / c2);
    if (q != 0)
      squares.push_back(c0 / q);
  }
  std::vector<double> roots;
  for (double y : squares)
    if (y > 0)
      roots.push_back(std::sqrt(y));
  std::sort(roots.begin(), roots.end());
  return roots;
}

/// Where in [low, high] p may be least or greatest.
static std::vector<double> getCandidates(const Triple &t, double low,
                                         double high) {
  std::vector<double> candidates = {low, high};
  for (double s : getRoots(t.a, 3 * t.b, 5 * t.c))
    if (s > low && s < high)
      candidates.push_back(s);
  return candidates;
}

Band schedules::getBand(const Schedule &schedule, double low, double high) {
  Band band = {low, high};
  for (const Triple &t : schedule) {
    std::vector<double> images;
    for (double s : getCandidates(t, band.low, band.high))
      images.push_back(::evaluate(t, s));
    auto ends = std::minmax_element(images.begin(), images.end());
    band = {*ends.first, *ends.second};
  }
  return band;
}

/// The s in (0, high] with f(s) = image, where f(0) = 0 <= image <= f(high).
static double invert(const Schedule &schedule, double image, double high) {
  double low = 0;
  for (int i = 0; i < 200; ++i) {
    double middle = 0.5 * (low + high);
    (schedules::evaluate(schedule, middle) < image ? low : high) = middle;
  }
  return high;
}

/// An s in (0, highest] where a step is not positive, or vanishes faster than
/// s.
static double findLost(const Triple &t, const std::vector<double> &zeros,
                       double highest) {
  bool hasZero = !zeros.empty() && zeros.front() <= highest;
  double inside = 0.5 * (hasZero ? zeros.front() : highest);
  if (::evaluate(t, inside) <= 0)
    return inside;
  return hasZero ? zeros.front() : 1e-20;
}

std::optional<Violation> schedules::findViolation(const Schedule &schedule,
                                                  double margin) {
  // f of the steps so far takes (0, argument] onto (0, highest].
  double argument = 1 + margin, highest = argument;
  Schedule done;
  for (const Triple &t : schedule) {
    // p > 0 on (0, highest]? A zero of a step is a zero of f, p being odd.
    std::vector<double> zeros = getRoots(t.a, t.b, t.c);
    if (t.a <= 0 || (!zeros.empty() && zeros.front() <= highest)) {
      double s = invert(done, findLost(t, zeros, highest), argument);
      double image = schedules::evaluate(schedule, s);
      // A small power of s is above 0, but not in f32.
      return Violation{s, image > 0 ? static_cast<float>(image) : image};
    }
    double best = highest, image = ::evaluate(t, highest);
    for (double s : getCandidates(t, 0, highest))
      if (::evaluate(t, s) > image) {
        best = s;
        image = ::evaluate(t, s);
      }
    argument = invert(done, best, argument);
    highest = image;
    done.push_back(t);
  }
  if (highest > maxImage)
    return Violation{argument, highest};
  double low = leastValue, high = 1 + margin;
  if (getBand(schedule, low, high).low >= minImage)
    return std::nullopt;
  // The half whose image reaches lower, again and again.
  for (int i = 0; i < 60; ++i) {
    double middle = 0.5 * (low + high);
    bool isLeft = getBand(schedule, low, middle).low <=
                  getBand(schedule, middle, high).low;
    (isLeft ? high : low) = middle;
  }
  return Violation{low, schedules::evaluate(schedule, low)};
}
