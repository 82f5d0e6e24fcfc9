//===- Clocks.h - who knows of whose writes ---------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Happens-before within a block. A barrier of the whole block starts a new
// epoch: everything before it is known to all. Within an epoch a lane counts
// its own releases, and a sparse vector holds the counts of the lanes that it
// has heard of through warp barriers, counted barriers and mbarriers. Epochs
// alone would call kernels wrong that hand tiles over by mbarrier.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_CLOCKS_H
#define STEEP_RUNTIME_DEVICES_SIMT_CLOCKS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace steep::simt {

/// The newest tick of each lane of the block that is known here; 0: none.
class VectorClock {
public:
  void clear() {
    if (known)
      std::fill(ticks.begin(), ticks.end(), 0);
    known = false;
  }
  void raise(std::uint32_t lane, std::uint32_t tick) {
    if (ticks.size() <= lane)
      ticks.resize(lane + 1);
    ticks[lane] = std::max(ticks[lane], tick);
    known = true;
  }
  void join(const VectorClock &other) {
    if (!other.known)
      return;
    if (ticks.size() < other.ticks.size())
      ticks.resize(other.ticks.size());
    for (std::size_t i = 0; i < other.ticks.size(); ++i)
      ticks[i] = std::max(ticks[i], other.ticks[i]);
    known = true;
  }
  std::uint32_t at(std::uint32_t lane) const {
    return known && lane < ticks.size() ? ticks[lane] : 0;
  }

private:
  std::vector<std::uint32_t> ticks;
  bool known = false;
};

/// When a lane did something.
struct Stamp {
  std::uint32_t lane = 0, epoch = 0, tick = 0;
  bool valid() const { return epoch != 0; }
};

/// One lane's time.
struct LaneClock {
  std::uint32_t epoch = 1, tick = 1;
  VectorClock seen;
  /// The lane's last fence.proxy.async: writes up to it are visible to the
  /// asynchronous proxy.
  std::uint32_t proxyEpoch = 0, proxyTick = 0;

  void reset() {
    epoch = tick = 1;
    proxyEpoch = proxyTick = 0;
    seen.clear();
  }
  /// What the lane did so far becomes known to whoever acquires `to`.
  void release(std::uint32_t lane, VectorClock &to) {
    to.join(seen);
    to.raise(lane, tick++);
  }
  void acquire(const VectorClock &from) { seen.join(from); }
  /// A barrier of the whole block.
  void startEpoch() {
    ++epoch;
    seen.clear();
  }
  /// Whether `event` happened before what this lane does now.
  bool knows(std::uint32_t self, const Stamp &event) const {
    return event.lane == self || event.epoch < epoch ||
           seen.at(event.lane) >= event.tick;
  }
};

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_CLOCKS_H
