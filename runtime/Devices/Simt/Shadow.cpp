//===- Shadow.cpp - what happened to each byte of memory ------------------===//
//
// Part of the Steep project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Devices/Simt/Shadow.h"

#include <algorithm>
#include <cstring>

namespace steep::simt {

Trace &GlobalShadow::trace(const char *address) {
  std::uintptr_t number = reinterpret_cast<std::uintptr_t>(address) / granule;
  std::uintptr_t page = number / kPage;
  if (page != lastPage) {
    auto &memory = pages[page];
    if (!memory)
      memory = std::make_unique<Trace[]>(kPage);
    last = memory.get();
    lastPage = page;
  }
  return last[number % kPage];
}

Shadow::Shadow(Block &block, GlobalShadow &global)
    : block(block), global(global), races(block, global.order),
      granule(block.launch.kernel->sharedGranule) {
  cells.resize(block.sharedBytes() / granule + 1);
}

void Shadow::startBlock() {
  generation = block.linearIndex() + 1;
  global.order.startBlock(generation);
  fenced.assign(block.threadCount(), false);
  held.assign((block.threadCount() + 127) / 128, Held());
}

void Shadow::fence(Lane &lane) { fenced[lane.index] = true; }

static std::string name(Access kind) {
  return kind == Access::Read || kind == Access::ProxyRead ? "read" : "write";
}

void Shadow::access(Lane &lane, const Site &site, const char *address,
                    const char *base, std::uint64_t bytes, Access kind,
                    const char *value) {
  if (bytes == 0)
    return;
  ++block.stats.accesses;
  lane.site = &site;
  auto number = reinterpret_cast<std::uintptr_t>(address);
  if (number % site.alignment)
    return block.report(lane, site,
                        "misaligned " + name(kind) + " at address " +
                            hex(number) + ": the code promises a multiple of " +
                            std::to_string(site.alignment),
                        true);
  if (site.sharedEnd || site.dynamicShared || block.isShared(address))
    accessShared(lane, site, address, bytes, kind, value);
  else if (!block.isStack(address))
    accessGlobal(lane, site, address, base, bytes, kind, value);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

static std::string sharedPlace(std::uint32_t offset) {
  return "shared memory at offset " + std::to_string(offset);
}

void Shadow::accessShared(Lane &lane, const Site &site, const char *address,
                          std::uint64_t bytes, Access kind, const char *value) {
  std::int64_t offset = address - block.shared();
  std::int64_t begin = 0, end = block.sharedBytes();
  bool named = site.sharedEnd || site.dynamicShared;
  if (named) {
    begin = site.sharedBegin;
    end = site.dynamicShared ? end : site.sharedEnd;
  }
  if (offset < begin || offset + static_cast<std::int64_t>(bytes) > end)
    return block.report(lane, site,
                        "shared memory out of bounds: " + name(kind) + " of " +
                            std::to_string(bytes) + " bytes at offset " +
                            std::to_string(offset - begin) + " of " +
                            (named ? "a variable" : "a block") + " of " +
                            std::to_string(end - begin) + " bytes",
                        true);
  auto last = static_cast<std::uint32_t>((offset + bytes - 1) / granule);
  for (auto i = static_cast<std::uint32_t>(offset / granule); i <= last; ++i) {
    std::uint32_t at = i * granule;
    Cell &cell = cells[i];
    // What an earlier block did here was in shared memory of its own.
    if (cell.block != generation) {
      cell = Cell();
      cell.block = generation;
    }
    bool same = value && std::memcmp(value + (at - offset), block.shared() + at,
                                     granule) == 0;
    if (checkState(cell, at, lane, site, kind))
      races.access(cell.trace, lane, site, kind, same,
                   [&] { return sharedPlace(at); });
    else
      races.remember(cell.trace, lane, site, kind);
    if (kind == Access::ProxyRead)
      checkProxy(cell, at, lane, site);
    if (kind == Access::Write || kind == Access::Atomic)
      cell.initialised = true;
    if (kind == Access::AsyncWrite)
      cell.inFlight = true;
  }
}

/// False if the byte is in no state to be accessed; that is then the report,
/// and not a race.
bool Shadow::checkState(Cell &cell, std::uint32_t offset, Lane &lane,
                        const Site &site, Access kind) {
  Reports &reports = *block.launch.reports;
  if (cell.inFlight) {
    const Event &copy = cell.trace.write;
    if (reports.isNew("flight", &site, copy.site))
      block.report(lane, site,
                   name(kind) + " of " + sharedPlace(offset) +
                       ", where an asynchronous copy has not landed (no wait "
                       "for it); issued by " +
                       block.describe(block.lane(copy.lane)) + " " +
                       placeOf(*copy.site),
                   false);
    if (kind == Access::Write || kind == Access::Atomic)
      cell.inFlight = false;
    return false;
  }
  bool onlyReads = kind == Access::Read || kind == Access::ProxyRead;
  if (!onlyReads && cell.holders) {
    if (reports.isNew("held", &site, cell.holder))
      block.report(lane, site,
                   "write of " + sharedPlace(offset) +
                       ", which the tensor core may still read (no wait for "
                       "its group); issued " +
                       placeOf(*cell.holder),
                   false);
    return false;
  }
  bool reads = onlyReads || kind == Access::Atomic;
  if (!reads || cell.initialised)
    return true;
  if (reports.isNew("uninitialised", &site, &site))
    block.report(lane, site,
                 "read of " + sharedPlace(offset) +
                     ", which the block has not written",
                 false);
  return false;
}

/// The tensor core sees a write of a thread after a fence.proxy.async: by the
/// writer before it told others, or by the reader after it was told.
void Shadow::checkProxy(const Cell &cell, std::uint32_t offset, Lane &lane,
                        const Site &site) {
  const Event &write = cell.trace.write;
  if (write.block != generation)
    return;
  const LaneClock &writer = block.lane(write.lane).clock;
  bool written =
      writer.proxyEpoch > write.epoch ||
      (writer.proxyEpoch == write.epoch && writer.proxyTick >= write.tick);
  if (written || lane.clock.proxyEpoch > write.epoch ||
      !block.launch.reports->isNew("proxy", &site, write.site))
    return;
  block.report(lane, site,
               "the tensor core reads " + sharedPlace(offset) +
                   ", written by " + block.describe(block.lane(write.lane)) +
                   " " + placeOf(*write.site) +
                   " without a fence.proxy.async after it",
               false);
}

void Shadow::landed(Lane &lane, const Site &site, const char *address,
                    std::uint32_t bytes) {
  auto offset = static_cast<std::uint32_t>(address - block.shared());
  for (std::uint32_t i = offset / granule; i * granule < offset + bytes; ++i) {
    Cell &cell = cells[i];
    cell.inFlight = false;
    cell.initialised = true;
    races.remember(cell.trace, lane, site, Access::Write);
  }
}

//===----------------------------------------------------------------------===//
// What the tensor core reads until it is waited for
//===----------------------------------------------------------------------===//

void Shadow::hold(const Lane &lane, const Site &site, const char *address,
                  std::uint32_t bytes) {
  auto offset = static_cast<std::uint32_t>(address - block.shared());
  for (std::uint32_t i = offset / granule; i * granule < offset + bytes; ++i) {
    ++cells[i].holders;
    cells[i].holder = &site;
    held[lane.index / 128].open.push_back(i);
  }
}

void Shadow::commitHeld(const Lane &lane) {
  Held &group = held[lane.index / 128];
  group.committed.push_back(std::move(group.open));
  group.open.clear();
}

void Shadow::releaseHeld(const Lane &lane, std::uint64_t left) {
  auto &groups = held[lane.index / 128].committed;
  for (; groups.size() > left; groups.pop_front())
    for (std::uint32_t i : groups.front())
      --cells[i].holders;
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// The range that the pointer may reach, remembered per site: most accesses
/// of an instruction go to the same one.
const Range *Shadow::reach(const Site &site, const char *base,
                           const char *address, std::uint64_t bytes) {
  Reach &known = reached[&site];
  if (known.base == base && known.range.contains(address, bytes))
    return &known.range;
  known.base = base;
  if (!GlobalMemory::instance().reach(base, address, known.range)) {
    known.range = Range();
    return nullptr;
  }
  return &known.range;
}

void Shadow::accessGlobal(Lane &lane, const Site &site, const char *address,
                          const char *base, std::uint64_t bytes, Access kind,
                          const char *value) {
  const Range *range = reach(site, base, address, bytes);
  if (!range || !range->contains(address, bytes)) {
    std::string where =
        range
            ? "at offset " + std::to_string(address - range->begin) + " of '" +
                  range->name + "' (" + std::to_string(range->bytes) + " bytes)"
            : "at address " + hex(reinterpret_cast<std::uintptr_t>(address)) +
                  ", which is in no allocation";
    return block.report(lane, site,
                        "global memory out of bounds: " + name(kind) + " of " +
                            std::to_string(bytes) + " bytes " + where,
                        true);
  }
  auto place = [&] {
    return "global memory '" + range->name + "' at offset " +
           std::to_string(address - range->begin);
  };
  if (kind == Access::Atomic)
    global.order.atomic(address, site.releases || fenced[lane.index]);
  for (std::uint64_t i = 0; i < bytes; i += global.granule) {
    bool same =
        value && std::memcmp(value + i, address + i, global.granule) == 0;
    races.access(global.trace(address + i), lane, site, kind, same, place);
  }
}

} // namespace steep::simt
