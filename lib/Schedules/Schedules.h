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

/// The least image of a singular value of at least `leastValue`: what is below
/// is no sign that the rounding errors of binary32 products would leave alone.
constexpr double minImage = 1e-3, leastValue = 0.01;

/// What the size of a coefficient that is not 0 may be. One that is smaller is
/// lost beside the others or underflows; products with a larger one round to
/// errors of the size of the result, sooner where operands are BF16.
constexpr double minCoefficient = 1e-9, maxCoefficientF32 = 1e4,
                 maxCoefficientBF16 = 64;

/// The named schedule with this many steps: "jordan", "you", "polar_express",
/// "samuon" or "cubic". `you` repeats its last triple beyond its five,
/// `polar_express` goes on with `cubic`'s beyond its seven, `samuon` ends with
/// its four. Only polar_express takes a safety factor, at least 1. On bad
/// arguments there is no schedule, and `error` says what was expected.
std::optional<Schedule> makeSchedule(std::string_view name, int64_t steps,
                                     std::optional<double> safety,
                                     std::string &error);

/// The user's own triples, of coefficients that are 0 or of a size in
/// [minCoefficient, largest]. More steps than triples need `then`, which says
/// what follows the last one: "repeat" (that one again) or "cubic"; a table
/// that is cycled is no schedule.
std::optional<Schedule> makeCustomSchedule(const Schedule &table, int64_t steps,
                                           std::string_view then,
                                           double largest, std::string &error);

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

/// Looks for s in (0, 1 + margin] with f(s) <= 0, f(s) > maxImage, or f(s) <
/// minImage and s >= leastValue: one that shows the fault, or nothing where the
/// schedule is safe.
std::optional<Violation> findViolation(const Schedule &schedule, double margin);

//===----------------------------------------------------------------------===//
// The two forms of the iteration
//===----------------------------------------------------------------------===//

/// How the steps are computed. In exact arithmetic all forms are equal.
enum class Form {
  standard,      ///< A = X X^T, A^2, Z X as full products
  symmetric,     ///< half of A and of A^2
  gram,          ///< on the Gram matrix, full products; X enters twice
  gramSymmetric, ///< the same with halves of all that is symmetric
};

/// The steps after which the Gram form applies what it has to X and starts
/// anew, ascending, each in 1 .. steps - 1.
using Restarts = std::vector<int64_t>;

/// Floating-point operations of the matrix products for an m x n matrix, a
/// fused multiply-add counted as two.
double countFlops(Form form, int64_t m, int64_t n, int64_t steps,
                  const Restarts &restarts = {});

/// The cheaper one of `standard` and `gram` as they are compiled, with full
/// products; the standard form where they cost the same.
Form chooseForm(int64_t m, int64_t n, int64_t steps, const Restarts &restarts);

/// Restarts by default. Rounding errors of the Gram form grow with the product
/// of the a's since the last one: measured in binary32, `jordan` needs none in
/// five steps, and the steeper `polar_express` and `you` one after step 3. Any
/// schedule restarts before the product exceeds 500.
Restarts getDefaultRestarts(std::string_view name, const Schedule &schedule);

/// The largest product of |a| between restarts: the factor on the unit
/// roundoff of the products in the error of the Gram form.
double getGrowth(const Schedule &schedule, const Restarts &restarts);

/// Unit roundoff times growth may not exceed this. It takes binary32 products
/// (2^-24) to a growth of 16384, and no step on BF16 operands (2^-8).
constexpr double maxGramError = 0x1p-10;

} // namespace steep::schedules

#endif // STEEP_LIB_SCHEDULES_SCHEDULES_H
