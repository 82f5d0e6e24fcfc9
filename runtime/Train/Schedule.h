//===- Schedule.h - the learning-rate schedule ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_TRAIN_SCHEDULE_H
#define STEEP_RUNTIME_TRAIN_SCHEDULE_H

#include "runtime/Core/Manifest.h"

#include <cstdint>

namespace steep {

/// Warm-up and cosine decay over `total` updates, counted from 0
/// (arXiv:2608.22253, training recipe):
///
///   t < warmup:  t / warmup
///   otherwise:   floor + (1 - floor) (1 + cos(pi p)) / 2,
///                p = min(1, (t - warmup) / (total - warmup - 1))
///
/// So update 0 has scale 0 where there is a warm-up. A single update after the
/// warm-up has scale `floor`.
struct RateSchedule {
  int64_t total = 0;
  int64_t warmup = 0;
  double floor = 1;
  bool constant = false; ///< the spec has no schedule: always 1

  double scale(int64_t t) const;
};

/// The schedule of a manifest over `total` updates. `warmup` < 0 takes the
/// manifest's fraction, floor(fraction * total). Throws Error unless
/// 0 <= warmup <= total.
RateSchedule makeSchedule(const Manifest &manifest, int64_t total,
                          int64_t warmup);

} // namespace steep

#endif // STEEP_RUNTIME_TRAIN_SCHEDULE_H
