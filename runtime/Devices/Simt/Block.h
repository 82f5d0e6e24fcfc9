//===- Block.h - one block of threads, running ------------------*- C++ -*-===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes of a block are fibers of one host thread. A lane runs until it
// must wait; then the next ready lane of its warp goes on, and if there is
// none, the next warp with one. Whoever completes a collective performs it
// for all.
//
//===----------------------------------------------------------------------===//
#ifndef STEEP_RUNTIME_DEVICES_SIMT_BLOCK_H
#define STEEP_RUNTIME_DEVICES_SIMT_BLOCK_H

#include "runtime/Devices/Simt/Clocks.h"
#include "runtime/Devices/Simt/Fibers.h"
#include "runtime/Devices/Simt/Launch.h"
#include "runtime/Devices/Simt/Memory.h"
#include "runtime/Devices/Simt/Operations.h"
#include "runtime/Devices/Simt/Program.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace steep::simt {

class Shadow;

/// What code sees of its lane. The retargeted code reads the fields by their
/// offsets.
struct Context {
  std::uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
  std::uint32_t lane, warp;
  /// The block's shared memory.
  char *shared;
  /// Loop iterations until the lane looks whether it should stop.
  std::int64_t fuel;
  std::uint32_t dynamicShared, totalShared;
};

enum class LaneState : std::uint8_t {
  Ready,
  AtWarp,
  AtWarpgroup,
  AtBarrier,
  AtTransaction,
  Done
};

/// A cp.async that has not landed.
struct AsyncCopy {
  char *to;
  const char *from;
  std::uint32_t bytes, copied;
  const Site *site;
};

struct Lane {
  Context context; // First: code passes its address.
  Block *block;
  void *stackPointer;
  std::uint32_t index;
  LaneState state;
  /// The operation the lane is at, its operands and results.
  const Site *site;
  std::uint64_t *operands, *results;
  std::uint32_t members;
  std::uint32_t barrier;
  LaneClock clock;
  std::vector<AsyncCopy> openCopies;
  std::deque<std::vector<AsyncCopy>> copyGroups;
};

struct Warp {
  std::uint32_t present; ///< Lanes that the block has.
  std::uint32_t live;    ///< Lanes that have not returned.
  std::uint32_t ready;   ///< Lanes that could run.
  std::uint32_t rested;  ///< Lanes that let others go first.
  std::uint32_t waiting; ///< Lanes that wait in a warp operation.
};

/// A named barrier (bar.sync id).
struct NamedBarrier {
  std::uint32_t arrived = 0, expected = 0, votes = 0, voters = 0;
  /// Nobody named a count: threads that have returned are not waited for.
  bool all = true;
  VectorClock clock;
};

/// An mbarrier, by its address in shared memory.
struct TransactionBarrier {
  std::int64_t count = 0, pending = 0, bytes = 0;
  std::uint64_t phase = 0;
  VectorClock arriving, completed;
};

struct BlockStats {
  std::uint64_t switches = 0, collectives = 0, accesses = 0;
};

class Block {
public:
  Block(const Launch &launch, SharedWindow &window, Stacks &stacks);
  ~Block();

  /// Runs one block of the grid to its end. False if it stopped early; the
  /// launch has the report.
  bool run(std::uint32_t x, std::uint32_t y, std::uint32_t z);

  // For operations.

  /// Takes the lane off the ready ones and runs others until wake() puts it
  /// back.
  void wait(Lane &lane, LaneState state);
  void wake(Lane &lane);
  /// Lets all other ready lanes go first.
  void rest(Lane &lane);
  /// The same for a lane that asked in vain; a block in which nothing else
  /// happens any more is stopped.
  void restInVain(Lane &lane);
  /// Continues another lane of the warp or the scheduler; comes back when
  /// the lane is resumed, and never if the block has stopped.
  void leave(Lane &lane);
  /// The lane returns; does not come back.
  [[noreturn]] void finish(Lane &lane);
  /// Notes a defect; `fatal` if the block cannot go on.
  void report(const Lane &lane, const Site &site, const std::string &text,
              bool fatal);
  /// A defect of a group of lanes that need not be told twice.
  void stop() { stopped = true; }
  bool isStopped() const { return stopped; }

  void perform(Lane &lane, const Site &site, std::uint64_t *operands,
               std::uint64_t *results);
  /// The slow end of a loop's count (Context::fuel).
  void lookUp(Lane &lane, const Site &site);
  /// Where the running lane continues after a memory fault: a stack pointer
  /// that belongs to the scheduler.
  void *faultStack() const { return scheduler; }
  /// Called there.
  [[noreturn]] void faulted(const void *address);

  Lane &lane(std::uint32_t index) { return lanes[index]; }
  Lane *warpLanes(const Lane &lane) { return &lanes[lane.context.warp * 32]; }
  std::uint32_t threadCount() const { return threads; }
  /// Threads that have not returned.
  std::uint32_t liveThreads() const { return liveCount; }
  std::uint32_t linearIndex() const { return index; }
  char *shared() const { return window.begin(); }
  bool isShared(const void *p) const { return window.contains(p); }
  bool isStack(const void *p) const { return stacks.contains(p); }
  std::uint32_t sharedBytes() const { return sharedSize; }
  std::string describe(const Lane &lane) const;

  const Launch &launch;
  std::vector<Lane> lanes;
  std::vector<Warp> warps;
  std::array<NamedBarrier, 16> barriers;
  std::map<const char *, TransactionBarrier> transactionBarriers;
  /// Null unless the program is checked.
  std::unique_ptr<Shadow> shadow;
  BlockStats stats;
  Lane *running = nullptr;

private:
  void reset(std::uint32_t x, std::uint32_t y, std::uint32_t z);
  bool schedule();
  std::uint32_t pick(std::uint32_t lanesOfWarp);
  std::uint64_t random();
  void resume(Lane &lane);
  void switchTo(Lane &from, Lane &to);
  void arriveAtWarp(Lane &lane);
  void arriveAtWarpgroup(Lane &lane);
  bool sameInstruction(Lane *first, std::uint32_t members, const Lane &lane);
  void reportStuck(const char *what);

  SharedWindow &window;
  Stacks &stacks;
  std::uint32_t threads, sharedSize, liveCount = 0, index = 0;
  std::vector<std::uint32_t> warpgroups; ///< Arrived lanes of each.
  void *scheduler = nullptr;
  std::uint64_t randomState = 0;
  /// Questions in a row whose answer was "not yet".
  std::uint64_t vainPolls = 0;
  bool stopped = false;
};

/// Completes the copies of a lane, as a wait for all of them does.
void landAllCopies(Block &block, Lane &lane);

/// A thread has returned: barriers that waited for it only are complete.
void completeBarriers(Block &block);

} // namespace steep::simt

#endif // STEEP_RUNTIME_DEVICES_SIMT_BLOCK_H
