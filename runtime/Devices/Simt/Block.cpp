//===- Block.cpp - one block of threads, running --------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"

#include "runtime/Devices/Simt/Shadow.h"

#include <cstring>

namespace steep::simt {

/// Loop iterations between two looks at the clock.
static constexpr std::int64_t kFuel = 1 << 20;

Block::Block(const Launch &launch, SharedWindow &window, Stacks &stacks)
    : launch(launch), window(window), stacks(stacks) {
  threads = launch.block[0] * launch.block[1] * launch.block[2];
  sharedSize = launch.kernel->staticShared + launch.dynamicShared;
  lanes.resize(threads);
  warps.resize((threads + 31) / 32);
  warpgroups.resize((threads + 127) / 128);
  if (launch.program->options.check)
    shadow = std::make_unique<Shadow>(*this, *launch.global);
}

Block::~Block() = default;

void Block::reset(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  index = (z * launch.grid[1] + y) * launch.grid[0] + x;
  // Not written shared memory reads as NaN.
  std::memset(shared(), 0xff, sharedSize);
  for (NamedBarrier &barrier : barriers)
    barrier = NamedBarrier();
  transactionBarriers.clear();
  liveCount = threads;
  std::fill(warpgroups.begin(), warpgroups.end(), 0);
  vainPolls = 0;
  stopped = false;
  // A block's schedule depends on its place, not on who runs it.
  std::uint64_t seed = launch.program->options.seed;
  std::uint64_t place = seed + index + 1 + (launch.number << 32);
  randomState = seed ? place * 0x9E3779B97F4A7C15ull | 1 : 0;

  const std::uint32_t *size = launch.block;
  for (std::uint32_t i = 0; i < threads; ++i) {
    Lane &lane = lanes[i];
    Context &context = lane.context;
    context =
        Context{{i % size[0], i / size[0] % size[1], i / size[0] / size[1]},
                {size[0], size[1], size[2]},
                {x, y, z},
                {launch.grid[0], launch.grid[1], launch.grid[2]},
                i % 32,
                i / 32,
                shared(),
                kFuel,
                launch.dynamicShared,
                sharedSize};
    lane.block = this;
    lane.index = i;
    lane.state = LaneState::Ready;
    lane.site = nullptr;
    lane.clock.reset();
    lane.openCopies.clear();
    lane.copyGroups.clear();
    lane.stackPointer = stacks.prepare(
        i,
        [](void *argument) {
          auto *lane = static_cast<Lane *>(argument);
          const Launch &launch = lane->block->launch;
          launch.entry(&lane->context, launch.parameters);
          lane->block->finish(*lane);
        },
        &lane);
  }
  for (std::uint32_t w = 0; w < warps.size(); ++w) {
    std::uint32_t count = std::min(32u, threads - w * 32);
    std::uint32_t all = count == 32 ? ~0u : (1u << count) - 1;
    warps[w] = {all, all, all, 0, 0};
  }
  if (shadow)
    shadow->startBlock();
}

bool Block::run(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  reset(x, y, z);
  while (!stopped && schedule())
    ;
  return !stopped;
}

/// One round over all warps; false when all lanes have returned.
bool Block::schedule() {
  bool ran = false, live = false;
  std::uint32_t start = randomState ? random() % warps.size() : 0;
  for (std::uint32_t k = 0; k < warps.size() && !stopped; ++k) {
    Warp &warp = warps[(k + start) % warps.size()];
    if (!warp.ready)
      std::swap(warp.ready, warp.rested);
    if (warp.ready) {
      ran = true;
      resume(lanes[(&warp - warps.data()) * 32 + pick(warp.ready)]);
    }
    live |= warp.live != 0;
  }
  if (!ran && live)
    reportStuck("no thread can go on");
  return live;
}

std::uint64_t Block::random() {
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  randomState ^= randomState << 17;
  return randomState;
}

std::uint32_t Block::pick(std::uint32_t lanesOfWarp) {
  if (randomState)
    for (unsigned k = random() % __builtin_popcount(lanesOfWarp); k; --k)
      lanesOfWarp &= lanesOfWarp - 1;
  return __builtin_ctz(lanesOfWarp);
}

void Block::resume(Lane &lane) {
  ++stats.switches;
  running = &lane;
  steepSimtSwitch(&scheduler, lane.stackPointer);
}

void Block::switchTo(Lane &from, Lane &to) {
  ++stats.switches;
  running = &to;
  steepSimtSwitch(&from.stackPointer, to.stackPointer);
}

/// Continues another lane of the warp or the scheduler.
void Block::leave(Lane &lane) {
  Warp &warp = warps[lane.context.warp];
  if (warp.ready && !stopped) {
    switchTo(lane, warpLanes(lane)[pick(warp.ready)]);
    return;
  }
  ++stats.switches;
  steepSimtSwitch(&lane.stackPointer, scheduler);
}

void Block::wait(Lane &lane, LaneState state) {
  lane.state = state;
  warps[lane.context.warp].ready &= ~(1u << lane.context.lane);
  leave(lane);
}

void Block::wake(Lane &lane) {
  lane.state = LaneState::Ready;
  warps[lane.context.warp].ready |= 1u << lane.context.lane;
}

void Block::rest(Lane &lane) {
  Warp &warp = warps[lane.context.warp];
  warp.ready &= ~(1u << lane.context.lane);
  warp.rested |= 1u << lane.context.lane;
  leave(lane);
}

void Block::restInVain(Lane &lane) {
  // Every lane asks a few times before the others have had their turn.
  if (++vainPolls > 64ull * threads) {
    reportStuck("all threads that run ask for something that nobody does");
    return;
  }
  rest(lane);
}

void Block::finish(Lane &lane) {
  Warp &warp = warps[lane.context.warp];
  std::uint32_t bit = 1u << lane.context.lane;
  lane.state = LaneState::Done;
  warp.live &= ~bit;
  warp.ready &= ~bit;
  --liveCount;
  vainPolls = 0;
  if (!stopped)
    completeBarriers(*this);
  leave(lane);
  __builtin_unreachable();
}

void Block::lookUp(Lane &lane, const Site &site) {
  lane.site = &site;
  lane.context.fuel = kFuel;
  vainPolls = 0;
  if (std::chrono::steady_clock::now() > launch.deadline)
    reportStuck("the launch has run out of its time (--timeout or "
                "STEEP_SIMT_TIMEOUT_MS)");
  rest(lane);
}

void Block::perform(Lane &lane, const Site &site, std::uint64_t *operands,
                    std::uint64_t *results) {
  const Operation &operation = *site.operation;
  lane.site = &site;
  lane.operands = operands;
  lane.results = results;
  if (!operation.polls)
    vainPolls = 0;
  switch (operation.gather) {
  case Gather::Lane:
    operation.run(*this, lane, 1u << lane.context.lane);
    break;
  case Gather::Warp:
    arriveAtWarp(lane);
    break;
  case Gather::Warpgroup:
    arriveAtWarpgroup(lane);
    break;
  }
  // Here nothing of this lane's stack is needed any more.
  if (stopped)
    leave(lane);
}

/// An operation without `.aligned` may be reached through copies of the code.
static bool agrees(const Site &a, const Site &b) {
  return &a == &b || (!a.operation->aligned && a.operation == b.operation &&
                      a.immediate == b.immediate);
}

bool Block::sameInstruction(Lane *first, std::uint32_t members,
                            const Lane &lane) {
  for (std::uint32_t rest = members; rest; rest &= rest - 1) {
    const Lane &other = first[__builtin_ctz(rest)];
    if (other.members == lane.members && agrees(*other.site, *lane.site))
      continue;
    report(lane, *lane.site,
           "divergent warp operation: " + describe(other) +
               " of the same warp " +
               (other.site == lane.site ? "names other members"
                                        : "is " + placeOf(*other.site)),
           true);
    return false;
  }
  return true;
}

void Block::arriveAtWarp(Lane &lane) {
  const Operation &operation = *lane.site->operation;
  Warp &warp = warps[lane.context.warp];
  std::uint32_t bit = 1u << lane.context.lane;
  std::uint32_t members =
      operation.maskOperand < 0
          ? ~0u
          : static_cast<std::uint32_t>(lane.operands[operation.maskOperand]);
  lane.members = members;
  if (!(members & bit)) {
    report(lane, *lane.site,
           "the thread is not in its own member mask " + hex(members), true);
    return;
  }
  if (members & ~warp.live) {
    report(lane, *lane.site,
           "the member mask " + hex(members) +
               " names threads that have returned or do not exist (live: " +
               hex(warp.live) + ")",
           true);
    return;
  }
  warp.waiting |= bit;
  if ((warp.waiting & members) != members)
    return wait(lane, LaneState::AtWarp);

  Lane *first = warpLanes(lane);
  if (!sameInstruction(first, members, lane))
    return;
  ++stats.collectives;
  operation.run(*this, lane, members);
  warp.waiting &= ~members;
  for (std::uint32_t rest = members; rest; rest &= rest - 1)
    wake(first[__builtin_ctz(rest)]);
}

void Block::arriveAtWarpgroup(Lane &lane) {
  std::uint32_t group = lane.index / 128;
  if (threads < group * 128 + 128) {
    report(lane, *lane.site, "a warpgroup needs 128 threads", true);
    return;
  }
  if (++warpgroups[group] < 128)
    return wait(lane, LaneState::AtWarpgroup);
  warpgroups[group] = 0;
  Lane *first = &lanes[group * 128];
  for (unsigned i = 0; i < 128; ++i)
    if (first[i].site != lane.site) {
      report(lane, *lane.site,
             "divergent warpgroup operation: " + describe(first[i]) + " is " +
                 placeOf(*first[i].site),
             true);
      return;
    }
  ++stats.collectives;
  lane.site->operation->run(*this, lane, ~0u);
  for (unsigned i = 0; i < 128; ++i)
    wake(first[i]);
}

static std::string triple(const std::uint32_t (&v)[3]) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," +
         std::to_string(v[2]) + ")";
}

std::string Block::describe(const Lane &lane) const {
  return "thread " + triple(lane.context.tid);
}

void Block::report(const Lane &lane, const Site &site, const std::string &text,
                   bool fatal) {
  if (fatal)
    stopped = true;
  std::string place = site.location.empty() ? "" : ", " + site.location;
  launch.reports->add("kernel '" + launch.kernel->name + "', block " +
                      triple(lane.context.ctaid) + ", " + describe(lane) +
                      place + ": " + text +
                      (site.text.empty() ? "" : "; in: " + site.text));
}

static const char *stateName(LaneState state) {
  switch (state) {
  case LaneState::Ready:
    return "running, last seen";
  case LaneState::AtWarp:
    return "waiting for their warp";
  case LaneState::AtWarpgroup:
    return "waiting for their warpgroup";
  case LaneState::AtBarrier:
    return "waiting at a barrier";
  case LaneState::AtTransaction:
    return "waiting for an mbarrier";
  case LaneState::Done:
    return "returned";
  }
  return "";
}

void Block::reportStuck(const char *what) {
  stopped = true;
  struct Party {
    std::uint32_t count = 0, first = 0, last = 0;
  };
  std::map<std::pair<LaneState, const Site *>, Party> parties;
  for (const Lane &lane : lanes) {
    const Site *site = lane.state == LaneState::Done ? nullptr : lane.site;
    Party &party = parties[{lane.state, site}];
    if (party.count++ == 0)
      party.first = lane.index;
    party.last = lane.index;
  }
  std::string text = "kernel '" + launch.kernel->name + "', block " +
                     triple(lanes[0].context.ctaid) + ": " + what;
  for (const auto &[key, party] : parties) {
    text += "; " + std::to_string(party.count) + " of " +
            std::to_string(threads) + " threads (" +
            std::to_string(party.first) + " to " + std::to_string(party.last) +
            ") " + stateName(key.first);
    if (key.second)
      text += " " + placeOf(*key.second);
  }
  launch.reports->add(text);
}

void Block::faulted(const void *address) {
  Lane &lane = *running;
  Site nowhere;
  std::string what = stacks.isGuard(address)
                         ? "the thread's stack is full (64 KiB of local memory)"
                         : "memory fault at address " +
                               hex(reinterpret_cast<std::uintptr_t>(address)) +
                               ", outside of every allocation";
  if (!shadow)
    what += "; --check (or STEEP_SIMT_CHECK=1) names the instruction";
  report(lane, nowhere, what, true);
  void *unused;
  steepSimtSwitch(&unused, scheduler);
  __builtin_unreachable();
}

} // namespace steep::simt
