//===- AsyncCopies.cpp - cp.async -----------------------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy is made when it is waited for, not when it is issued: until then its
// destination reads as NaN, so that a missing wait shows in the numbers even
// without checks.
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Block.h"
#include "runtime/Devices/Simt/Shadow.h"

#include <cstring>

namespace steep::simt {

static constexpr std::uint32_t kSized = 1u << 8;

static void land(Block &block, Lane &lane, std::vector<AsyncCopy> &copies) {
  for (const AsyncCopy &copy : copies) {
    std::memcpy(copy.to, copy.from, copy.copied);
    std::memset(copy.to + copy.copied, 0, copy.bytes - copy.copied);
    if (block.shadow)
      block.shadow->landed(lane, *copy.site, copy.to, copy.bytes);
  }
  copies.clear();
}

void landAllCopies(Block &block, Lane &lane) {
  for (std::vector<AsyncCopy> &group : lane.copyGroups)
    land(block, lane, group);
  lane.copyGroups.clear();
  land(block, lane, lane.openCopies);
}

/// (to, from [, bytes to copy; the rest of the destination becomes zero])
static void copyAsync(Block &block, Lane &lane, std::uint32_t) {
  AsyncCopy copy;
  copy.to = reinterpret_cast<char *>(lane.operands[0]);
  copy.from = reinterpret_cast<const char *>(lane.operands[1]);
  copy.bytes = copy.copied = lane.site->immediate & 0xff;
  copy.site = lane.site;
  if (lane.site->immediate & kSized)
    copy.copied = static_cast<std::uint32_t>(lane.operands[2]);
  if (copy.copied > copy.bytes)
    return block.report(lane, *lane.site,
                        "an asynchronous copy of " +
                            std::to_string(copy.copied) + " of " +
                            std::to_string(copy.bytes) + " bytes",
                        true);
  if ((lane.operands[0] | lane.operands[1]) % copy.bytes)
    return block.report(lane, *lane.site,
                        "misaligned asynchronous copy of " +
                            std::to_string(copy.bytes) + " bytes from " +
                            hex(lane.operands[1]) + " to " +
                            hex(lane.operands[0]),
                        true);
  if (!block.isShared(copy.to))
    return block.report(lane, *lane.site,
                        "the destination " + hex(lane.operands[0]) +
                            " is not in shared memory",
                        true);
  if (block.shadow) {
    if (copy.copied)
      block.shadow->access(lane, *lane.site, copy.from, nullptr, copy.copied,
                           Access::Read);
    block.shadow->access(lane, *lane.site, copy.to, nullptr, copy.bytes,
                         Access::AsyncWrite);
    if (block.isStopped())
      return;
  }
  std::memset(copy.to, 0xff, copy.bytes);
  lane.openCopies.push_back(copy);
}

static void commit(Block &, Lane &lane, std::uint32_t) {
  lane.copyGroups.push_back(std::move(lane.openCopies));
  lane.openCopies.clear();
}

/// (n): all groups but the newest n land.
static void waitGroup(Block &block, Lane &lane, std::uint32_t) {
  auto left = static_cast<std::uint32_t>(lane.operands[0]);
  while (lane.copyGroups.size() > left) {
    land(block, lane, lane.copyGroups.front());
    lane.copyGroups.pop_front();
  }
}

static void waitAll(Block &block, Lane &lane, std::uint32_t) {
  landAllCopies(block, lane);
}

OperationTable asyncCopyOperations() {
  static const Operation copy = {"cp.async", Gather::Lane, false, -1,
                                 copyAsync};
  static const Operation group = {"cp.async.commit_group", Gather::Lane, false,
                                  -1, commit};
  static const Operation wait = {"cp.async.wait_group", Gather::Lane, false, -1,
                                 waitGroup};
  static const Operation all = {"cp.async.wait_all", Gather::Lane, false, -1,
                                waitAll};
  return {
      {"cp.async.ca.shared.global.4", &copy, 4},
      {"cp.async.ca.shared.global.8", &copy, 8},
      {"cp.async.ca.shared.global.16", &copy, 16},
      {"cp.async.cg.shared.global.16", &copy, 16},
      {"cp.async.ca.shared.global.4.s", &copy, 4 | kSized},
      {"cp.async.ca.shared.global.8.s", &copy, 8 | kSized},
      {"cp.async.ca.shared.global.16.s", &copy, 16 | kSized},
      {"cp.async.cg.shared.global.16.s", &copy, 16 | kSized},
      {"cp.async.commit.group", &group, 0},
      {"cp.async.wait.group", &wait, 0},
      {"cp.async.wait.all", &all, 0},
  };
}

} // namespace steep::simt
