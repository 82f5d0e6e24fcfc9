//===- Schedule.cpp - the learning-rate schedule --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Train/Schedule.h"

#include "runtime/Core/Error.h"

#include <algorithm>
#include <cmath>

using namespace steep;

double RateSchedule::scale(int64_t t) const {
  if (constant)
    return 1;
  if (t < warmup)
    return static_cast<double>(t) / static_cast<double>(warmup);
  const int64_t decay = total - warmup - 1;
  if (decay <= 0)
    return floor;
  const double p = std::min(1.0, static_cast<double>(t - warmup) /
                                     static_cast<double>(decay));
  return floor + (1 - floor) * 0.5 * (1 + std::cos(M_PI * p));
}

RateSchedule steep::makeSchedule(const Manifest &manifest, int64_t total,
                                 int64_t warmup) {
  RateSchedule schedule;
  schedule.total = total;
  if (!manifest.schedule) {
    if (warmup > 0)
      fail("--warmup {}: the spec '{}' has no schedule to warm up", warmup,
           manifest.name);
    schedule.constant = true;
    return schedule;
  }
  schedule.floor = manifest.schedule->floor;
  schedule.warmup =
      warmup >= 0
          ? warmup
          : static_cast<int64_t>(std::floor(manifest.schedule->warmup *
                                            static_cast<double>(total)));
  if (schedule.warmup > total)
    fail("--warmup {}: expected 0 to {}, the number of updates",
         schedule.warmup, total);
  return schedule;
}
