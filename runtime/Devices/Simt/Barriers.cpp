//===- Barriers.cpp - barriers of a block, and fences ---------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/Shadow.h"

#include <algorithm>

namespace steep::simt {

namespace {
enum class Vote : std::uint32_t { None, Count, And, Or };

/// What the intrinsic's name says, packed into the immediate.
struct BarrierKind {
  bool counted, waits;
  Vote vote;
  std::uint32_t pack() const {
    return counted | waits << 1 | static_cast<std::uint32_t>(vote) << 2;
  }
  static BarrierKind unpack(std::uint32_t immediate) {
    return {(immediate & 1) != 0, (immediate & 2) != 0,
            static_cast<Vote>(immediate >> 2)};
  }
};
} // namespace

static std::uint64_t result(Vote vote, const NamedBarrier &barrier) {
  switch (vote) {
  case Vote::None:
    return 0;
  case Vote::Count:
    return barrier.votes;
  case Vote::And:
    return barrier.votes == barrier.voters;
  case Vote::Or:
    return barrier.votes != 0;
  }
  return 0;
}

/// The last thread has come: all that wait go on. Threads that have returned
/// count as if they had come before.
static void complete(Block &block, Lane &last, NamedBarrier &barrier,
                     bool lastWaits) {
  bool whole = barrier.expected == block.threadCount();
  const Lane *first = nullptr; // Of the warp.
  for (Lane &lane : block.lanes) {
    bool waited =
        lane.state == LaneState::AtBarrier && lane.barrier == last.barrier;
    if (!waited && &lane != &last)
      continue;
    // Barriers of other warps may be other instructions, not those of lanes
    // of one warp.
    if (!first || first->context.warp != lane.context.warp)
      first = &lane;
    if (lane.site != first->site && lane.site->operation->aligned &&
        block.launch.reports->isNew("barrier", lane.site, first->site))
      block.report(lane, *lane.site,
                   "divergent barrier: " + block.describe(*first) +
                       " of the same warp is " + placeOf(*first->site),
                   false);
    if (!waited && !lastWaits)
      continue;
    if (lane.site->results)
      lane.results[0] =
          result(BarrierKind::unpack(lane.site->immediate).vote, barrier);
    if (whole)
      lane.clock.startEpoch();
    else if (block.shadow)
      lane.clock.acquire(barrier.clock);
    if (waited)
      block.wake(lane);
  }
  barrier = NamedBarrier();
}

void completeBarriers(Block &block) {
  for (std::uint32_t id = 0; id < block.barriers.size(); ++id) {
    NamedBarrier &barrier = block.barriers[id];
    if (!barrier.arrived || !barrier.all ||
        barrier.arrived != block.liveThreads())
      continue;
    auto waits = [&](const Lane &lane) {
      return lane.state == LaneState::AtBarrier && lane.barrier == id;
    };
    auto lane = std::find_if(block.lanes.begin(), block.lanes.end(), waits);
    complete(block, *lane, barrier, true);
  }
}

/// (id [, count] [, predicate])
static void barrier(Block &block, Lane &lane, std::uint32_t) {
  BarrierKind kind = BarrierKind::unpack(lane.site->immediate);
  auto id = static_cast<std::uint32_t>(lane.operands[0]);
  std::uint32_t count = kind.counted
                            ? static_cast<std::uint32_t>(lane.operands[1])
                            : block.threadCount();
  if (id >= block.barriers.size())
    return block.report(
        lane, *lane.site,
        "barrier " + std::to_string(id) + " does not exist (0 to 15)", true);
  if (kind.counted && (count == 0 || count % 32))
    return block.report(lane, *lane.site,
                        "a barrier of " + std::to_string(count) +
                            " threads: expected a multiple of 32",
                        true);
  NamedBarrier &barrier = block.barriers[id];
  if (barrier.arrived && barrier.expected != count)
    return block.report(lane, *lane.site,
                        "barrier " + std::to_string(id) + " expects " +
                            std::to_string(barrier.expected) +
                            " threads, and this one says " +
                            std::to_string(count),
                        true);
  barrier.expected = count;
  barrier.all &= !kind.counted;
  ++barrier.arrived;
  lane.barrier = id;
  if (kind.vote != Vote::None) {
    ++barrier.voters;
    barrier.votes += lane.operands[kind.counted ? 2 : 1] & 1;
  }
  if (block.shadow && count != block.threadCount())
    lane.clock.release(lane.index, barrier.clock);
  if (barrier.arrived == (barrier.all ? block.liveThreads() : count))
    complete(block, lane, barrier, kind.waits);
  else if (kind.waits)
    block.wait(lane, LaneState::AtBarrier);
}

/// Ordering between threads comes from barriers; x86 keeps the order that
/// fences ask for, and missing ones show as races.
static void fence(Block &block, Lane &lane, std::uint32_t) {
  if (block.shadow)
    block.shadow->fence(lane);
}

static void proxyFence(Block &, Lane &lane, std::uint32_t) {
  lane.clock.proxyEpoch = lane.clock.epoch;
  lane.clock.proxyTick = lane.clock.tick++;
}

OperationTable barrierOperations() {
  static const Operation aligned = {"barrier.aligned", Gather::Lane, true, -1,
                                    barrier};
  static const Operation loose = {"barrier", Gather::Lane, false, -1, barrier};
  static const Operation memory = {"fence", Gather::Lane, false, -1, fence};
  static const Operation proxy = {"fence.proxy", Gather::Lane, false, -1,
                                  proxyFence};
  std::uint32_t all = BarrierKind{false, true, Vote::None}.pack();
  std::uint32_t counted = BarrierKind{true, true, Vote::None}.pack();
  std::uint32_t arrive = BarrierKind{true, false, Vote::None}.pack();
  auto voting = [](bool counted, Vote vote) {
    return BarrierKind{counted, true, vote}.pack();
  };
  return {
      {"barrier.cta.sync.aligned.all", &aligned, all},
      {"barrier.cta.sync.all", &loose, all},
      {"barrier.cta.sync.aligned.count", &aligned, counted},
      {"barrier.cta.sync.count", &loose, counted},
      {"barrier.cta.arrive.aligned.count", &aligned, arrive},
      {"barrier.cta.arrive.count", &loose, arrive},
      {"barrier.cta.red.popc.aligned.all", &aligned,
       voting(false, Vote::Count)},
      {"barrier.cta.red.and.aligned.all", &aligned, voting(false, Vote::And)},
      {"barrier.cta.red.or.aligned.all", &aligned, voting(false, Vote::Or)},
      {"barrier.cta.red.popc.all", &loose, voting(false, Vote::Count)},
      {"barrier.cta.red.and.all", &loose, voting(false, Vote::And)},
      {"barrier.cta.red.or.all", &loose, voting(false, Vote::Or)},
      {"barrier.cta.red.popc.aligned.count", &aligned,
       voting(true, Vote::Count)},
      {"barrier.cta.red.and.aligned.count", &aligned, voting(true, Vote::And)},
      {"barrier.cta.red.or.aligned.count", &aligned, voting(true, Vote::Or)},
      {"barrier.cta.red.popc.count", &loose, voting(true, Vote::Count)},
      {"barrier.cta.red.and.count", &loose, voting(true, Vote::And)},
      {"barrier.cta.red.or.count", &loose, voting(true, Vote::Or)},
      {"membar.cta", &memory, 0},
      {"membar.gl", &memory, 0},
      {"membar.sys", &memory, 0},
      {"fence.sc.cluster", &memory, 0},
      {"fence.mbarrier_init.release.cluster", &memory, 0},
      {"fence.proxy.async", &proxy, 0},
      {"fence.proxy.async.shared_cta", &proxy, 0},
      {"fence.proxy.async.shared_cluster", &proxy, 0},
      // Global memory has no asynchronous reader here.
      {"fence.proxy.async.global", &memory, 0},
  };
}

} // namespace steep::simt
