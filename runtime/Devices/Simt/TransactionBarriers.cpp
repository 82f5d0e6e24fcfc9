//===- TransactionBarriers.cpp - mbarriers --------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An mbarrier's state is kept beside shared memory, under its address; its
// phase completes when no arrival and no byte is pending. Tokens are phase
// numbers.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"

namespace steep::simt {

static const char *addressOf(const Lane &lane) {
  return reinterpret_cast<const char *>(lane.operands[0]);
}

/// Null, with a report, where there is none.
static TransactionBarrier *find(Block &block, Lane &lane) {
  auto it = block.transactionBarriers.find(addressOf(lane));
  if (it != block.transactionBarriers.end())
    return &it->second;
  block.report(lane, *lane.site,
               "there is no initialised mbarrier at address " +
                   hex(lane.operands[0]),
               true);
  return nullptr;
}

static bool hasPassed(const TransactionBarrier &barrier, std::uint64_t parity) {
  // wait.parity P waits for the phase of that parity to complete: it is over
  // when the current phase has the other parity.
  return (barrier.phase & 1) != (parity & 1);
}

static void completeIfDone(Block &block, const char *address,
                           TransactionBarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.completed.join(barrier.arriving);
  barrier.arriving.clear();
  for (Lane &lane : block.lanes)
    if (lane.state == LaneState::AtTransaction && addressOf(lane) == address &&
        hasPassed(barrier, lane.operands[1])) {
      lane.clock.acquire(barrier.completed);
      block.wake(lane);
    }
}

static void initialise(Block &block, Lane &lane, std::uint32_t) {
  const char *address = addressOf(lane);
  auto count = static_cast<std::int64_t>(lane.operands[1] & 0xffffffff);
  if (!block.isShared(address) || lane.operands[0] % 8)
    return block.report(lane, *lane.site,
                        "an mbarrier is 8 aligned bytes of shared memory",
                        true);
  if (count < 1 || count >= 1 << 20)
    return block.report(lane, *lane.site,
                        "an mbarrier of " + std::to_string(count) +
                            " arrivals (1 to 1048575)",
                        true);
  TransactionBarrier barrier;
  barrier.count = barrier.pending = count;
  // Those who use it must have heard of its initialisation.
  if (block.shadow)
    lane.clock.release(lane.index, barrier.completed);
  block.transactionBarriers[address] = std::move(barrier);
}

static void invalidate(Block &block, Lane &lane, std::uint32_t) {
  if (find(block, lane))
    block.transactionBarriers.erase(addressOf(lane));
}

namespace {
/// The second operand of an arrival.
enum Arrival : std::uint32_t { One, WithBytes, WithCount };
} // namespace

static void arrive(Block &block, Lane &lane, std::uint32_t) {
  TransactionBarrier *barrier = find(block, lane);
  if (!barrier)
    return;
  std::int64_t count = 1;
  if (lane.site->immediate == WithCount)
    count = lane.operands[1] & 0xffffffff;
  if (barrier->pending < count)
    return block.report(lane, *lane.site,
                        "more arrivals than the mbarrier expects", true);
  if (lane.site->immediate == WithBytes)
    barrier->bytes += lane.operands[1] & 0xffffffff;
  if (lane.site->results)
    lane.results[0] = barrier->phase;
  if (block.shadow)
    lane.clock.release(lane.index, barrier->arriving);
  barrier->pending -= count;
  completeIfDone(block, addressOf(lane), *barrier);
}

static void expectBytes(Block &block, Lane &lane, std::uint32_t) {
  if (TransactionBarrier *barrier = find(block, lane))
    barrier->bytes += lane.operands[1] & 0xffffffff;
}

static void completeBytes(Block &block, Lane &lane, std::uint32_t) {
  TransactionBarrier *barrier = find(block, lane);
  if (!barrier)
    return;
  barrier->bytes -= lane.operands[1] & 0xffffffff;
  completeIfDone(block, addressOf(lane), *barrier);
}

/// (address, token) or, with the immediate, (address, parity).
static void testWait(Block &block, Lane &lane, std::uint32_t) {
  TransactionBarrier *barrier = find(block, lane);
  if (!barrier)
    return;
  bool passed = lane.site->immediate ? hasPassed(*barrier, lane.operands[1])
                                     : barrier->phase != lane.operands[1];
  lane.results[0] = passed;
  if (passed)
    lane.clock.acquire(barrier->completed);
  else
    block.restInVain(lane);
}

/// The loop around try_wait.parity that comes as one piece of assembly.
static void waitParity(Block &block, Lane &lane, std::uint32_t) {
  TransactionBarrier *barrier = find(block, lane);
  if (!barrier)
    return;
  if (hasPassed(*barrier, lane.operands[1]))
    lane.clock.acquire(barrier->completed);
  else
    block.wait(lane, LaneState::AtTransaction);
}

/// cp.async.mbarrier.arrive: an arrival once the lane's copies have landed.
/// They land now; who reads without waiting for the mbarrier races with them.
static void arriveAfterCopies(Block &block, Lane &lane, std::uint32_t) {
  TransactionBarrier *barrier = find(block, lane);
  if (!barrier)
    return;
  landAllCopies(block, lane);
  if (!lane.site->immediate)
    ++barrier->pending;
  if (block.shadow)
    lane.clock.release(lane.index, barrier->arriving);
  --barrier->pending;
  completeIfDone(block, addressOf(lane), *barrier);
}

const Operation waitForParity = {"mbarrier.wait.parity", Gather::Lane, false,
                                 -1, waitParity};

OperationTable transactionBarrierOperations() {
  static const Operation init = {"mbarrier.init", Gather::Lane, false, -1,
                                 initialise};
  static const Operation inval = {"mbarrier.inval", Gather::Lane, false, -1,
                                  invalidate};
  static const Operation arrival = {"mbarrier.arrive", Gather::Lane, false, -1,
                                    arrive};
  static const Operation expect = {"mbarrier.expect_tx", Gather::Lane, false,
                                   -1, expectBytes};
  static const Operation transfer = {"mbarrier.complete_tx", Gather::Lane,
                                     false, -1, completeBytes};
  static const Operation test = {
      "mbarrier.test_wait", Gather::Lane, false, -1, testWait, true};
  static const Operation copied = {"cp.async.mbarrier.arrive", Gather::Lane,
                                   false, -1, arriveAfterCopies};
  return {
      {"mbarrier.init", &init, 0},
      {"mbarrier.init.shared", &init, 0},
      {"mbarrier.inval", &inval, 0},
      {"mbarrier.inval.shared", &inval, 0},
      {"mbarrier.arrive", &arrival, One},
      {"mbarrier.arrive.shared", &arrival, One},
      {"mbarrier.arrive.scope.cta.space.cta", &arrival, WithCount},
      {"mbarrier.arrive.expect.tx.scope.cta.space.cta", &arrival, WithBytes},
      {"mbarrier.expect.tx.scope.cta.space.cta", &expect, 0},
      {"mbarrier.complete.tx.scope.cta.space.cta", &transfer, 0},
      {"mbarrier.test.wait", &test, 0},
      {"mbarrier.test.wait.shared", &test, 0},
      {"mbarrier.test.wait.scope.cta.space.cta", &test, 0},
      {"mbarrier.try.wait.scope.cta.space.cta", &test, 0},
      {"mbarrier.test.wait.parity.scope.cta.space.cta", &test, 1},
      {"mbarrier.try.wait.parity.scope.cta.space.cta", &test, 1},
      {"mbarrier.try.wait.parity.tl.scope.cta.space.cta", &test, 1},
      {"cp.async.mbarrier.arrive", &copied, 0},
      {"cp.async.mbarrier.arrive.shared", &copied, 0},
      {"cp.async.mbarrier.arrive.noinc", &copied, 1},
      {"cp.async.mbarrier.arrive.noinc.shared", &copied, 1},
  };
}

} // namespace steep::simt
