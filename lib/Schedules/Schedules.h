//===- Schedules.h - coefficients of Newton-Schulz iterations ---*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of the iteration maps X to a X + (b A + c A^2) X with A = X X^T. It
// leaves the singular vectors alone and maps a singular value s to
// p(s) = a s + b s^3 + c s^5; a schedule is the list of triples of all steps,
// and f is the composition of their p. What is said of f here is exact up to
// rounding: images of intervals, from the zeros of p and p', not samples.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_LIB_SCHEDULES_SCHEDULES_H
#define STEEP_LIB_SCHEDULES_SCHEDULES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steep::schedules {

struct Triple {
  double a, b, c;
};

/// The triples of all steps, in order.
using Schedule = std::vector<Triple>;

constexpr int64_t maxSteps = 20;

/// What a singular value may exceed 1 by after the division by the Frobenius
/// norm, with products in binary32 and with operands rounded to BF16.
constexpr double marginF32 = 1e-3;
constexpr double marginBF16 = 0x1p-7;

/// The largest image of a singular value that is still an update.
constexpr double maxImage = 1.5;

/// The named schedule with this many steps: "jordan", "you", "polar_express",
/// "samuon" or "cubic". Only polar_express takes a safety factor, at least 1.
/// On bad arguments there is no schedule, and `error` says what was expected.
std::optional<Schedule> makeSchedule(std::string_view name, int64_t steps,
                                     std::optional<double> safety,
                                     std::string &error);

/// f(s).
double evaluate(const Schedule &schedule, double s);

/// The range of a continuous function on an interval.
struct Band {
  double low, high;
};

/// The image of [low, high] under f, 0 <= low <= high.
Band getBand(const Schedule &schedule, double low, double high);

/// A singular value and where it goes.
struct Violation {
  double s, image;
};

/// Looks for s in (0, 1 + margin] with f(s) <= 0 or f(s) > maxImage: one that
/// shows the fault, or nothing where the schedule is safe.
std::optional<Violation> findViolation(const Schedule &schedule, double margin);

/// How the steps are computed. In exact arithmetic all forms are equal.
enum class Form {
  standard,  ///< A = X X^T, A^2, Z X as full products
  symmetric, ///< half of A and of A^2
  gram       ///< on the Gram matrix, halves only; X enters twice
};

/// Floating-point operations of the matrix products for an m x n matrix, a
/// fused multiply-add counted as two.
double countFlops(Form form, int64_t m, int64_t n, int64_t steps);

} // namespace steep::schedules

#endif // STEEP_LIB_SCHEDULES_SCHEDULES_H
