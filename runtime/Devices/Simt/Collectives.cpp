//===- Collectives.cpp - shuffles, votes, matches, reductions -------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semantics: PTX ISA, "Parallel Synchronization and Communication
// Instructions". A lane outside of the mask that would be read is undefined
// there and a defect here.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"

#include <algorithm>
#include <cstring>

namespace steep::simt {

template <typename Function>
static void forEach(std::uint32_t members, Function function) {
  for (; members; members &= members - 1)
    function(static_cast<unsigned>(__builtin_ctz(members)));
}

//===----------------------------------------------------------------------===//
// shfl.sync (mask, value, b, c)
//===----------------------------------------------------------------------===//

namespace {
enum class Shuffle { Butterfly, Down, Up, Index };

struct Source {
  unsigned lane;
  bool inRange;
};
} // namespace

/// The lane that `lane` reads; `control` packs the segment mask and the clamp.
static Source shuffleSource(Shuffle mode, unsigned lane, std::uint32_t b,
                            std::uint32_t control) {
  std::uint32_t segment = control >> 8 & 31, clamp = control & 31;
  int last = (lane & segment) | (clamp & ~segment);
  int source = lane, offset = b & 31;
  bool inRange = false;
  switch (mode) {
  case Shuffle::Butterfly:
    source = lane ^ offset;
    inRange = source <= last;
    break;
  case Shuffle::Down:
    source = static_cast<int>(lane) + offset;
    inRange = source <= last;
    break;
  case Shuffle::Up:
    source = static_cast<int>(lane) - offset;
    inRange = source >= last;
    break;
  case Shuffle::Index:
    source = (lane & segment) | (offset & ~segment);
    inRange = source <= last;
    break;
  }
  return {inRange ? static_cast<unsigned>(source) : lane, inRange};
}

template <Shuffle mode>
static void shuffle(Block &block, Lane &lane, std::uint32_t members) {
  Lane *warp = block.warpLanes(lane);
  std::uint64_t values[32];
  forEach(members, [&](unsigned l) { values[l] = warp[l].operands[1]; });
  forEach(members, [&](unsigned l) {
    Lane &reader = warp[l];
    Source source =
        shuffleSource(mode, l, static_cast<std::uint32_t>(reader.operands[2]),
                      static_cast<std::uint32_t>(reader.operands[3]));
    if (!(members >> source.lane & 1)) {
      block.report(reader, *lane.site,
                   "the shuffle reads lane " + std::to_string(source.lane) +
                       ", which is not in the member mask " + hex(members),
                   true);
      source.lane = l;
    }
    reader.results[0] = values[source.lane];
    if (lane.site->results == 2)
      reader.results[1] = source.inRange;
  });
}

//===----------------------------------------------------------------------===//
// vote.sync and match.sync (mask, value), redux.sync (value, mask)
//===----------------------------------------------------------------------===//

namespace {
enum class Vote { All, Any, Uniform, Ballot };
} // namespace

template <Vote mode>
static void vote(Block &block, Lane &lane, std::uint32_t members) {
  Lane *warp = block.warpLanes(lane);
  std::uint32_t yes = 0;
  forEach(members, [&](unsigned l) { yes |= (warp[l].operands[1] & 1) << l; });
  std::uint64_t result = 0;
  switch (mode) {
  case Vote::All:
    result = yes == members;
    break;
  case Vote::Any:
    result = yes != 0;
    break;
  case Vote::Uniform:
    result = yes == 0 || yes == members;
    break;
  case Vote::Ballot:
    result = yes;
    break;
  }
  forEach(members, [&](unsigned l) { warp[l].results[0] = result; });
}

static void matchAny(Block &block, Lane &lane, std::uint32_t members) {
  Lane *warp = block.warpLanes(lane);
  forEach(members, [&](unsigned l) {
    std::uint32_t equal = 0;
    forEach(members, [&](unsigned other) {
      if (warp[other].operands[1] == warp[l].operands[1])
        equal |= 1u << other;
    });
    warp[l].results[0] = equal;
  });
}

static void matchAll(Block &block, Lane &lane, std::uint32_t members) {
  Lane *warp = block.warpLanes(lane);
  bool all = true;
  forEach(members,
          [&](unsigned l) { all &= warp[l].operands[1] == lane.operands[1]; });
  forEach(members, [&](unsigned l) {
    warp[l].results[0] = all ? members : 0;
    warp[l].results[1] = all;
  });
}

template <std::uint32_t (*combine)(std::uint32_t, std::uint32_t)>
static void reduce(Block &block, Lane &lane, std::uint32_t members) {
  Lane *warp = block.warpLanes(lane);
  bool first = true;
  std::uint32_t result = 0;
  forEach(members, [&](unsigned l) {
    auto value = static_cast<std::uint32_t>(warp[l].operands[0]);
    result = first ? value : combine(result, value);
    first = false;
  });
  forEach(members, [&](unsigned l) { warp[l].results[0] = result; });
}

using Word = std::uint32_t;
static Word sum(Word a, Word b) { return a + b; }
static Word unsignedMin(Word a, Word b) { return std::min(a, b); }
static Word unsignedMax(Word a, Word b) { return std::max(a, b); }
static Word signedMin(Word a, Word b) {
  return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) ? a : b;
}
static Word signedMax(Word a, Word b) {
  return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b;
}
static Word bitAnd(Word a, Word b) { return a & b; }
static Word bitOr(Word a, Word b) { return a | b; }
static Word bitXor(Word a, Word b) { return a ^ b; }

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

/// elect.sync: which lane is not said there, only that it is always the same.
static void elect(Block &block, Lane &lane, std::uint32_t members) {
  Lane *warp = block.warpLanes(lane);
  unsigned leader = __builtin_ctz(members);
  forEach(members, [&](unsigned l) {
    warp[l].results[0] = leader;
    warp[l].results[1] = l == leader;
  });
}

/// bar.warp.sync orders the memory accesses of its members; no other warp
/// operation does.
static void warpBarrier(Block &block, Lane &lane, std::uint32_t members) {
  if (!block.shadow)
    return;
  Lane *warp = block.warpLanes(lane);
  VectorClock all;
  forEach(members,
          [&](unsigned l) { warp[l].clock.release(warp[l].index, all); });
  forEach(members, [&](unsigned l) { warp[l].clock.acquire(all); });
}

/// Any set of lanes that holds the asking one is a right answer.
static void activeMask(Block &, Lane &lane, std::uint32_t members) {
  lane.results[0] = members;
}

static void isShared(Block &block, Lane &lane, std::uint32_t) {
  lane.results[0] =
      block.isShared(reinterpret_cast<const void *>(lane.operands[0]));
}

static void isGlobal(Block &block, Lane &lane, std::uint32_t) {
  lane.results[0] =
      !block.isShared(reinterpret_cast<const void *>(lane.operands[0]));
}

static void sleep(Block &block, Lane &lane, std::uint32_t) { block.rest(lane); }

static void exitLane(Block &block, Lane &lane, std::uint32_t) {
  block.finish(lane);
}

static void trap(Block &block, Lane &lane, std::uint32_t) {
  block.report(lane, *lane.site, "the kernel traps", /*fatal=*/true);
}

OperationTable collectiveOperations() {
#define WARP(NAME, MASK, FUNCTION)                                             \
  static const Operation NAME = {#NAME, Gather::Warp, false, MASK, FUNCTION}
#define LANE(NAME, FUNCTION)                                                   \
  static const Operation NAME = {#NAME, Gather::Lane, false, -1, FUNCTION}
  WARP(butterfly, 0, shuffle<Shuffle::Butterfly>);
  WARP(down, 0, shuffle<Shuffle::Down>);
  WARP(up, 0, shuffle<Shuffle::Up>);
  WARP(index, 0, shuffle<Shuffle::Index>);
  WARP(voteAll, 0, vote<Vote::All>);
  WARP(voteAny, 0, vote<Vote::Any>);
  WARP(voteUniform, 0, vote<Vote::Uniform>);
  WARP(ballot, 0, vote<Vote::Ballot>);
  WARP(anyMatch, 0, matchAny);
  WARP(allMatch, 0, matchAll);
  WARP(reduceAdd, 1, reduce<sum>);
  WARP(reduceUmin, 1, reduce<unsignedMin>);
  WARP(reduceUmax, 1, reduce<unsignedMax>);
  WARP(reduceMin, 1, reduce<signedMin>);
  WARP(reduceMax, 1, reduce<signedMax>);
  WARP(reduceAnd, 1, reduce<bitAnd>);
  WARP(reduceOr, 1, reduce<bitOr>);
  WARP(reduceXor, 1, reduce<bitXor>);
  WARP(electLane, 0, elect);
  WARP(syncWarp, 0, warpBarrier);
  LANE(active, activeMask);
  LANE(inShared, isShared);
  LANE(inGlobal, isGlobal);
  LANE(nanosleep, sleep);
  LANE(exit, exitLane);
  LANE(stop, trap);
#undef WARP
#undef LANE

  return {{"shfl.sync.bfly.i32", &butterfly, 0},
          {"shfl.sync.bfly.f32", &butterfly, 0},
          {"shfl.sync.bfly.i32p", &butterfly, 0},
          {"shfl.sync.bfly.f32p", &butterfly, 0},
          {"shfl.sync.down.i32", &down, 0},
          {"shfl.sync.down.f32", &down, 0},
          {"shfl.sync.down.i32p", &down, 0},
          {"shfl.sync.down.f32p", &down, 0},
          {"shfl.sync.up.i32", &up, 0},
          {"shfl.sync.up.f32", &up, 0},
          {"shfl.sync.up.i32p", &up, 0},
          {"shfl.sync.up.f32p", &up, 0},
          {"shfl.sync.idx.i32", &index, 0},
          {"shfl.sync.idx.f32", &index, 0},
          {"shfl.sync.idx.i32p", &index, 0},
          {"shfl.sync.idx.f32p", &index, 0},
          {"vote.all.sync", &voteAll, 0},
          {"vote.any.sync", &voteAny, 0},
          {"vote.uni.sync", &voteUniform, 0},
          {"vote.ballot.sync", &ballot, 0},
          {"match.any.sync.i32", &anyMatch, 0},
          {"match.any.sync.i64", &anyMatch, 0},
          {"match.all.sync.i32p", &allMatch, 0},
          {"match.all.sync.i64p", &allMatch, 0},
          {"redux.sync.add", &reduceAdd, 0},
          {"redux.sync.umin", &reduceUmin, 0},
          {"redux.sync.umax", &reduceUmax, 0},
          {"redux.sync.min", &reduceMin, 0},
          {"redux.sync.max", &reduceMax, 0},
          {"redux.sync.and", &reduceAnd, 0},
          {"redux.sync.or", &reduceOr, 0},
          {"redux.sync.xor", &reduceXor, 0},
          {"elect.sync", &electLane, 0},
          {"bar.warp.sync", &syncWarp, 0},
          {"activemask", &active, 0},
          {"isspacep.shared", &inShared, 0},
          {"isspacep.shared.cluster", &inShared, 0},
          {"isspacep.global", &inGlobal, 0},
          {"nanosleep", &nanosleep, 0},
          {"exit", &exit, 0},
          {"trap", &stop, 0}};
}

} // namespace steep::simt
