//===- Races.cpp - accesses that nothing orders ---------------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Races.h"

namespace steep::simt {

void BlockOrder::startBlock(std::uint32_t block) {
  current = block;
  known.clear();
}

void BlockOrder::atomic(const char *address, bool releases) {
  auto &blocks = told[address];
  known.insert(blocks.begin(), blocks.end());
  if (!releases)
    return;
  // Who hears of this block hears of those that it knows, too.
  blocks.insert(known.begin(), known.end());
  blocks.insert(current);
}

bool Races::isKnown(const Event &event, const Lane &lane) const {
  if (event.block == 0)
    return true;
  if (event.block != block.linearIndex() + 1)
    return order.knows(event.block);
  return lane.clock.knows(lane.index, {event.lane, event.epoch, event.tick});
}

const Event *Races::conflict(const Trace &trace, const Lane &lane, Access kind,
                             bool same) const {
  bool harmless = same || (kind == Access::Atomic && trace.write.atomic);
  if (!harmless && !isKnown(trace.write, lane))
    return &trace.write;
  if (kind == Access::Read || kind == Access::ProxyRead)
    return nullptr;
  for (const Event *read : {&trace.firstRead, &trace.lastRead})
    if (!isKnown(*read, lane))
      return read;
  return nullptr;
}

void Races::remember(Trace &trace, Lane &lane, const Site &site, Access kind) {
  Event event;
  event.site = &site;
  event.block = block.linearIndex() + 1;
  event.epoch = lane.clock.epoch;
  event.tick = lane.clock.tick;
  event.lane = static_cast<std::uint16_t>(lane.index);
  event.atomic = kind == Access::Atomic;
  if (kind != Access::Read && kind != Access::ProxyRead) {
    trace.write = event;
    // Readers that this write knows of need not be remembered.
    trace.firstRead = trace.lastRead = Event();
    return;
  }
  if (trace.firstRead.block == 0 || isKnown(trace.firstRead, lane))
    trace.firstRead = event;
  else
    trace.lastRead = event;
}

void Races::report(const Event &other, Lane &lane, const Site &site,
                   Access kind, const std::string &where) {
  if (!block.launch.reports->isNew("race", &site, other.site))
    return;
  bool reads = kind == Access::Read || kind == Access::ProxyRead;
  std::string who = other.block == block.linearIndex() + 1
                        ? block.describe(block.lane(other.lane))
                        : "block number " + std::to_string(other.block - 1) +
                              ", thread " + std::to_string(other.lane);
  block.report(lane, site,
               "race: this " + std::string(reads ? "read" : "write") + " of " +
                   where + " is not ordered with the access of " + who + " " +
                   placeOf(*other.site),
               false);
}

} // namespace steep::simt
